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
import ast
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
from numpy.typing import NDArray

from realtime.backends.select import open_session
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.store import ModelStore
from realtime.types import Floats, Image
from realtime.vision import geometry

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

MEDIAPIPE = ("mediapipe==0.10.21", ("--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_28_x86_64"))
OPENPEOPLE = ("openpeople==0.1.2", ())
CONNECTIONS = "mediapipe/python/solutions/face_mesh_connections.py"
OUT = Path(__file__).parent.parent / "realtime" / "vision" / "mesh" / "face_topology.npz"

VERTICES = 468
FOREHEAD, CHIN, EYES, EARS = 10, 152, (33, 263), (234, 454)
"""Landmarks that fix the axes: top, bottom and sides of the oval, and the outer eye corners."""
DENSE = (33, 133, 159, 145, 263, 362, 386, 374, 1, 98, 327, 61, 291, 0, 17)
"""Eyes, nose and mouth: the parts drawn with more texels."""

EYE_SPAN, EYE_HEIGHT, EYE_DEPTH = 8.9, 2.65, 3.2
"""The convention for size and place, nearly centimetres: outer eye corners this far apart, this high, this far before the origin."""


# ---------------------------------------------------------------------------------------------------------------- triangles


def wheel(requirement: str, options: tuple[str, ...], folder: Path) -> zipfile.ZipFile:
    """The wheel as an archive."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *options, "-d", str(folder), requirement]
    subprocess.run(command, check=True)
    return zipfile.ZipFile(next(folder.glob(requirement.split("==")[0] + "*.whl")))


def tessellation(source: str) -> Ints:
    """The triangles (n, 3) listed in the text of face_mesh_connections.py as three edges each: (a, b), (b, c), (c, a)."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FACEMESH_TESSELATION" and isinstance(node.value, ast.Call):
            edges = np.array(ast.literal_eval(node.value.args[0])).reshape(-1, 3, 2)
            break
    else:
        raise SystemExit("FACEMESH_TESSELATION is missing: is this another version of the wheel?")
    if not np.array_equal(edges[:, :, 1], np.roll(edges[:, :, 0], -1, 1)):
        raise SystemExit("the tessellation no longer lists its edges triangle by triangle")
    return edges[:, :, 0].astype(np.int64)


def oriented(triangles: Ints) -> Ints:
    """The same triangles, all turning the same way round: neighbours pass their shared edge in opposite directions."""
    by_edge: dict[frozenset[int], list[int]] = {}
    for t, corners in enumerate(triangles.tolist()):
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            by_edge.setdefault(frozenset((a, b)), []).append(t)
    if max(map(len, by_edge.values())) > 2:
        raise SystemExit("an edge has more than two triangles: the mesh is not a surface")
    result, seen, stack = triangles.copy(), {0}, [0]
    while stack:
        t = stack.pop()
        for a, b in zip(result[t].tolist(), np.roll(result[t], -1).tolist(), strict=True):
            for other in by_edge[frozenset((a, b))]:
                if other not in seen:
                    forward = {(p, q) for p, q in zip(result[other].tolist(), np.roll(result[other], -1).tolist(), strict=True)}
                    if (a, b) in forward:
                        result[other] = result[other][::-1]
                    seen.add(other)
                    stack.append(other)
    if len(seen) != len(triangles):
        raise SystemExit("the mesh is in pieces")
    return result


def borders(triangles: Ints) -> list[list[int]]:
    """The border loops, the longest first, each in the direction of its triangles."""
    directed = {(int(a), int(b)) for t in triangles for a, b in zip(t, np.roll(t, -1), strict=True)}
    follow = {a: b for a, b in directed if (b, a) not in directed}
    loops = []
    while follow:
        loop = [next(iter(sorted(follow)))]
        while (after := follow.pop(loop[-1], None)) not in (loop[0], None):
            loop.append(int(after or 0))
        loops.append(loop)
    return sorted(loops, key=len, reverse=True)


def closed(triangles: Ints, xyz: Reals) -> Ints:
    """The triangles with the holes of the eyes and the mouth filled by strips between upper and lower rim.

    The diagonals mirror each other on the two sides of the face.
    """
    added: list[tuple[int, int, int]] = []
    for loop in borders(triangles)[1:]:
        loop = loop[::-1]  # the filling passes the border edges the other way
        left, right = (int(f(xyz[loop, 0])) for f in (np.argmin, np.argmax))
        ring = loop[left:] + loop[:left]
        split = (right - left) % len(loop)
        one, two = ring[: split + 1], [ring[0], *ring[:split - 1 : -1]]
        if len(one) != len(two):
            raise SystemExit("the two rims of a hole have different numbers of vertices")
        added += strip(one, two, xyz)
    return oriented(np.concatenate([triangles, np.array(added)]))


def strip(one: list[int], two: list[int], xyz: Reals) -> Iterator[tuple[int, int, int]]:
    """Triangles between two rims that share their first and last vertex."""
    for i in range(len(one) - 1):
        a, b, c, d = one[i], one[i + 1], two[i], two[i + 1]
        if a == c:
            yield a, b, d
        elif b == d:
            yield a, b, c
        elif abs(xyz[[a, c], 0].sum()) < abs(xyz[[b, d], 0].sum()):  # from the top near the middle to the bottom farther out
            high, low = (a, d) if xyz[a, 1] > xyz[c, 1] else (c, b)
            yield from diagonal((a, b, d, c), high, low)
        else:
            high, low = (b, c) if xyz[b, 1] > xyz[d, 1] else (d, a)
            yield from diagonal((a, b, d, c), high, low)


