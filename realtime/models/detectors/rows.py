"""Candidates for faces as rows of numbers, whatever network they come from.

A row is x, y, width and height of the box, the score and five points x, y: fifteen float32 in pixels of the network's input.
"""

from __future__ import annotations

import numpy as np

from realtime.types import Array, Box, Detection, Floats
from realtime.vision import geometry

MOST = 64
"""Candidates looked at, best first: far more than faces that are of interest."""


def rows(low: Array, high: Array, scores: Array, points: Array) -> Floats:
    """Rows of the boxes' corners (n, 2) and (n, 2), their scores (n,) and points (n, 10)."""
    return np.concatenate([low, high - low, scores[:, None], points], axis=1).astype(np.float32)


def cells(grid: tuple[int, int]) -> Floats:
    """(rows * columns, 2) float32: column and row of each cell of a grid of so many rows and columns, row by row."""
    down, across = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    return np.stack([across, down], axis=1).astype(np.float32)


def best(candidates: Floats) -> Floats:
    """Those that are numbers throughout, the best first, `MOST` at most."""
    candidates = candidates[np.isfinite(candidates).all(axis=1)]
    return candidates[np.argsort(-candidates[:, 4], kind="stable")[:MOST]]


def suppress(candidates: Floats, same_face: float) -> list[Floats]:
    """The rows that no better row overlaps by more than `same_face`: greedy non-maximum suppression on rows sorted by score."""
    kept: list[tuple[Box, Floats]] = []
    for row in candidates:
        x, y, width, height = (float(v) for v in row[:4])
        box = Box(x, y, x + width, y + height)
        if all(geometry.overlap(box, other) <= same_face for other, _ in kept):
            kept.append((box, row))
    return [row for _, row in kept]


def detection(row: Floats, scale: Floats) -> Detection:
    """From input to image pixels; half a pixel because sizes scale about the corner and coordinates count pixel centres."""
    low = (row[:2] + 0.5) * scale - 0.5
    high = (row[:2] + row[2:4] + 0.5) * scale - 0.5
    points = (row[5:].reshape(5, 2) + 0.5) * scale - 0.5
    return Detection(Box(float(low[0]), float(low[1]), float(high[0]), float(high[1])), points.astype(np.float32), float(row[4]))


def merged(found: list[Detection], same_face: float) -> list[Detection]:
    """What several looks at one picture found, each face once, the best score first."""
    kept: list[Detection] = []
    for face in sorted(found, key=lambda each: -each.score):
        if all(geometry.overlap(face.box, other.box) <= same_face for other in kept):
            kept.append(face)
    return kept
