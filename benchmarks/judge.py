"""Judges swapped faces from the original picture, the picture that came out, and nothing of how it was made.

All measures are ours or the field's plainest: cosines of a face recogniser, distances of landmarks found anew in the output, colour
differences across the seam, temporal high frequencies in a stabilised crop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.models.base import Landmarker, Recogniser
from realtime.types import Box, Floats, Image
from realtime.vision import geometry
from realtime.vision.mesh.indices import OVAL, RIGID

Pixels = NDArray[Any]

EYES = ((159, 145, 33, 133), (386, 374, 362, 263))
"""Upper lid, lower lid, outer and inner corner (either way round) of each eye."""
LIPS = (13, 14)
EYE_CORNERS = (33, 263)
LOOKS = (0.95, 1.0, 1.05)
"""Scales of the crop."""
CHANGED = 4
"""Levels by which a pixel must differ to count as part of the swapped face when its edge is looked for."""
SEAM_SIDE, SEAM_STEPS = 160, (3, 5, 7)
"""The face is scaled to this height, and colours are compared this many pixels inside and outside the edge: 2 to 4 % of the face."""
FLICKER_SIDE = 128


@dataclass(frozen=True, slots=True)
class Seen:
    """What the judge sees in one original picture."""

    points: Floats
    """(468, 3), found without any smoothing."""
    embedding: Floats
    spread: float
    """How far the mesh moves between a wider and a narrower look, in outer-eye-corner distances."""


@dataclass(frozen=True, slots=True)
class Score:
    """One frame's figures."""

    identity: float
    """Cosine of source and output."""
    base: float
    """Cosine of source and original: what a swapper that does nothing would get."""
    kept: float
    """Cosine of original and output."""
    landmarks: float
    """Mean distance of the landmarks in output and original, in outer-eye-corner distances."""
    eyes: tuple[float, float]
    """Openness in the original and in the output."""
    mouth: tuple[float, float]
    seam: float
    """Lab colour difference across the edge of the swapped area in the output, less that in the original."""
    outside: float
    """Share of the pixels outside the face box that changed."""
    hand: float
    """Mean change in levels inside the outline of a hand; NaN without one."""


class Judge:
    """Measures with its own landmark and recognition networks. Not thread-safe."""

    def __init__(self, landmarker: Landmarker, recogniser: Recogniser) -> None:
        self._landmarker, self._recogniser = landmarker, recogniser

    def refined(self, image: Image, points: Floats) -> tuple[Floats, float]:
        """The mesh found anew around `points`: the mean of three looks, which halves the network's noise; and their spread."""
        found = self._landmarker.landmarks(image, geometry.region_from_landmarks(points))
        region = geometry.region_from_landmarks(found.points if found.presence > 0.5 else points)
        looks = [self._landmarker.landmarks(image, region._replace(size=region.size * scale)).points for scale in LOOKS]
        return np.asarray(np.mean(looks, axis=0), np.float32), displacement(looks[0], looks[-1])

    def embedding(self, image: Image, points: Floats) -> Floats:
        return self._recogniser.embed(image, geometry.five_points(points))

    def see(self, image: Image, points: Floats) -> Seen:
        """An original picture; `points` says roughly where the face is."""
        found, spread = self.refined(image, points)
        return Seen(found, self.embedding(image, found), spread)

    def score(self, source: Floats, original: Image, seen: Seen, output: Image, hand: Floats | None = None) -> Score:
        """The figures of one output. `source`: embedding of the photo; `hand`: outline (n, 2) in pixels."""
        points, _ = self.refined(output, seen.points)
        embedding = self.embedding(output, points)
        return Score(
            identity=float(source @ embedding),
            base=float(source @ seen.embedding),
            kept=float(seen.embedding @ embedding),
            landmarks=displacement(seen.points, points),
            eyes=(eye_openness(seen.points), eye_openness(points)),
            mouth=(mouth_openness(seen.points), mouth_openness(points)),
            seam=seam(original, output, seen.points),
            outside=changed_outside(original, output, geometry.grow(geometry.bounds(seen.points), 0.1)),
            hand=changed_inside(original, output, hand),
        )


# ------------------------------------------------------------------------------------------------------------------ geometry


def _apart(points: Floats, a: int, b: int) -> float:
    return float(np.linalg.norm(points[a, :2] - points[b, :2]))


def displacement(a: Floats, b: Floats) -> float:
    """Mean distance of two meshes over the outer eye corners' distance in the first."""
    return float(np.linalg.norm(a[:, :2] - b[:, :2], axis=1).mean()) / _apart(a, *EYE_CORNERS)


def eye_openness(points: Floats) -> float:
    """Lid distance over eye width, mean of both eyes."""
    return float(np.mean([_apart(points, up, low) / _apart(points, one, other) for up, low, one, other in EYES]))


def mouth_openness(points: Floats) -> float:
    """Inner lip distance over the outer eye corners' distance."""
    return _apart(points, *LIPS) / _apart(points, *EYE_CORNERS)


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's r; NaN for fewer than five pairs or when one side does not vary."""
    values = np.array(pairs, np.float64).reshape(-1, 2)
    if len(values) < 5 or values.std(0).min() < 1e-6:
        return float("nan")
    return float(np.atleast_2d(np.corrcoef(values.T))[0, 1])


