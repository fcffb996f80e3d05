"""How good a network is at what it is for: what it finds on scenes, and how far that is from what the original finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import cv2
import numpy as np

from realtime.backends.around import AroundSession
from realtime.backends.base import Session
from realtime.builder import faces, fused
from realtime.builder.fused import point_error
from realtime.builder.gate import Limit
from realtime.builder.role import Results, Role, Tools
from realtime.builder.scenes import Scene
from realtime.models.base import Detector
from realtime.models.detectors.select import face_finder
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.select import recogniser_of
from realtime.types import Array, Box, Floats, Image
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_112, align
from realtime.vision.planes import fill_planes


class Recording(AroundSession):
    """A session that keeps copies of what it was fed, for calibration: the model's own preprocessing fills its inputs."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: list[dict[str, Array]] = []

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        outputs = self.session.run(feeds)
        self.taken.append({name: array.copy() for name, array in self.session.inputs.items()})
        return outputs


def _detect(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """Box and five points of the largest face, 14 numbers; none when no face was found."""
    detector = face_finder([session], "the network")
    return [_largest(detector, scene.image) for scene in scenes]


def _largest(detector: Detector, image: Image) -> Floats:
    found = detector.detect(image)
    if not found:
        return np.empty(0, np.float32)
    face = max(found, key=lambda each: each.box.area)
    return np.concatenate([np.array(face.box, np.float32), face.points.ravel()])


def _compare_detections(reference: Results, got: Results) -> dict[str, float]:
    """Mean overlap of the boxes, a face that one of the two misses counting 0, and mean distance of the points over that of the eyes."""
    both = [(a, b) for a, b in zip(reference, got, strict=True) if a.size or b.size]
    seen = [(a, b) for a, b in both if a.size and b.size]
    overlaps = [geometry.overlap(Box(*map(float, a[:4])), Box(*map(float, b[:4]))) for a, b in seen]
    errors = [point_error(a[4:].reshape(5, 2), b[4:].reshape(5, 2), 0, 1) for a, b in seen]
    return {"iou": float(np.sum(overlaps)) / max(len(both), 1), "points": float(np.mean(errors)) if errors else float("inf")}


def _find_mesh(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """468 points and, in a last row, the presence."""
    landmarker = MeshLandmarker(session)
    found = [landmarker.landmarks(scene.image, scene.region) for scene in scenes]
    return [np.vstack([mesh.points, np.full((1, 3), mesh.presence, np.float32)]) for mesh in found]


def _embed(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    recogniser = recogniser_of(session, "the network", "")
    return [recogniser.embed(scene.image, scene.points) for scene in scenes]


def _compare_embeddings(reference: Results, got: Results) -> dict[str, float]:
    cosines = [float(a @ b) for a, b in zip(reference, got, strict=True)]
    return {"cosine": float(np.mean(cosines)), "lowest": float(np.min(cosines))}


def _segment(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """The person mask of the whole picture."""
    return [_mask(session, scene.image) for scene in scenes]


def _mask(session: Session, image: Image) -> Floats:
    spec = session.specs.inputs[0]
    height, width = spec.shape[2:]
    small = cast(Image, cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA))
    fill_planes(small, session.inputs[spec.name][0], 1 / 255, True)
    return np.array(session.run()[session.specs.outputs[0].name], np.float32)


def _compare_masks(reference: Results, got: Results) -> dict[str, float]:
    """Mean difference, and overlap of what is more than half person."""
    pairs = list(zip(reference, got, strict=True))
    same = sum(int(((a > 0.5) & (b > 0.5)).sum()) for a, b in pairs)
    either = sum(int(((a > 0.5) | (b > 0.5)).sum()) for a, b in pairs)
    return {"difference": float(np.mean([np.abs(a - b).mean() for a, b in pairs])), "iou": same / either if either else 1.0}


def _run_any(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """All outputs in one row. Three square planes are fed the aligned face as RGB 0..1, everything else seeded unit vectors."""
    random = np.random.default_rng(7)
    results = []
    for scene in scenes:
        for spec in session.specs.inputs:
            _feed_any(session.inputs[spec.name], scene, random)
        outputs = session.run()
        results.append(np.concatenate([np.asarray(outputs[spec.name], np.float32).ravel() for spec in session.specs.outputs]))
    return results


def _feed_any(buffer: Array, scene: Scene, random: np.random.Generator) -> None:
    if buffer.ndim == 4 and buffer.shape[:2] == (1, 3) and buffer.shape[2] == buffer.shape[3] and buffer.dtype == np.float32:
        size = buffer.shape[2]
        face, _ = align(scene.image, scene.points, ARCFACE_112 * np.float32(size / 112), size)
        fill_planes(face, buffer[0], 1 / 255, True)
        return
    values = random.standard_normal(buffer.shape)
    np.copyto(buffer, values / max(float(np.linalg.norm(values)), 1e-12), casting="unsafe")


def _compare_any(reference: Results, got: Results) -> dict[str, float]:
    """Peak signal-to-noise ratio in decibels, the peak being the range of the original's outputs; 120 at most."""
    truth, other = np.concatenate(reference).astype(np.float64), np.concatenate(got).astype(np.float64)
    peak = max(float(np.ptp(truth)), 1e-12)
    return {"psnr": float(-10 * np.log10(max(float(np.mean((truth - other) ** 2)) / peak**2, 1e-12)))}


# 0.5% of the eye distance is a third of a pixel at 60 pixels between the eyes: below the mesh's own jitter.
_MESH = (Limit("error", 0.005, False), Limit("worst", 0.015, False), Limit("presence", 0.1, False))
# Differences become visible in flat skin below about 35 dB. Two photos of one person are 0.5 to 0.8 apart: what moves an identity by
# less than a hundredth is seen by nobody.
_FACE = (Limit("psnr", 35.0, True), Limit("identity", 0.99, True), Limit("lowest", 0.97, True))

ROLES: Mapping[str, Role] = MappingProxyType(
    {
        # A box 5% off is what a face gains or loses by opening its mouth; the mesh then refines the points anyway.
        "detector": Role(_detect, _compare_detections, (Limit("iou", 0.93, True), Limit("points", 0.03, False))),
        "landmarker": Role(_find_mesh, fused.compare_meshes, _MESH),
        "recogniser": Role(_embed, _compare_embeddings, (Limit("cosine", 0.99, True), Limit("lowest", 0.97, True))),
        "segmenter": Role(_segment, _compare_masks, (Limit("difference", 0.01, False), Limit("iou", 0.97, True))),
        "swapper": Role(faces.observe, faces.compare, _FACE, identity=True),
        "enhancer": Role(faces.observe, faces.compare, _FACE, identity=True),
        "network": Role(_run_any, _compare_any, (Limit("psnr", 35.0, True),)),
        "follow": Role(fused.follow, fused.compare_meshes, _MESH),
        "follow_swap": Role(fused.follow_swap, fused.compare_swaps, (*_MESH, *_FACE), identity=True),
    }
)
