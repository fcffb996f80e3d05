"""Which part of the face is glasses, and how the swap leaves it.

What has been still since the first frame is learned as face, glasses too; a rim gives them away (`rims`). Here the lines found there become
a mask in the small picture of `window`, and the mask opens the swap's grid.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel, ramp
from realtime.vision.mesh.rims import COLUMNS
from realtime.vision.mesh.window import ANGLES, HEIGHT, LEFT, RADII, TEXEL, TOP, WIDTH

FULL, NONE = 0.5, 1.8
"""Places beyond the half width of a rim up to which it is kept whole, and from which nothing is."""
INNER: Final = (16, 25)
"""Rays towards the nose, on one of which the bridge begins."""
BRIDGE_FULL, BRIDGE_NONE = 1.0, 2.2
"""Texels from the middle of the bridge, likewise."""
PACE = np.float32(0.5)
"""Share of a new look in the mask."""
DARK = (0.3, 0.5)
"""Share of the skin's level by which a texel is darker that belongs to a dark lens."""


@kernel
def find_frames(lines: Array, rows: Array, rays: Array, polar: Array, bridged: bool, first: bool, mask: Array) -> None:
    """Bring `mask` (H, W) float32 up to date: 1 on the rims and, when there is one, on the bridge.

    lines: (2, ANGLES, 3) from `trace`; rows: (3,) from `bridge`; rays, polar: of `Window`; first: nothing has been seen before.
    """
    keep = np.float32(0.0) if first else np.float32(1.0) - PACE
    wide = np.empty((2, ANGLES), np.float32)
    for eye in range(2):
        for a in range(ANGLES):
            wide[eye, a] = max(lines[eye, a - 1, 1], lines[eye, a, 1], lines[eye, (a + 1) % ANGLES, 1])
    for y in range(HEIGHT):
        for x in range(WIDTH):
            new = np.float32(0.0)
            for eye in range(2):
                place = polar[eye, y, x, 1]
                if -3 < place < RADII + 2:
                    a = int(polar[eye, y, x, 0]) % ANGLES
                    share = polar[eye, y, x, 0] - np.float32(a)
                    b = (a + 1) % ANGLES
                    middle = lines[eye, a, 0] + share * (lines[eye, b, 0] - lines[eye, a, 0])
                    half = wide[eye, a] + share * (wide[eye, b] - wide[eye, a])
                    new = max(new, ramp(NONE, FULL, abs(place - middle) - half))
            mask[y, x] = keep * mask[y, x] + (np.float32(1.0) - keep) * new
    if bridged:
        _add_bridge(lines, rows, rays, np.float32(1.0) - keep, mask)


@helper
def _add_bridge(lines: Array, rows: Array, rays: Array, share: np.float32, mask: Array) -> None:
    """From rim to rim through the three places where it was found."""
    path = np.empty((5, 2), np.float32)
    for n in range(3):
        path[n + 1, 0], path[n + 1, 1] = np.float32(COLUMNS[n]), rows[n]
    for eye in range(2):
        _begin(lines[eye], rays[eye], rows[1], path[4 * eye])
    for n in range(4):
        low, high = int(min(path[n, 0], path[n + 1, 0])), int(max(path[n, 0], path[n + 1, 0]))
        for x in range(max(low, 0), min(high + 1, WIDTH)):
            t = (np.float32(x) - path[n, 0]) / (path[n + 1, 0] - path[n, 0] + np.float32(1e-3))
            row = path[n, 1] + min(max(t, np.float32(0.0)), np.float32(1.0)) * (path[n + 1, 1] - path[n, 1])
            for y in range(max(int(row) - 3, 0), min(int(row) + 5, HEIGHT)):
                new = share * ramp(BRIDGE_NONE, BRIDGE_FULL, abs(np.float32(y) - row))
                mask[y, x] = max(mask[y, x], new)


@helper
def _begin(line: Array, rays: Array, row: np.float32, out: Array) -> None:
    """The point of a rim towards the nose that is nearest to the bridge's row."""
    nearest = np.float32(1e9)
    flank = (rays.shape[1] - RADII) // 2
    for a in range(INNER[0], INNER[1]):
        p = int(line[a, 0]) + flank
        if abs(rays[a, p, 1] - row) < nearest:
            nearest = abs(rays[a, p, 1] - row)
            out[0], out[1] = rays[a, p, 0], rays[a, p, 1]


@kernel
def add_dark_lenses(pixels: Array, polar: Array, level: float, sure: float, mask: Array) -> None:
    """Raise `mask` where a dark lens is: what is much darker than skin (its green level given) where a lens can be; sure: 0..1."""
    for y in range(HEIGHT):
        for x in range(WIDTH):
            if min(polar[0, y, x, 1], polar[1, y, x, 1]) < RADII:
                dark = np.float32(1.0) - pixels[y, x, 1] / np.float32(level)
                mask[y, x] = max(mask[y, x], np.float32(sure) * ramp(DARK[0], DARK[1], dark))


@kernel
def keep_frames(nodes: Array, mask: Array) -> None:
    """Lower the opacity of the swap's grid, (rows, columns, CHANNELS) as in `raster`, where the mask says glasses."""
    for row in range(nodes.shape[0]):
        for column in range(nodes.shape[1]):
            x = (nodes[row, column, 0] - np.float32(LEFT)) / np.float32(TEXEL) - np.float32(0.5)
            y = (nodes[row, column, 1] - np.float32(TOP)) / np.float32(TEXEL) - np.float32(0.5)
            if x < 0 or y < 0 or x >= WIDTH - 1 or y >= HEIGHT - 1 or nodes[row, column, 5] <= 0:
                continue
            left, top = int(x), int(y)
            fx, fy = x - np.float32(left), y - np.float32(top)
            upper = mask[top, left] + fx * (mask[top, left + 1] - mask[top, left])
            lower = mask[top + 1, left] + fx * (mask[top + 1, left + 1] - mask[top + 1, left])
            nodes[row, column, 5] *= np.float32(1.0) - min(upper + fy * (lower - upper), np.float32(1.0))
