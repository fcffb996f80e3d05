"""Where a face lies: transforms of the plane, face boxes and the square regions that landmark networks look at.

A transform is (2, 3) float64 and maps (x, y) to A @ (x, y, 1). Mesh points are numbered as in MediaPipe's face mesh of 468 points.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from realtime.compiled import compiled
from realtime.types import Array, Box, Detection, Face, Floats, Region, SourcePhoto

Transform = NDArray[np.float64]

OUTER_EYE_CORNERS = (33, 263)
"""Image-left eye first, as everywhere here."""
EYE_CORNER_PAIRS = ((33, 133), (362, 263))
NOSE_TIP = 1
MOUTH_CORNERS = (61, 291)

REGION_MARGIN = 1.5
"""A region's side over the face box's longer side: the face mesh was trained on crops with a quarter of the face as margin all round."""


def apply(transform: Transform, points: Array) -> Floats:
    """Points (..., 2) moved by the transform, float32."""
    return np.asarray(points @ transform[:, :2].T + transform[:, 2], np.float32)


def invert(transform: Transform) -> Transform:
    """The transform that undoes this one. Raises numpy.linalg.LinAlgError when it is singular."""
    (a, b, c), (d, e, f) = transform.tolist()
    det = a * e - b * d
    if det == 0:
        raise np.linalg.LinAlgError("a transform onto a line cannot be undone")
    return np.array([[e / det, -b / det, (b * f - c * e) / det], [-d / det, a / det, (c * d - a * f) / det]])


def compose(second: Transform, first: Transform) -> Transform:
    """The transform that does `first`, then `second`."""
    (a, b, c), (d, e, f) = second.tolist()
    (g, h, i), (j, k, m) = first.tolist()
    return np.array([[a * g + b * j, a * h + b * k, a * i + b * m + c], [d * g + e * j, d * h + e * k, d * i + e * m + f]], np.float64)


def similarity(source: Array, target: Array) -> Transform:
    """The rotation, uniform scale and shift that bring `source` (n, 2) closest to `target` (n, 2) in the least-squares sense.

    The closed form of Umeyama, "Least-squares estimation of transformation parameters between two point patterns" (1991), in two
    dimensions, where rotation and scale are one complex factor. Mirroring is never used. Raises ValueError when the source points coincide.
    """
    # In plain numbers: for the handful of points that a face is aligned by, five times as fast as array operations.
    pairs = [(*a, *b) for a, b in zip(source.tolist(), target.tolist(), strict=True)]
    mean_x, mean_y, mean_u, mean_v = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    spread = cos = sin = 0.0
    for pair in pairs:
        x, y, u, v = pair[0] - mean_x, pair[1] - mean_y, pair[2] - mean_u, pair[3] - mean_v
        spread, cos, sin = spread + x * x + y * y, cos + x * u + y * v, sin + x * v - y * u
    if spread == 0:
        raise ValueError("a similarity fit needs at least two different points")
    cos, sin = cos / spread, sin / spread
    return np.array([[cos, -sin, mean_u - cos * mean_x + sin * mean_y], [sin, cos, mean_v - sin * mean_x - cos * mean_y]])


def scale_of(transform: Transform) -> float:
    """By how much lengths grow (the geometric mean over directions)."""
    (a, b, _), (c, d, _) = transform.tolist()
    return math.sqrt(abs(a * d - b * c))


def crop_transform(region: Region, size: int) -> Transform:
    """From image pixels to pixels of a `size` x `size` crop that shows the region upright.

    Both sides count pixel centres, so the crop's centre lies at (size - 1) / 2.
    """
    scale, roll = size / region.size, math.radians(region.angle)
    cos, sin = scale * math.cos(roll), scale * math.sin(roll)
    middle, x, y = (size - 1) / 2, region.x, region.y
    return np.array([[cos, sin, middle - cos * x - sin * y], [-sin, cos, middle + sin * x - cos * y]], np.float64)


def bounds(points: Array) -> Box:
    """The smallest box around points (n, 2 or more); all that is not a number, when anything is in a contiguous float32 array."""
    if points.dtype == np.float32 and points.flags.c_contiguous:
        return Box(*_bounds(points))
    x, y = points[:, 0], points[:, 1]  # column by column: numpy reduces a (468, 2) view along its first axis ten times slower
    return Box(float(x.min()), float(y.min()), float(x.max()), float(y.max()))


@compiled("UniTuple(f8, 4)(f4[:,::1])", error_model="numpy")
def _bounds(points: Floats) -> tuple[float, float, float, float]:
    low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
    for n in range(len(points)):
        x, y = np.float64(points[n, 0]), np.float64(points[n, 1])
        if not (np.isfinite(x) and np.isfinite(y)):
            return np.nan, np.nan, np.nan, np.nan
        low_x, high_x, low_y, high_y = min(low_x, x), max(high_x, x), min(low_y, y), max(high_y, y)
    return low_x, low_y, high_x, high_y


def moved(box: Box, transform: Transform) -> Box:
    """The smallest upright box around `box` after the transform."""
    (a, b, c), (d, e, f) = transform.tolist()
    x, y = (a * box.x0, a * box.x1), (b * box.y0, b * box.y1)
    u, v = (d * box.x0, d * box.x1), (e * box.y0, e * box.y1)
    return Box(c + min(x) + min(y), f + min(u) + min(v), c + max(x) + max(y), f + max(u) + max(v))


def grow(box: Box, share: float) -> Box:
    """The box with `share` of its longer side added on every side."""
    margin = share * box.side
    return Box(box.x0 - margin, box.y0 - margin, box.x1 + margin, box.y1 + margin)


def gap(a: Box, b: Box) -> float:
    """Pixels between two boxes; 0 when they overlap."""
    return math.hypot(max(a.x0 - b.x1, b.x0 - a.x1, 0.0), max(a.y0 - b.y1, b.y0 - a.y1, 0.0))


def overlap(a: Box, b: Box) -> float:
    """Intersection over union, 0..1."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (a.area + b.area - shared)


