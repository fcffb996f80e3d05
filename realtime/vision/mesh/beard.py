"""Where a live beard meets a smooth painted face: single hairs over skin, as a trimmed beard ends, not an airbrushed fade."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array, Floats
from realtime.vision.mesh.maths import helper, kernel, ramp
from realtime.vision.mesh.topology import Topology

FOREHEAD, NOSE, CHIN = 10, 4, 152
FEWEST: Final = 12
"""Vertices of the border in view without which nothing is said."""
DARK = (0.2, 0.5)
"""Share of the painted skin's level by which the frame is darker where it shows hair: from the first on, and surely."""
BEARDED = (0.2, 0.35)
"""Mean darkness along the border from which a face has a beard, and from which it is treated as one in full. Measured: 0.42 to 0.57 on a
full beard, 0.13 at most on 28 faces without, in hard light too; a rim of beard under the chin has 0.11 and is left."""
PACE: Final = np.float32(0.1)
"""Share of a new frame in the running mean: a hand at the chin passes."""
SPACING: Final = 130
"""The face's height in hairs: as many pixels away a pixel is compared with others."""
STRENGTH, STEEPEST = np.float32(0.25), np.float32(1.5)
"""How far the opacity follows the hairs, for each standard deviation of their differences in brightness; and deviations at most."""
GRAIN: Final = np.float32(0.75)
"""Deviation of `_own` less the mean of four others, for independent noise of deviation 1: the root of (4^2 + 4) / 8^2 + 1 / 4."""
FAINT, BLACK = np.float32(0.02), np.float32(4.0)
"""Deviation, as a share, that is hardly seen; and levels added to all, so that differences in black count for little."""


def border(topology: Topology) -> Array:
    """(N,) int32: the vertices along jaw and chin at which the painted face fades, and those next to them."""
    fading = (topology.depth > 0.0) & (topology.depth < 2.6)
    return np.flatnonzero(fading & (topology.xyz[:, 1] < -2.0)).astype(np.int32)


def new_beard() -> Floats:
    """What is remembered of one face: how bearded it is, smoothed; negative before the first frame."""
    return np.full(1, -1, np.float32)


@kernel
def show_hairs(image: Array, points: Array, edge: Array, x0: int, y0: int, noise: float, state: Array, colour: Array, alpha: Array) -> None:
    """Let the opacity of a painted patch follow the frame's hairs where it fades out over a beard.

    image: (H, W, 3) uint8 BGR; points: (V, 3) landmarks in its pixels; edge: of `border`; colour, alpha: the patch (h, w, 3) and (h, w)
    uint8, whose first pixel is pixel (x0, y0) of the image; `alpha` is changed in place. noise: deviation of the image's grain in levels;
    state: of `new_beard`. Leaves faces without a beard, and small ones, whose hairs cannot be seen, as they are.
    """
    fx, fy = points[CHIN, 0] - points[FOREHEAD, 0], points[CHIN, 1] - points[FOREHEAD, 1]
    apart = int(np.sqrt(fx * fx + fy * fy) / np.float32(SPACING) + np.float32(0.5))
    if apart < 1:
        return
    share = _bearded(image, points, edge, x0, y0, apart, colour, alpha)
    state[0] += (np.float32(1.0) if state[0] < 0 else PACE) * (share - state[0])
    strength = STRENGTH * ramp(BEARDED[0], BEARDED[1], state[0])
    if strength <= 0:
        return
    dx, dy = points[CHIN, 0] - points[NOSE, 0], points[CHIN, 1] - points[NOSE, 1]
    squared = max(dx * dx + dy * dy, np.float32(1.0))
    down = (dx / squared, dy / squared, (points[NOSE, 0] * dx + points[NOSE, 1] * dy) / squared)
    box = _box(image, points, edge, x0, y0, apart, alpha)
    spread, level = _hairs(image, x0, y0, box, apart, np.float32(0.0), np.float32(1.0), down, colour, alpha, 3)
    grain, unit = GRAIN * np.float32(noise) / level, spread + FAINT
    hairs = np.sqrt(max(spread * spread - grain * grain, np.float32(0.0)))
    _hairs(image, x0, y0, box, apart, strength * hairs / unit, unit, down, colour, alpha, 1)


