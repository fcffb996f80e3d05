"""The mesh on a coarse grid: which triangle each node sees, and every attribute there."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import blank, helper, kernel, ramp

CHANNELS: Final = 6
"""Attributes of a vertex and a node: u, v (0..1), offset in blue, green, red (levels), opacity (0..1)."""
FAR: Final = np.float32(1e30)
"""Finite, because fast maths may assume that no infinity occurs."""


class Grid(NamedTuple):
    """Nodes `step` pixels apart over the face's region; the top-left node is the region's top-left pixel."""

    ids: Array
    """(rows, columns) int32: 1 + the triangle seen, 0 nothing."""
    depth: Array
    """(rows, columns) float32, image z of what is seen."""
    cover: Array
    """(rows, columns) float32 scratch: soft silhouette."""
    nodes: Array
    """(rows, columns, CHANNELS) float32."""


def new_grid(rows: int, columns: int) -> Grid:
    single = np.float32
    return Grid(
        np.zeros((rows, columns), np.int32),
        np.zeros((rows, columns), single),
        np.zeros((rows, columns), single),
        np.zeros((rows, columns, CHANNELS), single),
    )


def fit_grid(grid: Grid, rows: int, columns: int) -> Grid:
    """Contiguous (rows, columns) views of a grid with at least as many nodes."""
    count = rows * columns
    ids, depth, cover, nodes = (array.reshape(-1) for array in grid)
    return Grid(
        ids[:count].reshape(rows, columns),
        depth[:count].reshape(rows, columns),
        cover[:count].reshape(rows, columns),
        nodes[: count * CHANNELS].reshape(rows, columns, CHANNELS),
    )


@kernel
def draw_grid(points: Array, attributes: Array, triangles: Array, x0: int, y0: int, step: int, grid: Grid, limit: float, fill: int) -> None:
    """Rasterise the mesh at the nodes.

    points: (V, 3) landmarks in pixels; attributes: (V, CHANNELS); triangles: (T, 3), wound so that the face's front turns clockwise
    on the screen; (x0, y0): pixel of the first node; limit: largest change of u or v between neighbouring nodes that is still one surface;
    fill: nodes by which the attributes reach beyond the silhouette.
    Back faces and slivers (nostrils, closed lips) are replaced by their neighbours; opacity falls to zero at the silhouette and where
    the texture jumps (nose over cheek), so that the frame's own contour shows there.
    """
    planes = blank(len(triangles) + 1, 3 * CHANNELS)
    usable = np.empty(len(triangles) + 1, np.bool_)
    usable[0] = False
    local = np.empty((len(points), 3), np.float32)
    for v in range(len(points)):
        local[v, 0] = (points[v, 0] - np.float32(x0)) / np.float32(step)
        local[v, 1] = (points[v, 1] - np.float32(y0)) / np.float32(step)
        local[v, 2] = points[v, 2]
    for y in range(grid.ids.shape[0]):
        for x in range(grid.ids.shape[1]):
            grid.ids[y, x] = 0
            grid.depth[y, x] = FAR
    for t in range(len(triangles)):
        usable[t + 1] = _plane(local, attributes, triangles[t], planes[t + 1], np.float32(limit))
        _draw(local, triangles[t], t + 1, grid)
    _soft_cover(grid)
    _drop(grid.ids, usable)
    _fill(grid.ids, fill)
    _evaluate(grid, planes)
    _fade_jumps(grid, np.float32(limit))


@helper
def _plane(points: Array, attributes: Array, triangle: Array, plane: Array, limit: np.float32) -> Any:
    """Attributes as affine functions of the node: plane = [d/dx (C), d/dy (C), constant (C)]. False: turned away or a sliver."""
    i, j, k = triangle[0], triangle[1], triangle[2]
    ex, ey = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
    fx, fy = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1]
    determinant = ex * fy - ey * fx
    if determinant > np.float32(-0.05):
        return False
    inverse = np.float32(1.0) / determinant
    steep = np.float32(0.0)
    for c in range(CHANNELS):
        a, b = attributes[j, c] - attributes[i, c], attributes[k, c] - attributes[i, c]
        dx, dy = (a * fy - b * ey) * inverse, (b * ex - a * fx) * inverse
        plane[c], plane[CHANNELS + c] = dx, dy
        plane[2 * CHANNELS + c] = attributes[i, c] - dx * points[i, 0] - dy * points[i, 1]
        if c < 2:
            steep = max(steep, abs(dx), abs(dy))
    return steep < limit


@helper
def _draw(points: Array, triangle: Array, label: int, grid: Grid) -> None:
    """Depth-tested fill of one triangle; nodes on its edges count as inside."""
    i, j, k = triangle[0], triangle[1], triangle[2]
    ax, ay, bx, by, cx, cy = points[i, 0], points[i, 1], points[j, 0], points[j, 1], points[k, 0], points[k, 1]
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if abs(area) < np.float32(1e-6):
        return
    rows, columns = grid.ids.shape
    top, bottom = max(int(np.ceil(min(ay, by, cy))), 0), min(int(np.floor(max(ay, by, cy))), rows - 1)
    first, last = max(int(np.ceil(min(ax, bx, cx))), 0), min(int(np.floor(max(ax, bx, cx))), columns - 1)
    inverse = np.float32(1.0) / area
    for y in range(top, bottom + 1):
        for x in range(first, last + 1):
            px, py = np.float32(x), np.float32(y)
            wb = ((px - ax) * (cy - ay) - (py - ay) * (cx - ax)) * inverse
            wc = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) * inverse
            wa = np.float32(1.0) - wb - wc
            if wa >= 0 and wb >= 0 and wc >= 0:
                z = wa * points[i, 2] + wb * points[j, 2] + wc * points[k, 2]
                if z < grid.depth[y, x]:
                    grid.depth[y, x] = z
                    grid.ids[y, x] = label


@helper
def _soft_cover(grid: Grid) -> None:
    """Covered nodes less one all round (beyond the grid counts as covered: the frame may cut the face), averaged over 3x3."""
    rows, columns = grid.ids.shape
    kept = np.empty((rows, columns), np.float32)
    for y in range(rows):
        above, below = max(y - 1, 0), min(y + 1, rows - 1)
        for x in range(columns):
            seen = min(grid.ids[above, x], grid.ids[y, x], grid.ids[below, x])
            kept[y, x] = np.float32(1.0) if seen > 0 else np.float32(0.0)
        _across(kept[y], True)
    for y in range(rows):
        above, below = max(y - 1, 0), min(y + 1, rows - 1)
        for x in range(columns):
            grid.cover[y, x] = (kept[above, x] + kept[y, x] + kept[below, x]) / np.float32(9.0)
        _across(grid.cover[y], False)


@helper
def _across(row: Array, smallest: bool) -> None:
    """Each value's smallest, or sum, of itself and its two neighbours, in place; the ends count double."""
    before = row[0]
    last = len(row) - 1
    for x in range(last + 1):
        here, after = row[x], row[min(x + 1, last)]
        row[x] = min(before, here, after) if smallest else before + here + after
        before = here


