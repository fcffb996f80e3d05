"""Openings in the painted face: the eyes and the inside of the mouth stay the frame's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import blank, helper, kernel


@kernel
def cut_hole(alpha: Array, points: Array, outline: Array, x0: int, y0: int, along: np.float32, across: np.float32, soft: int) -> None:
    """Lower the opacity inside a closed outline to nothing, with an edge about 2 * soft + 1 pixels wide.

    alpha: (h, w) uint8 whose first pixel is pixel (x0, y0) of the frame; points: (V, 3) landmarks; outline: vertices in order, the
    first and the middle one being the corners; along, across: the outline is stretched that much from its centre, along the line
    between the corners and across it.
    """
    count = len(outline)
    polygon = np.empty((count, 2), np.float32)
    _stretch(points, outline, along, across, polygon)
    left, top, right, bottom = _bounds(polygon, x0, y0, soft + 1, alpha.shape)
    if right <= left or bottom <= top:
        return
    cover = blank(bottom - top, right - left + 2)
    dx, dy = np.float32(x0 + left) - np.float32(0.5), np.float32(y0 + top) - np.float32(0.5)
    for k in range(count):
        a, b = polygon[k - 1 if k > 0 else count - 1], polygon[k]
        _edge(cover, a[0] - dx, a[1] - dy, b[0] - dx, b[1] - dy)
    _accumulate(cover)
    _blur_rows(cover, soft)
    _subtract(alpha, cover, left, top, soft)


@helper
def _stretch(points: Array, outline: Array, along: np.float32, across: np.float32, polygon: Array) -> None:
    first, middle = outline[0], outline[len(outline) // 2]
    cx, cy = np.float32(0.5) * (points[first, 0] + points[middle, 0]), np.float32(0.5) * (points[first, 1] + points[middle, 1])
    ux, uy = points[middle, 0] - points[first, 0], points[middle, 1] - points[first, 1]
    length = max(np.float32(np.sqrt(ux * ux + uy * uy)), np.float32(1e-3))
    ux, uy = ux / length, uy / length
    for k in range(len(outline)):
        x, y = points[outline[k], 0] - cx, points[outline[k], 1] - cy
        a, b = along * (x * ux + y * uy), across * (y * ux - x * uy)
        polygon[k, 0], polygon[k, 1] = cx + a * ux - b * uy, cy + a * uy + b * ux


@helper
def _bounds(polygon: Array, x0: int, y0: int, margin: int, shape: tuple[int, int]) -> Any:
    low_x = low_y = np.float32(1e9)
    high_x = high_y = np.float32(-1e9)
    for k in range(len(polygon)):
        low_x, high_x = min(low_x, polygon[k, 0]), max(high_x, polygon[k, 0])
        low_y, high_y = min(low_y, polygon[k, 1]), max(high_y, polygon[k, 1])
    left, top = max(int(np.floor(low_x)) - x0 - margin, 0), max(int(np.floor(low_y)) - y0 - margin, 0)
    right, bottom = min(int(np.ceil(high_x)) - x0 + margin + 1, shape[1]), min(int(np.ceil(high_y)) - y0 + margin + 1, shape[0])
    return left, top, right, bottom


@helper
def _edge(cover: Array, ax: np.float32, ay: np.float32, bx: np.float32, by: np.float32) -> None:
    """Add one edge's signed area to the pixels it crosses and the step it leaves to their right (exact-area scan conversion)."""
    if ay == by:
        return
    sign = np.float32(1.0)
    if ay > by:
        ax, ay, bx, by, sign = bx, by, ax, ay, np.float32(-1.0)
    slope = (bx - ax) / (by - ay)
    columns = np.float32(cover.shape[1] - 2)
    for y in range(max(int(ay), 0), min(int(np.ceil(by)), cover.shape[0])):
        low, high = max(ay, np.float32(y)), min(by, np.float32(y + 1))
        height = (high - low) * sign
        middle = ax + slope * (np.float32(0.5) * (low + high) - ay)
        middle = min(max(middle, np.float32(0.0)), columns)
        x = int(middle)
        inside = np.float32(x + 1) - middle  # the edge is taken as upright within one row: the blur hides the difference
        cover[y, x] += height * inside
        cover[y, x + 1] += height * (np.float32(1.0) - inside)


@helper
def _accumulate(cover: Array) -> None:
    """Running sums along the rows turn edge steps into coverage 0..1."""
    for y in range(cover.shape[0]):
        total = np.float32(0.0)
        for x in range(cover.shape[1]):
            total += cover[y, x]
            cover[y, x] = min(abs(total), np.float32(1.0))


@helper
def _blur_rows(cover: Array, soft: int) -> None:
    """Box mean over 2 * soft + 1 pixels along each row, zero outside."""
    columns = cover.shape[1]
    before = np.empty(columns, np.float32)
    share = np.float32(1.0) / np.float32(2 * soft + 1)
    for y in range(cover.shape[0]):
        for x in range(columns):
            before[x] = cover[y, x]
        total = np.float32(0.0)
        for x in range(min(soft, columns)):
            total += before[x]
        for x in range(columns):
            if x + soft < columns:
                total += before[x + soft]
            if x - soft - 1 >= 0:
                total -= before[x - soft - 1]
            cover[y, x] = total * share


@helper
def _subtract(alpha: Array, cover: Array, left: int, top: int, soft: int) -> None:
    """The box mean down the columns, taken off the opacity."""
    rows, columns = cover.shape[0], cover.shape[1] - 2
    total = blank(1, columns)[0]
    share = np.float32(255.0) / np.float32(2 * soft + 1)
    for y in range(min(soft, rows)):
        for x in range(columns):
            total[x] += cover[y, x]
    for y in range(rows):
        for x in range(columns):
            if y + soft < rows:
                total[x] += cover[y + soft, x]
            if y - soft - 1 >= 0:
                total[x] -= cover[y - soft - 1, x]
            left_over = np.float32(alpha[top + y, left + x]) - total[x] * share
            alpha[top + y, left + x] = np.uint8(max(left_over, np.float32(0.0)))