@helper
def _bearded(image: Array, points: Array, edge: Array, x0: int, y0: int, apart: int, colour: Array, alpha: Array) -> Any:
    """By what share the frame is darker than the painted skin along the border, on average."""
    total, count = np.float32(0.0), 0
    for n in range(len(edge)):
        x, y = int(points[edge[n], 0]) - x0, int(points[edge[n], 1]) - y0
        if _inside(image, alpha, x0, y0, x, y, apart) and alpha[y, x] > 0:
            total += min(max(_darker(image, x0 + x, y0 + y, apart, colour[y, x, 1]), np.float32(0.0)), np.float32(0.6))
            count += 1
    return total / np.float32(count) if count >= FEWEST else np.float32(0.0)


@helper
def _box(image: Array, points: Array, edge: Array, x0: int, y0: int, apart: int, alpha: Array) -> Any:
    """Of the patch, around the border and one hair more: first and last row, first and last column, the last ones exclusive."""
    left, right, top, bottom = np.float32(1e9), np.float32(-1e9), np.float32(1e9), np.float32(-1e9)
    for n in range(len(edge)):
        left, right = min(left, points[edge[n], 0]), max(right, points[edge[n], 0])
        top, bottom = min(top, points[edge[n], 1]), max(bottom, points[edge[n], 1])
    reach = apart + 1
    return (
        max(int(top) - reach - y0, reach - y0, 0),
        min(int(bottom) + reach - y0, image.shape[0] - reach - y0, alpha.shape[0]),
        max(int(left) - reach - x0, reach - x0, 0),
        min(int(right) + reach - x0, image.shape[1] - reach - x0, alpha.shape[1]),
    )


@helper
def _hairs(
    image: Array, x0: int, y0: int, box: Any, apart: int, strength: np.float32, unit: np.float32, down: Any, colour: Array, alpha: Array,
    step: int
) -> Any:  # fmt: skip
    """Deviation of the hairs' brightness, as a share of it, over every `step`-th pixel of the fading border, and that brightness.

    With a strength, the opacity is changed: by so much for each `unit` of that share.
    """
    total = level = np.float32(0.0)
    count = np.float32(1e-3)
    for y in range(box[0], box[1], step):
        for x in range(box[2], box[3], step):
            if 8 <= alpha[y, x] <= 247:
                below = down[0] * np.float32(x0 + x) + down[1] * np.float32(y0 + y) - down[2]
                weight = ramp(0.0, 0.3, below) * ramp(DARK[0], DARK[1], _darker(image, x0 + x, y0 + y, apart, colour[y, x, 1]))
                if weight > 0:
                    around = np.float32(0.25) * np.float32(_around(image, x0 + x, y0 + y, apart + 1)) + BLACK
                    detail = (_own(image, x0 + x, y0 + y) + BLACK) / around - np.float32(1.0)
                    total += weight * min(abs(detail), np.float32(1.0))
                    level += weight * around
                    count += weight
                    if strength > 0:
                        a = np.float32(alpha[y, x]) / np.float32(255.0)
                        a += strength * weight * min(max(detail / unit, -STEEPEST), STEEPEST) * np.float32(4.0) * a * (np.float32(1.0) - a)
                        alpha[y, x] = np.uint8(np.float32(255.0) * min(max(a, np.float32(0.0)), np.float32(1.0)) + np.float32(0.5))
    return np.float32(1.25) * total / count, max(level / count, BLACK)


@helper
def _inside(image: Array, alpha: Array, x0: int, y0: int, x: int, y: int, apart: int) -> Any:
    """Whether a pixel of the patch and those that it is compared with exist."""
    inside, reach = 0 <= x < alpha.shape[1] and 0 <= y < alpha.shape[0], apart + 1
    return inside and reach <= x0 + x < image.shape[1] - reach and reach <= y0 + y < image.shape[0] - reach


@helper
def _around(image: Array, x: int, y: int, apart: int) -> Any:
    """Sum of green over four pixels."""
    beside = np.int32(image[y, x - apart, 1]) + np.int32(image[y, x + apart, 1])
    return beside + np.int32(image[y - apart, x, 1]) + np.int32(image[y + apart, x, 1])


@helper
def _darker(image: Array, x: int, y: int, apart: int, painted: int) -> Any:
    """By what share the frame is darker there than the painted level."""
    return np.float32(1.0) - (np.float32(0.25) * np.float32(_around(image, x, y, apart)) + BLACK) / (np.float32(painted) + BLACK)


@helper
def _own(image: Array, x: int, y: int) -> Any:
    """Level of a pixel and its neighbours: less of it is noise."""
    return np.float32(4 * np.int32(image[y, x, 1]) + _around(image, x, y, 1)) * np.float32(0.125)