@helper
def _drop(ids: Array, usable: Array) -> None:
    for y in range(ids.shape[0]):
        for x in range(ids.shape[1]):
            if not usable[ids[y, x]]:
                ids[y, x] = 0


@helper
def _fill(ids: Array, rings: int) -> None:
    """Give empty nodes the highest label around them, whose plane then reaches beyond its triangle; `rings` times."""
    widest = np.empty_like(ids)
    last = ids.shape[0] - 1
    for _ in range(rings):
        for y in range(last + 1):
            _widen(ids[y], widest[y])
        for y in range(last + 1):
            _take_highest(ids[y], widest[max(y - 1, 0)], widest[y], widest[min(y + 1, last)])


@helper
def _widen(row: Array, out: Array) -> None:
    """The highest label of each node and its two neighbours. Loops without a branch, so that LLVM makes vector code of them."""
    last = len(row) - 1
    out[0], out[last] = max(row[0], row[min(1, last)]), max(row[max(last - 1, 0)], row[last])
    for x in range(1, last):
        out[x] = max(row[x - 1], row[x], row[x + 1])


@helper
def _take_highest(row: Array, above: Array, here: Array, below: Array) -> None:
    for x in range(len(row)):
        highest = max(above[x], here[x], below[x])
        row[x] = highest if row[x] == 0 else row[x]


@helper
def _evaluate(grid: Grid, planes: Array) -> None:
    """Every attribute at every node, from the plane of the triangle seen there; the plane of nothing is zero."""
    rows, columns = grid.ids.shape
    for y in range(rows):
        down = np.float32(y)
        for x in range(columns):
            across, plane, node = np.float32(x), planes[grid.ids[y, x]], grid.nodes[y, x]
            for c in range(CHANNELS):
                node[c] = plane[c] * across + plane[CHANNELS + c] * down + plane[2 * CHANNELS + c]
            node[CHANNELS - 1] *= grid.cover[y, x]


@helper
def _fade_jumps(grid: Grid, limit: np.float32) -> None:
    rows, columns = grid.ids.shape
    for y in range(rows):
        for x in range(columns):
            a = grid.nodes[y, x, CHANNELS - 1]
            if a > 0:
                jump = max(_range(grid.nodes, y, x, 0), _range(grid.nodes, y, x, 1))
                a *= np.float32(1.0) - ramp(0.4, 0.8, np.float32(0.5) * jump / limit)
            grid.nodes[y, x, CHANNELS - 1] = min(max(a, np.float32(0.0)), np.float32(1.0))


@helper
def _range(nodes: Any, y: int, x: int, channel: int) -> Any:
    """Largest less smallest value among a node and its four neighbours."""
    low = high = nodes[y, x, channel]
    for i, j in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
        if 0 <= i < nodes.shape[0] and 0 <= j < nodes.shape[1]:
            low, high = min(low, nodes[i, j, channel]), max(high, nodes[i, j, channel])
    return high - low