# -------------------------------------------------------------------------------------------------------------------- pixels


def changed_outside(original: Image, output: Image, box: Box) -> float:
    """Share of all pixels that lie outside the box and differ at all."""
    differs = (original != output).any(2)
    x0, y0, x1, y1 = (max(int(value), 0) for value in box)
    differs[y0:y1, x0:x1] = False
    return float(differs.mean())


def changed_inside(original: Image, output: Image, outline: Floats | None) -> float:
    """Mean absolute difference in levels inside an outline (n, 2); NaN without one."""
    if outline is None:
        return float("nan")
    mask = np.zeros(original.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(outline).astype(np.int32)], 1)
    return float(cv2.absdiff(original, output)[mask > 0].mean())


def seam(original: Image, output: Image, points: Floats) -> float:
    """How much more the colour changes across the edge of the swapped area than it did there in the original, in Lab units.

    0 when nothing was swapped. Both pictures are brought to a face height of SEAM_SIDE pixels and slightly blurred first.
    """
    before, after = (_face_crop(image, points) for image in (original, output))
    mask = _swapped_area(before, after)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return 0.0
    edge = max(contours, key=cv2.contourArea)[:, 0].astype(np.float32)
    inward = _normals(mask, edge)
    return _across(after, edge, inward) - _across(before, edge, inward)


def _face_crop(image: Image, points: Floats) -> Pixels:
    height, width = image.shape[:2]
    x0, y0, x1, y1 = geometry.grow(geometry.bounds(points), 0.25)
    crop = image[max(int(y0), 0) : min(int(y1), height), max(int(x0), 0) : min(int(x1), width)]
    scale = SEAM_SIDE / float(np.ptp(points[:, 1]))
    small = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    return cast(Pixels, cv2.GaussianBlur(small, (0, 0), 1))


def _swapped_area(before: Pixels, after: Pixels) -> NDArray[np.uint8]:
    """Where the pictures differ, smoothed and closed over eyes and mouth."""
    differs = (cv2.absdiff(before, after).max(2) > CHANGED).astype(np.float32)
    solid = (cv2.GaussianBlur(differs, (0, 0), 2) > 0.5).astype(np.uint8)
    return cast(NDArray[np.uint8], cv2.morphologyEx(solid, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8)))


def _normals(mask: NDArray[np.uint8], edge: Floats) -> Floats:
    """Unit vectors pointing into the mask at the edge points (n, 2)."""
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 4)
    slope = np.stack([_sampled(cv2.Sobel(soft, cv2.CV_32F, *axes), edge) for axes in ((1, 0), (0, 1))], 1)
    return np.asarray(slope / (np.linalg.norm(slope, axis=1, keepdims=True) + 1e-6), np.float32)


def _across(crop: Pixels, edge: Floats, inward: Floats) -> float:
    lab = cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_BGR2LAB)
    steps = [_sampled(lab, edge + step * inward) - _sampled(lab, edge - step * inward) for step in SEAM_STEPS]
    return float(np.mean([np.linalg.norm(step, axis=1).mean() for step in steps]))


def _sampled(image: Pixels, points: Floats) -> Floats:
    x, y = (np.ascontiguousarray(points[None, :, axis], np.float32) for axis in (0, 1))
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[0], np.float32)


# ---------------------------------------------------------------------------------------------------------------------- time


def flicker(lumas: Sequence[NDArray[np.uint8]], meshes: Sequence[Floats]) -> float:
    """Mean absolute second difference in time, in luma levels, of the face held still; NaN for fewer than five frames.

    The face is held by similarity transforms smoothed over time, so that trembling landmarks do not hide trembling pictures.
    """
    if len(lumas) < 5:
        return float("nan")
    transforms = _steady_transforms(meshes)
    size = (FLICKER_SIDE, FLICKER_SIDE)
    crops = np.stack([cv2.warpAffine(luma, t, size).astype(np.float32) for luma, t in zip(lumas, transforms, strict=True)])
    middle = len(meshes) // 2
    mask = np.zeros(size, np.uint8)
    cv2.fillConvexPoly(mask, np.int32(geometry.apply(transforms[middle], meshes[middle][list(OVAL), :2])), 1)
    trembling = np.abs(crops[1:-1] - (crops[:-2] + crops[2:]) / 2).mean(0)
    return float(trembling[mask > 0].mean())


def _steady_transforms(meshes: Sequence[Floats]) -> NDArray[np.float64]:
    """(n, 2, 3): each frame to a crop that shows the face upright, 80 % of the crop high."""
    rigid = [mesh[list(RIGID), :2] for mesh in meshes]
    shapes = [(r - mesh[:, :2].mean(0)) / np.ptp(mesh[:, 1]) for r, mesh in zip(rigid, meshes, strict=True)]
    target = np.mean(shapes, 0) * FLICKER_SIDE * 0.8 + FLICKER_SIDE / 2
    transforms = np.stack([geometry.similarity(r, target) for r in rigid]).reshape(len(meshes), 6)
    smooth = cv2.GaussianBlur(transforms, (1, 7), 0.01, sigmaY=1.2, borderType=cv2.BORDER_REPLICATE)
    return cast(NDArray[np.float64], smooth.reshape(-1, 2, 3))
