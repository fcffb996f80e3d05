"""Which pixels are glasses, and how the swap leaves them.

The lines found by `rims` say about where a rim is and what skin looks like on both sides of it, in the small picture of `window`. In the
frame itself, pixel by pixel, what lies near a line and does not look like that skin is the rim: so its edges are the frame's own, and
between them and the lens it is the swapped face that shows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array, Image
from realtime.vision.mesh.maths import helper, kernel, ramp
from realtime.vision.mesh.rims import COLUMNS
from realtime.vision.mesh.window import ANGLES, FLANK, HEIGHT, RADII, WIDTH, texel_at, texel_size

CORE, SURE, BAND = -0.2, -1.2, (1.6, 3.2)
"""Places beyond the half width of a rim: from the first on it is not certain any more, up to the second it is; within the band it is
looked for, less and less beyond the first of the two."""
BESIDE: Final = 3
"""Places beyond the half width at which skin is looked at."""
LIKE = (0.25, 0.8)
"""Share of a rim's difference to the skin from which a pixel may be rim, and from which it is."""
FAINT: Final = np.float32(0.22)
"""Least difference that counts as a rim's, as a share of the skin's level: less is skin's own."""
INNER: Final = (16, 25)
"""Rays towards the nose, on one of which the bridge begins."""
BRIDGE_FULL, BRIDGE_NONE = 0.8, 2.0
"""Texels from the middle of the bridge up to which it is kept, and from which it is not."""
PACE = np.float32(0.5)
"""Share of a new look in the maps."""
DARK = (0.3, 0.5)
"""Share of the skin's level by which a texel is darker that belongs to a dark lens."""
SURELY, PERHAPS, SKIN, SCALE = 0, 1, 2, 5
"""Planes of the maps: 0..1 glasses whatever they look like, 0..1 where they are looked for, the skin there in blue, green and red, and
the reciprocal of the rim's difference to it."""
PLANES: Final = 6
REACH: Final = 2
"""Texels around a vertex in which its colour is looked at."""
BLOCK: Final = 2
"""Texels that a block of pixels is about wide, of which all are looked at or none."""


@kernel
def find_frames(pixels: Array, lines: Array, rows: Array, rays: Array, polar: Array, bridged: bool, first: bool, maps: Array) -> None:
    """Bring `maps` (H, W, PLANES) float32 up to date.

    pixels: (H, W, 3) from `unfold`; lines: (2, ANGLES, 3) from `trace`; rows: (3,) from `bridge`; rays, polar: of `Window`;
    first: nothing has been seen before.
    """
    keep = np.float32(0.0) if first else np.float32(1.0) - PACE
    around = np.empty((2, ANGLES, 9), np.float32)
    for eye in range(2):
        _surroundings(pixels, rays[eye], lines[eye], around[eye])
    for y in range(HEIGHT):
        for x in range(WIDTH):
            eye = 0 if x < WIDTH // 2 else 1
            a = int(polar[eye, y, x, 0]) % ANGLES
            share = polar[eye, y, x, 0] - np.float32(int(polar[eye, y, x, 0]))
            _blend(around[eye, a], around[eye, (a + 1) % ANGLES], share, polar[eye, y, x, 1], keep, maps[y, x])
    if bridged:
        _add_bridge(lines, rows, rays, np.float32(1.0) - keep, maps)


@helper
def _surroundings(pixels: Array, rays: Array, line: Array, out: Array) -> None:
    """For every ray: place and half width of the line, the skin nearer to the eye and farther from it, and how far the line's colour is
    from that; smooth along the line."""
    raw = np.empty((ANGLES, 7), np.float32)
    for a in range(ANGLES):
        place, half = int(line[a, 0]) + FLANK, int(line[a, 1])
        raw[a, 6] = np.float32(0.0)
        for c in range(3):
            raw[a, c] = _level(pixels, rays[a], place - half - BESIDE, c)
            raw[a, 3 + c] = _level(pixels, rays[a], place + half + BESIDE, c)
            raw[a, 6] = max(raw[a, 6], abs(_level(pixels, rays[a], place, c) - np.float32(0.5) * (raw[a, c] + raw[a, 3 + c])))
    five = np.empty(5, np.float32)
    for a in range(ANGLES):
        out[a, 0] = line[a, 0]
        out[a, 1] = (line[a - 1, 1] + np.float32(2.0) * line[a, 1] + line[(a + 1) % ANGLES, 1]) * np.float32(0.25)
        for c in range(7):
            for n in range(5):
                five[n] = raw[(a + n + ANGLES - 2) % ANGLES, c]
            five.sort()
            out[a, 2 + c] = (five[1] + five[2] + five[3]) / np.float32(3.0)