def roll(left: Array, right: Array) -> float:
    """The angle in degrees of the line from the image-left to the image-right eye; positive when the head leans clockwise."""
    return math.degrees(math.atan2(float(right[1] - left[1]), float(right[0] - left[0])))


def region_from_detection(detection: Detection) -> Region:
    """Where to look for the mesh of a detected face."""
    box = detection.box
    side = box.side * REGION_MARGIN
    return Region(*box.centre, side, _roll_of_five(detection.points))


def _roll_of_five(points: Floats) -> float:
    """The roll in degrees by the line between the eyes and the line from eyes to mouth, the longer the weightier.

    In profile the eyes nearly coincide and their line alone would be off by 30 degrees.
    """
    across = points[1] - points[0]
    down = (points[3] + points[4] - points[0] - points[1]) / 2
    return math.degrees(math.atan2(float(across[1] - down[0]), float(across[0] + down[1])))


def region_from_landmarks(points: Floats) -> Region:
    """Where to look for the mesh in the next frame, from the mesh (468, 2 or 3) in this one."""
    box = bounds(points)
    side = box.side * REGION_MARGIN
    left, right = OUTER_EYE_CORNERS
    return Region(*box.centre, side, roll(points[left], points[right]))


def five_points(points: Floats) -> Floats:
    """Eyes, nose tip and mouth corners (5, 2) float32, each pair from image-left to image-right, of a mesh (468, 2 or 3)."""
    (a, b), (c, d) = EYE_CORNER_PAIRS
    left, right = MOUTH_CORNERS
    flat = points[:, :2]
    return np.stack([(flat[a] + flat[b]) / 2, (flat[c] + flat[d]) / 2, flat[NOSE_TIP], flat[left], flat[right]]).astype(np.float32)


def alignment_points(face: Face | SourcePhoto) -> Floats:
    """The five points (5, 2) that a crop of the face is aligned by: those of its own landmark network, else the mesh's."""
    return five_points(face.landmarks.points) if face.refined is None else face.refined
