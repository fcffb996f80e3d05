"""Where a face lies, as graphs: the counterparts of `vision.geometry`, with its conventions.

Transforms are (2, 3) float32. No MatMul: a GPU may compute it in TF32, whose 10 bits put a point of a 4K frame two pixels off.
"""

from __future__ import annotations

import math

import numpy as np

from realtime.graphs.builder import Graph, Value
from realtime.types import Floats
from realtime.vision import geometry

_EDGE = 0.5
"""The mesh network measures from the crop's edge, and we count pixel centres."""
_TINY = 1e-12
_SOUND = 1e30
"""A sum of magnitudes below this is one of numbers: what is none, or infinite, fails the comparison."""


def transform(graph: Graph, *rows: Value) -> Value:
    """(2, 3) from its six elements, row by row."""
    return graph.concat(*(element.reshape(1) for element in rows), axis=0).reshape(2, 3)


def elements(matrix: Value) -> list[Value]:
    """The six elements of a transform, row by row, each ()."""
    flat = matrix.reshape(6)
    return [flat.take(index, 0) for index in range(6)]


def invert(graph: Graph, matrix: Value) -> Value:
    """The transform that undoes this one; all zeros where there is none."""
    with graph.scope("invert"):
        a, b, x, c, d, y = elements(matrix)
        det = a * d - b * c
        sound = det.abs() > _TINY
        factor = sound.where(1.0 / sound.where(det, 1.0), 0.0)
        a, b, c, d = d * factor, -b * factor, -c * factor, a * factor
        return transform(graph, a, b, -(a * x + b * y), c, d, -(c * x + d * y))


def apply(matrix: Value, points: Value) -> Value:
    """Points (n, 2) moved by a transform."""
    x, y = points.part(0, 1, 1), points.part(1, 2, 1)
    return x * matrix.take(0, 1) + y * matrix.take(1, 1) + matrix.take(2, 1)


def from_crop(graph: Graph, region: Value, size: int) -> Value:
    """From pixels of a `size` x `size` crop that shows `region` (4,) = x, y, size, angle upright to frame pixels.

    The inverse of `geometry.crop_transform`.
    """
    with graph.scope("from_crop"):
        x, y, side, angle = (region.take(index, 0) for index in range(4))
        scale, turn = side * (1 / size), angle * (math.pi / 180)
        cos, sin = scale * graph.op("Cos", turn), scale * graph.op("Sin", turn)
        middle = (size - 1) / 2
        return transform(graph, cos, -sin, x - (cos - sin) * middle, sin, cos, y - (sin + cos) * middle)


def mesh_in_frame(graph: Graph, mesh: Value, matrix: Value) -> Value:
    """The network's mesh (468, 3) in crop pixels, brought to the frame by the crop's `matrix`; depth is scaled alike."""
    with graph.scope("mesh_in_frame"):
        flat = apply(matrix, mesh.part(0, 2, 1) - _EDGE)
        depth = mesh.part(2, 3, 1) * determinant(matrix).abs().sqrt()
        return graph.concat(flat, depth, axis=1)


def determinant(matrix: Value) -> Value:
    """() float32: by how much areas grow under a transform."""
    a, b, _, c, d, _ = elements(matrix)
    return a * d - b * c


def presence(graph: Graph, logit: Value, mesh: Value) -> Value:
    """(1,) float32: the sigmoid of the network's logit, and 0 where logit or mesh are not numbers."""
    with graph.scope("presence"):
        logit = logit.reshape(1)
        magnitude = mesh.abs().sum(0, 1) + logit.abs()
        return (magnitude <= _SOUND).where(graph.op("Sigmoid", logit), 0.0)


def next_region(graph: Graph, landmarks: Value) -> Value:
    """(4,) float32: where to look in the next frame, as `geometry.region_from_landmarks`."""
    with graph.scope("next_region"):
        flat = landmarks.part(0, 2, 1)
        low, high = flat.min(0), flat.max(0)
        side = (high - low).max(0, keep=True) * geometry.REGION_MARGIN
        left, right = geometry.OUTER_EYE_CORNERS
        line = flat.take(right, 0) - flat.take(left, 0)
        angle = atan2(graph, line.take(1, 0), line.take(0, 0)) * (180 / math.pi)
        return graph.concat((low + high) * 0.5, side, angle.reshape(1), axis=0)


def atan2(graph: Graph, y: Value, x: Value) -> Value:
    """The angle of (x, y) in radians, which ONNX has no operator for: the arc tangent of the smaller over the larger, and the quadrant."""
    steep = y.abs() > x.abs()
    below, above = steep.where(x, y), steep.where(y, x)
    slope = graph.op("Atan", below / (above.abs() > 0.0).where(above, 1.0))
    half_turn = (y >= 0.0).where(math.pi, -math.pi)
    flat = (x >= 0.0).where(slope, slope + half_turn)
    return steep.where(half_turn * 0.5 - slope, flat)


def five_points(graph: Graph, landmarks: Value) -> Value:
    """Eyes, nose tip and mouth corners (5, 2), as `geometry.five_points`."""
    with graph.scope("five_points"):
        left, right = geometry.MOUTH_CORNERS
        pairs = [*geometry.EYE_CORNER_PAIRS, (geometry.NOSE_TIP,) * 2, (left, left), (right, right)]
        return landmarks.part(0, 2, 1).take(np.array(pairs), 0).mean(1)


def similarity(graph: Graph, points: Value, template: Floats) -> Value:
    """The transform that brings `points` (n, 2) closest to the `template` (n, 2), in closed form as `geometry.similarity`.

    Points that coincide are brought to the template's middle.
    """
    with graph.scope("similarity"):
        goal = np.asarray(template, np.float64)
        to = goal.mean(0)
        centred = (goal - to).astype(np.float32)
        crossed = np.column_stack([centred[:, 1], -centred[:, 0]])
        middle = points.mean(0)
        offsets = points - graph.op("Unsqueeze", middle, [0])
        spread = (offsets * offsets).sum(0, 1).at_least(_TINY)
        cos, sin = (offsets * centred).sum(0, 1) / spread, (offsets * crossed).sum(0, 1) / spread
        x, y = middle.take(0, 0), middle.take(1, 0)
        shift_x, shift_y = np.float32(to[0]) - (cos * x - sin * y), np.float32(to[1]) - (sin * x + cos * y)
        return transform(graph, cos, -sin, shift_x, sin, cos, shift_y)
