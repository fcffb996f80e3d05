"""Whole graphs around networks: judged by what comes out of them for a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.builder import faces
from realtime.builder.role import Results, Tools
from realtime.builder.scenes import Scene
from realtime.models.recognisers.sface import SFace
from realtime.types import MESH_POINTS, Array, Floats, Image, Region
from realtime.vision import geometry

FRAME = (720, 1280)
"""Height and width of the frames that graphs are judged on."""


def staged(scene: Scene) -> tuple[Image, Region]:
    """The scene in the middle of a frame of that size, and the face's region there."""
    height, width = FRAME
    own_height, own_width = scene.image.shape[:2]
    scale = min(height / own_height, width / own_width)
    x, y = (width - own_width * scale) / 2, (height - own_height * scale) / 2
    matrix = np.array([[scale, 0, x], [0, scale, y]])
    frame = cv2.warpAffine(scene.image, matrix, (width, height), flags=cv2.INTER_AREA)
    region = scene.region
    return np.ascontiguousarray(frame), Region(region.x * scale + x, region.y * scale + y, region.size * scale, region.angle)


def follow(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """Landmarks (468, 3) in frame pixels and, in a last row, the presence: as the role of a mesh network has it."""
    return [_mesh(_outputs(session, scene)) for scene in scenes]


def follow_swap(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """The mesh as in `follow`, flat, and the patch as `faces.pack` has it."""
    with open_session(tools.identity, "onnxruntime") as recogniser:
        whose = SFace(recogniser)
        people = faces.embeddings(scenes, whose)
        return [_swapped(session, scene, person, tools, whose) for scene, person in zip(scenes, people, strict=True)]


def _swapped(session: Session, scene: Scene, person: Floats, tools: Tools, whose: SFace) -> Floats:
    latent = session.inputs["latent"]
    latent[...] = faces.spread(person, latent.shape[1])
    outputs = _outputs(session, scene)
    patch = np.asarray(outputs["patch"], np.float32) / np.float32(255)
    return np.concatenate([_mesh(outputs).ravel(), faces.pack(patch, tools.contract, whose)])


def _outputs(session: Session, scene: Scene) -> Mapping[str, Array]:
    frame, region = staged(scene)
    session.inputs["frame"][...] = frame
    session.inputs["region"][...] = region
    return session.run()


def _mesh(outputs: Mapping[str, Array]) -> Floats:
    return np.vstack([outputs["landmarks"], np.full((1, 3), outputs["presence"][0], np.float32)])


def compare_meshes(reference: Results, got: Results) -> dict[str, float]:
    """Mean distance over that of the eyes, for all faces and for the worst, and the largest change of the presence."""
    pairs = list(zip(reference, got, strict=True))
    errors = [point_error(a[:-1], b[:-1], *geometry.OUTER_EYE_CORNERS) for a, b in pairs]
    presence = max(float(abs(a[-1, 0] - b[-1, 0])) for a, b in pairs)
    return {"error": float(np.mean(errors)), "worst": float(np.max(errors)), "presence": presence}


def point_error(reference: Floats, got: Floats, right: int, left: int) -> float:
    """Mean distance of points (n, 2 or 3) in the picture, over that of the two numbered ones."""
    eyes = float(np.linalg.norm(reference[left, :2] - reference[right, :2]))
    return float(np.linalg.norm(got[:, :2] - reference[:, :2], axis=1).mean()) / max(eyes, 1e-6)


def compare_swaps(reference: Results, got: Results) -> dict[str, float]:
    """The figures of the mesh and those of the patch."""
    count = (MESH_POINTS + 1) * 3
    meshes = [[row[:count].reshape(-1, 3) for row in rows] for rows in (reference, got)]
    patches = [[row[count:] for row in rows] for rows in (reference, got)]
    return {**compare_meshes(*meshes), **faces.compare(*patches)}