def diagonal(quad: tuple[int, int, int, int], p: int, q: int) -> Iterator[tuple[int, int, int]]:
    """The quad cut along p-q."""
    for other in quad:
        if other not in (p, q):
            yield p, q, other


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


# ------------------------------------------------------------------------------------------------------------------ texture


def unwrapped(xyz: Reals, triangles: Ints, partner: Ints, rounds: int = 30) -> Reals:
    """Texture coordinates (468, 2) in 0..1, u to the image's right, v down, symmetric about u = 0.5, no triangle folded.

    Alternates the best rotation of every flattened triangle with the vertices that fit the rotated ones best.
    """
    flat = flattened(xyz, triangles) * density(xyz)[triangles].mean(1)[:, None, None]
    cot = np.stack([cotangent(flat[:, (k + 1) % 3] - flat[:, k], flat[:, (k + 2) % 3] - flat[:, k]) for k in range(3)], 1)
    inverse = np.linalg.inv(laplacian(triangles, cot) + 1 / VERTICES)
    uv = embedded(triangles)
    for _ in range(rounds):
        uv = inverse @ wanted_edges(flat, uv, triangles, cot)
        uv = (uv + uv[partner] * (-1, 1)) / 2
    return np.asarray((uv - (uv.max(0) + uv.min(0)) / 2) / np.ptp(uv, axis=0).max() * (1, -1) * 0.98 + 0.5)


def density(xyz: Reals) -> Reals:
    """How many times finer than elsewhere the texture should be at each vertex."""
    distance = np.min([np.linalg.norm(xyz - xyz[i], axis=1) for i in DENSE], 0)
    return np.asarray(1 + 0.4 * np.exp(-(distance**2) / (2 * 1.5**2)))


def embedded(triangles: Ints) -> Reals:
    """A start without folds: the border on a circle, each inner vertex at the mean of its neighbours (Tutte 1963)."""
    oval = np.array(borders(triangles)[0])
    turn = 2 * np.pi * (np.arange(len(oval)) - oval.tolist().index(FOREHEAD)) / len(oval)
    graph = -laplacian(triangles, np.ones(triangles.shape))
    inner = np.setdiff1d(np.arange(VERTICES), oval)
    uv = np.zeros((VERTICES, 2))
    uv[oval] = np.stack([-np.sin(turn), np.cos(turn)], 1)  # the border runs anticlockwise, as its triangles do
    uv[inner] = np.linalg.solve(graph[np.ix_(inner, inner)], -graph[np.ix_(inner, oval)] @ uv[oval])
    return uv


def flattened(xyz: Reals, triangles: Ints) -> Reals:
    """Every triangle in a plane of its own: (n, 3, 2), anticlockwise."""
    e, f = xyz[triangles[:, 1]] - xyz[triangles[:, 0]], xyz[triangles[:, 2]] - xyz[triangles[:, 0]]
    base = np.linalg.norm(e, axis=1)
    flat = np.zeros((len(triangles), 3, 2))
    flat[:, 1, 0], flat[:, 2, 0] = base, (e * f).sum(1) / base
    flat[:, 2, 1] = np.linalg.norm(np.cross(e, f), axis=1) / base
    return flat


def cotangent(u: Reals, v: Reals) -> Reals:
    """Of the angle between u and v; kept positive (no folds at obtuse angles) and bounded (slivers of closed lids and lips)."""
    return np.asarray(np.clip((u * v).sum(1) / np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]), 0.05, 5))


def laplacian(triangles: Ints, weights: Reals) -> Reals:
    """(468, 468); `weights` (n, 3) belong to the corners and act on the edges opposite."""
    result = np.zeros((VERTICES, VERTICES))
    for k in range(3):
        i, j, w = triangles[:, (k + 1) % 3], triangles[:, (k + 2) % 3], weights[:, k]
        for p, q in ((i, j), (j, i)):
            np.add.at(result, (p, q), -w)
            np.add.at(result, (p, p), w)
    return result


def wanted_edges(flat: Reals, uv: Reals, triangles: Ints, cot: Reals) -> Reals:
    """Right-hand side of the fit: for each vertex the weighted sum of its edges in the flattened triangles, rotated as in `uv`."""
    u, _, vt = np.linalg.svd(jacobians(flat, uv[triangles]))
    u[:, :, 1] *= np.linalg.det(u @ vt)[:, None]
    rotated = flat @ np.swapaxes(u @ vt, 1, 2)
    result = np.zeros((VERTICES, 2))
    for k in range(3):
        edge = (rotated[:, (k + 1) % 3] - rotated[:, (k + 2) % 3]) * cot[:, k : k + 1]
        np.add.at(result, triangles[:, (k + 1) % 3], edge)
        np.add.at(result, triangles[:, (k + 2) % 3], -edge)
    return result


def jacobians(flat: Reals, corners: Reals) -> Reals:
    """(n, 2, 2): what takes each flattened triangle to its corners in the texture."""
    sides = [np.stack([t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]], 2) for t in (corners, flat)]
    return np.asarray(sides[0] @ np.linalg.inv(sides[1]))


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
