"""Camera grain: a clean photo painted into a noisy picture looks pasted, so the frame's own noise is laid over it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel, ramp

U = np.uint64
STRIDE: Final = 3
"""Pixels between the nine places around a vertex that are looked at."""
BINS: Final = 256
REACH: Final = 2
"""Pixels away to which a pixel is compared."""
FEWEST: Final = 100
"""Places without which nothing is said."""
THIRD: Final = np.float32(0.4307)
"""A third of a normal distribution's magnitudes lies below this many standard deviations."""
GAIN: Final = np.float32(1.118)
"""Standard deviation of a value less the mean of four others, for independent ones of deviation 1: the root of 1 + 1/4."""
COARSER: Final = np.float32(2.0)
"""How much more skin and hair differ over two pixels than over one (1.7 to 2.1 in clean photographs of many people; noise: 1)."""
CLEAN, NOISY = 1.5, 2.5
"""Levels of missing grain from which it is added, and from which all of it is: less is neither seen nor surely told from pores."""
LIMIT: Final = np.float32(2.5)
"""Standard deviations up to which a difference is grain; at half as much again it is all edge."""
PACE: Final = np.float32(0.3)
"""Share of a new measurement in the running one."""


@kernel
def match_grain(
    image: Array, points: Array, skin: Array, x0: int, y0: int, colour: Array, alpha: Array, measure: bool, state: Array
) -> None:
    """Add to a painted patch the grain that it lacks beside its frame.

    image: (H, W, 3) uint8 BGR; points: (V, 3) landmarks in its pixels; skin: (V,) 0..1; colour, alpha: the patch (h, w, 3) and (h, w)
    uint8, whose first pixel is pixel (x0, y0) of the image; `colour` is changed in place. state: (2,) float32, deviations of the grain of
    frame and patch in levels, smoothed, negative before the first time; renewed when `measure` is true.
    """
    if measure:
        seen, own = grain(image, points, skin, x0, y0, colour, alpha)
        pace = PACE if state[0] >= 0 else np.float32(1.0)
        state[0] += pace * (seen - state[0])
        state[1] += pace * (own - state[1])
    share = ramp(CLEAN, NOISY, state[0] - state[1])
    if share > 0:
        lacking = np.sqrt(state[0] * state[0] - state[1] * state[1])
        add_grain(image, x0, y0, share * lacking / (state[0] * GAIN), LIMIT * GAIN * state[0], colour, alpha)


@kernel
def grain(image: Array, points: Array, skin: Array, x0: int, y0: int, colour: Array, alpha: Array) -> Any:
    """Standard deviations (frame, patch) of the noise in green where the patch shows skin; arguments as in `match_grain`.

    Pixels are compared with the mean of four others, one and two pixels away: noise differs as much from either, skin does not.
    """
    rows, columns = alpha.shape
    counts = np.zeros((2, REACH, BINS), np.int32)
    total = 0
    for v in range(len(points)):
        x, y = int(np.rint(points[v, 0])) - x0, int(np.rint(points[v, 1])) - y0
        for place in range(9 if skin[v] > np.float32(0.5) else 0):
            i, j = y + STRIDE * (place // 3 - 1), x + STRIDE * (place % 3 - 1)
            if _inside(rows, columns, i, j) and alpha[i, j] > 127 and _inside(image.shape[0], image.shape[1], y0 + i, x0 + j):
                for n in range(REACH):
                    counts[0, n, _detail(image, y0 + i, x0 + j, n + 1)] += 1
                    counts[1, n, _detail(colour, i, j, n + 1)] += 1
                total += 1
    if total < FEWEST:
        return np.float32(0.0), np.float32(0.0)
    return _noise(counts[0], total), _noise(counts[1], total)


@helper
def _inside(rows: int, columns: int, y: int, x: int) -> Any:
    return REACH <= y < rows - REACH and REACH <= x < columns - REACH


@helper
def _detail(image: Array, y: int, x: int, apart: int) -> Any:
    """Magnitude of four times a pixel's green less that of the four others, below BINS."""
    near = np.int32(image[y - apart, x, 1]) + np.int32(image[y + apart, x, 1])
    near += np.int32(image[y, x - apart, 1]) + np.int32(image[y, x + apart, 1])
    return min(abs(np.int32(4) * np.int32(image[y, x, 1]) - near), BINS - 1)


@helper
def _noise(counts: Array, total: int) -> Any:
    """Deviation of what is as strong over one pixel as over two, from the counts of `_detail` (2, BINS) over each."""
    fine, coarse, ratio = _deviation(counts[0], total), _deviation(counts[1], total), COARSER * COARSER
    return np.sqrt(max((ratio * fine * fine - coarse * coarse) / (ratio - np.float32(1.0)), np.float32(0.0)))


@helper
def _deviation(counts: Array, total: int) -> Any:
    """Of the values themselves, from a third of the way up their `_detail`: wrinkles and edges are further up."""
    seen, level = 0, 0
    while level < BINS - 1 and 3 * (seen + counts[level]) < total:
        seen += counts[level]
        level += 1
    within = np.float32(total - 3 * seen) / np.float32(3 * max(counts[level], 1))
    magnitude = max(np.float32(level) - np.float32(0.5) + within, np.float32(0.0))
    return magnitude / (np.float32(4.0) * THIRD * GAIN)


@kernel
def add_grain(image: Array, x0: int, y0: int, share: np.float32, limit: np.float32, colour: Array, alpha: Array) -> None:
    """Add `share` of the image's finest detail to a patch whose first pixel is pixel (x0, y0), in place.

    Detail is what a pixel differs from the mean of its four neighbours. Beyond `limit` levels it falls off, to nothing at half as much
    again: edges of the hidden face must not show. The image's first and last column are left, and what is transparent at both ends of
    each row.
    """
    height, width = image.shape[0], image.shape[1]
    rows, columns = colour.shape[0], colour.shape[1]
    source, out = image.reshape(-1), colour.reshape(-1)
    pixel, quarter = U(3), np.float32(0.25)
    zero, top, twice = np.float32(0.0), np.float32(255.0), np.float32(2.0)
    for row in range(rows):
        first, last = max(1 - x0, 0), min(columns, width - 1 - x0)
        while first < last and alpha[row, first] == 0:
            first += 1
        while first < last and alpha[row, last - 1] == 0:
            last -= 1
        y, start = y0 + row, 3 * (x0 + first)
        here, to = U(3 * width * y + start), U(3 * (row * columns + first))
        above, below = U(3 * width * max(y - 1, 0) + start), U(3 * width * min(y + 1, height - 1) + start)
        for n in range(U(3 * max(last - first, 0))):
            near = np.float32(source[above + n]) + np.float32(source[below + n])
            near += np.float32(source[here + n - pixel]) + np.float32(source[here + n + pixel])
            detail = np.float32(source[here + n]) - quarter * near
            small = min(max(detail, -limit), limit)
            beyond = min(max(twice * (detail - small), -limit), limit)
            level = np.float32(out[to + n]) + share * (small - beyond) + np.float32(0.5)
            out[to + n] = np.uint8(min(max(level, zero), top))
