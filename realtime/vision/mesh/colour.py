"""Colour of the swapped face: from the target's colours at the vertices to one tone curve and an offset per vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import kernel

TONE_BITS = 6
"""Fractional bits of the tone curve and of the offsets: int32 levels * 64."""


@kernel
def sample_colours(image: Array, points: Array, radius: int, out: Array) -> None:
    """Mean colour around each vertex: out (V, 3) float32 BGR from about 7x7 pixels within `radius`; the border is replicated."""
    height, width = image.shape[0], image.shape[1]
    step = max(1, (2 * radius + 1) // 6)
    reach = radius // step * step
    for v in range(len(points)):
        x, y = int(np.rint(points[v, 0])), int(np.rint(points[v, 1]))
        b, g, r, n = 0, 0, 0, 0
        for i in range(y - reach, y + reach + 1, step):
            row = min(max(i, 0), height - 1)
            for j in range(x - reach, x + reach + 1, step):
                column = min(max(j, 0), width - 1)
                b += image[row, column, 0]
                g += image[row, column, 1]
                r += image[row, column, 2]
                n += 1
        share = np.float32(1.0) / np.float32(n)
        out[v, 0], out[v, 1], out[v, 2] = b * share, g * share, r * share


@kernel
def tone_curve(source: Array, target: Array, curve: Array) -> None:
    """Per-channel curve that takes the source's skin level to the target's: source, target (3,) levels -> curve (3, 256) float32.

    A power law below the skin level, so that brows and nostrils stay dark and black stays black; a straight line above, no steeper
    than the light end allows, so that highlights do not burn out.
    """
    for c in range(3):
        s, t = source[c], target[c]
        gamma = min(max(np.float32(1.1) * s / t, np.float32(0.75)), np.float32(1.3))
        slope = min(min(gamma * t / s, np.float32(1.0)), np.float32(1.3) * (np.float32(255.0) - t) / (np.float32(255.0) - s))
        for level in range(256):
            x = np.float32(level)
            y = t * (x / s) ** gamma if x < s else t + (x - s) * slope
            curve[c, level] = min(max(y, np.float32(0.0)), np.float32(255.0))


@kernel
def weighted_mean(values: Array, weight: Array, out: Array) -> None:
    """out (3,) = the weighted mean of values (V, 3), kept within 8..247 so that tone curves stay defined."""
    total = np.float32(1e-6)
    out[:] = np.float32(0.0)
    for v in range(len(values)):
        total += weight[v]
        for c in range(3):
            out[c] += weight[v] * values[v, c]
    for c in range(3):
        out[c] = min(max(out[c] / total, np.float32(8.0)), np.float32(247.0))


@kernel
def blur_weighted(blur: Array, values: Array, weight: Array, damping: float, out: Array) -> None:
    """Gaussian mean over the surface of values (V, 3) under weight (V,), drawn to zero where there is little weight.

    blur: (V, V), row sums free. `damping` is the share of a row's sum that counts as weight of value zero.
    """
    count = len(values)
    for v in range(count):
        b = g = r = total = full = np.float32(0.0)
        for u in range(count):
            k = blur[v, u]
            w = k * weight[u]
            b += w * values[u, 0]
            g += w * values[u, 1]
            r += w * values[u, 2]
            total += w
            full += k
        share = np.float32(1.0) / (total + np.float32(damping) * full)
        out[v, 0], out[v, 1], out[v, 2] = b * share, g * share, r * share


@kernel
def add_membrane(source: Any, rim: Array, offset: Array) -> None:
    """Spread the colour steps at the border smoothly over the inside: offset (V, 3) += membrane (V, R) @ rim (R, 3)."""
    for v in range(len(offset)):
        b = g = r = np.float32(0.0)
        for j in range(len(rim)):
            k = source.membrane[v, j]
            b += k * rim[j, 0]
            g += k * rim[j, 1]
            r += k * rim[j, 2]
        offset[v, 0] += b
        offset[v, 1] += g
        offset[v, 2] += r