@helper
def _level(pixels: Array, ray: Array, place: int, channel: int) -> Any:
    at = min(max(place, 0), len(ray) - 1)
    return pixels[int(ray[at, 1] + np.float32(0.5)), int(ray[at, 0] + np.float32(0.5)), channel]


@helper
def _blend(one: Array, other: Array, share: np.float32, place: np.float32, keep: np.float32, out: Array) -> None:
    """A texel's values, from those of the rays on both sides of it."""
    away = place - (one[0] + share * (other[0] - one[0]))
    half = one[1] + share * (other[1] - one[1])
    beyond, new = abs(away) - half, np.float32(1.0) - keep
    out[SURELY] = keep * out[SURELY] + new * ramp(CORE, SURE, beyond)
    out[PERHAPS] = keep * out[PERHAPS] + new * ramp(BAND[1], BAND[0], beyond)
    outer = min(max(np.float32(0.5) + away / (np.float32(2.0) * half + np.float32(2.0)), np.float32(0.0)), np.float32(1.0))
    level = np.float32(12.0)
    for c in range(3):
        inside, outside = one[2 + c] + share * (other[2 + c] - one[2 + c]), one[5 + c] + share * (other[5 + c] - one[5 + c])
        skin = inside + outer * (outside - inside)
        out[SKIN + c] = keep * out[SKIN + c] + new * skin
        level = max(level, np.float32(12.0) + skin)
    apart = one[8] + share * (other[8] - one[8])
    out[SCALE] = keep * out[SCALE] + new / max(apart, FAINT * level)


@helper
def _add_bridge(lines: Array, rows: Array, rays: Array, share: np.float32, maps: Array) -> None:
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
                maps[y, x, SURELY] = max(maps[y, x, SURELY], new)


@helper
def _begin(line: Array, rays: Array, row: np.float32, out: Array) -> None:
    """The point of a rim towards the nose that is nearest to the bridge's row."""
    nearest = np.float32(1e9)
    for a in range(INNER[0], INNER[1]):
        p = int(line[a, 0]) + FLANK
        if abs(rays[a, p, 1] - row) < nearest:
            nearest = abs(rays[a, p, 1] - row)
            out[0], out[1] = rays[a, p, 0], rays[a, p, 1]


@kernel
def add_dark_lenses(pixels: Array, polar: Array, level: float, sure: float, maps: Array) -> None:
    """Glasses are also where a dark lens is: what is much darker than skin (its green level given) where a lens can be; sure: 0..1."""
    for y in range(HEIGHT):
        for x in range(WIDTH):
            if min(polar[0, y, x, 1], polar[1, y, x, 1]) < RADII:
                dark = np.float32(1.0) - pixels[y, x, 1] / np.float32(level)
                maps[y, x, SURELY] = max(maps[y, x, SURELY], np.float32(sure) * ramp(DARK[0], DARK[1], dark))


@kernel
def spread_frames(maps: Array, near: Array) -> None:
    """near (H, W) float32: the largest share of glasses within BLOCK texels."""
    across = np.empty((HEIGHT, WIDTH), np.float32)
    for y in range(HEIGHT):
        for x in range(WIDTH):
            most = np.float32(0.0)
            for i in range(max(x - BLOCK, 0), min(x + BLOCK + 1, WIDTH)):
                most = max(most, maps[y, i, SURELY], maps[y, i, PERHAPS])
            across[y, x] = most
    for y in range(HEIGHT):
        for x in range(WIDTH):
            most = np.float32(0.0)
            for j in range(max(y - BLOCK, 0), min(y + BLOCK + 1, HEIGHT)):
                most = max(most, across[j, x])
            near[y, x] = most


@kernel
def bare_vertices(points: Array, view: Array, maps: Array, out: Array) -> None:
    """out (V,) float32: 0..1, how little of each vertex's surroundings glasses hide. points: (V, 3) landmarks; view: of `place`."""
    for v in range(len(points)):
        column, row, _, _, _, _ = texel_at(view, points[v, 0], points[v, 1])
        x, y = int(column + np.float32(0.5)), int(row + np.float32(0.5))
        hidden = np.float32(0.0)
        for i in range(max(y - REACH, 0), min(y + REACH + 1, HEIGHT)):
            for j in range(max(x - REACH, 0), min(x + REACH + 1, WIDTH)):
                hidden = max(hidden, maps[i, j, SURELY], maps[i, j, PERHAPS])
        out[v] = np.float32(1.0) - min(hidden, np.float32(1.0))


@kernel
def keep_frames(image: Image, x0: int, y0: int, view: Array, maps: Array, near: Array, alpha: Array) -> None:
    """Lower the swap's opacity on the glasses.

    image: BGR frame; alpha: (h, w) uint8, changed in place, whose first pixel is pixel (x0, y0) of the frame; view: of `place`;
    maps, near: of `find_frames` and `spread_frames`.
    """
    height, width = alpha.shape
    side = max(int(np.float32(BLOCK) * texel_size(view)), 2)
    for top in range(0, height, side):
        for left in range(0, width, side):
            x, y = np.float32(x0 + left + side // 2), np.float32(y0 + top + side // 2)
            column, row, a, b, c, d = texel_at(view, x, y)
            if 0 <= column < WIDTH and 0 <= row < HEIGHT and near[int(row), int(column)] > 0:
                column -= a * x + b * y
                row -= c * x + d * y
                for i in range(top, min(top + side, height)):
                    for j in range(left, min(left + side, width)):
                        if alpha[i, j] > 0:
                            px, py = np.float32(x0 + j), np.float32(y0 + i)
                            share = _glasses(image, x0 + j, y0 + i, maps, column + a * px + b * py, row + c * px + d * py)
                            alpha[i, j] = np.uint8(np.float32(alpha[i, j]) * (np.float32(1.0) - share) + np.float32(0.5))


@helper
def _glasses(image: Array, x: int, y: int, maps: Array, column: np.float32, row: np.float32) -> Any:
    """0..1: whether a pixel of the frame that is seen at a place of the maps is glasses."""
    if column < 0 or row < 0 or column >= WIDTH - 1 or row >= HEIGHT - 1:
        return np.float32(0.0)
    left, top = int(column), int(row)
    fx, fy = column - np.float32(left), row - np.float32(top)
    surely, perhaps = _between(maps, top, left, fx, fy, SURELY), _between(maps, top, left, fx, fy, PERHAPS)
    if perhaps <= surely:
        return min(surely, np.float32(1.0))
    unlike = np.float32(0.0)
    for c in range(3):
        unlike = max(unlike, abs(_soft(image, x, y, c) - _between(maps, top, left, fx, fy, SKIN + c)))
    unlike *= _between(maps, top, left, fx, fy, SCALE)
    return min(max(surely, perhaps * ramp(LIKE[0], LIKE[1], unlike)), np.float32(1.0))


@helper
def _between(maps: Array, top: int, left: int, fx: np.float32, fy: np.float32, plane: int) -> Any:
    upper = maps[top, left, plane] + fx * (maps[top, left + 1, plane] - maps[top, left, plane])
    lower = maps[top + 1, left, plane] + fx * (maps[top + 1, left + 1, plane] - maps[top + 1, left, plane])
    return upper + fy * (lower - upper)


@helper
def _soft(image: Array, x: int, y: int, channel: int) -> Any:
    """A level of a pixel and its neighbours: grain is no glasses."""
    left, right = max(x - 1, 0), min(x + 1, image.shape[1] - 1)
    above, below = max(y - 1, 0), min(y + 1, image.shape[0] - 1)
    cross = np.int32(image[above, x, channel]) + np.int32(image[below, x, channel])
    cross += np.int32(image[y, left, channel]) + np.int32(image[y, right, channel])
    return np.float32(cross + 2 * np.int32(image[y, x, channel])) / np.float32(6.0)
