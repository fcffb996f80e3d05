"""Colour of the swapped face: from the target's colours at the vertices to one tone curve and an offset per vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import blank, helper, kernel, ramp

U = np.uint64
THREE = np.float32(3.0)
CONTRAST = np.float32(1.2)
"""The source may stand out this much more than the target does: faces differ, and brows and lips are what a person is known by."""
LEAST_CONTRAST = np.float32(0.55)
MIDDLE_SHARE, FLAT_SHARE = np.float32(0.4), np.float32(0.9)
"""How much of the target's mid-frequency shading is taken over, usually and at the sides of a face in a flat picture."""
FINE_SHARE = np.float32(0.6)
"""How much of what is finer than that is taken over there."""
FLAT, FULL = 0.85, 1.0
"""Contrast of the target, as a share of the source's, of a flat picture and of a usual one."""
TURNED, ASIDE = 0.42, 0.70
"""Sine of the angle from which the head's turn shows the cheek as no photo from the front does, and from which wholly."""
DARK_KEPT = np.float32(0.65)
"""Share of its full contrast that hair keeps where the rest of the face is made flatter: lashes show whether an eye is open."""
HAIR_TINT = np.float32(0.35)
"""Share, in powers, of the change from one skin's colour to the other's that hair takes on."""
SKINS = np.float32(1.22)
"""Largest factor by which skins, dark and pale, differ in a channel beside their brightness; what is beyond it is coloured light."""


@kernel
def sample_colours(image: Array, points: Array, radius: int, out: Array) -> None:
    """Mean colour around each vertex: out (V, 3) float32 BGR from about 6x6 pixels within `radius`; the border is replicated."""
    height, width = image.shape[0], image.shape[1]
    step = max(1, (2 * radius + 3) // 5)
    reach = radius // step * step
    bytes_ = image.reshape(-1)
    for v in range(len(points)):
        x, y = int(np.rint(points[v, 0])), int(np.rint(points[v, 1]))
        b, g, r, n = U(0), U(0), U(0), U(0)
        for i in range(y - reach, y + reach + 1, step):
            row = U(min(max(i, 0), height - 1)) * U(width)
            for j in range(x - reach, x + reach + 1, step):
                at = (row + U(min(max(j, 0), width - 1))) * U(3)
                b += U(bytes_[at])
                g += U(bytes_[at + U(1)])
                r += U(bytes_[at + U(2)])
                n += U(1)
        share = np.float32(1.0) / np.float32(n)
        out[v, 0], out[v, 1], out[v, 2] = np.float32(b) * share, np.float32(g) * share, np.float32(r) * share


@kernel
def tone_curve(source: Array, target: Array, curve: Array) -> None:
    """Per-channel curve that takes the source's skin level to the target's: source, target (3,) levels -> curve (3, 256) float32.

    A power law below the skin level, so that brows and nostrils stay dark and black stays black; a straight line above, no steeper
    than the light end allows, so that highlights do not burn out. What is much darker than skin is hair: it takes on the light of the
    frame, its colour too, but little of the difference in colour between two skins, or brows would turn blue on a pale face.
    """
    grey_source, grey_target = (source[0] + source[1] + source[2]) / THREE, (target[0] + target[1] + target[2]) / THREE
    gamma = min(max(np.float32(1.1) * grey_source / grey_target, np.float32(0.75)), np.float32(1.3))
    for c in range(3):
        s, t = source[c], target[c]
        slope = min(min(gamma * t / s, np.float32(1.0)), np.float32(1.3) * (np.float32(255.0) - t) / (np.float32(255.0) - s))
        tint = t / grey_target * (grey_source / s) ** gamma
        skin = min(max(tint, np.float32(1.0) / SKINS), SKINS)
        for level in range(256):
            x = np.float32(level)
            if x < s:
                own = HAIR_TINT + (np.float32(1.0) - HAIR_TINT) * ramp(0.25, 0.65, x / s)
                y = grey_target * (x / grey_source) ** gamma * tint / skin * skin**own
            else:
                y = t + (x - s) * slope
            curve[c, level] = min(max(y, np.float32(0.0)), np.float32(255.0))


@helper
def toned(curve: Array, channel: int, level: np.float32) -> Any:
    """One channel's level after the curve (3, 256)."""
    return curve[channel, min(max(int(level + np.float32(0.5)), 0), 255)]


@kernel
def contrast(curve: Array, colours: Array, fit: Array, residual: Array, weight: Array) -> Any:
    """How far the target's features stand out from its light, as a share of how far the source's do after the curve: LEAST_CONTRAST..1.

    A clear studio photo on a face in a dim, soft or hazy picture looks painted on. colours, fit: (V, 3) the source's colours and light;
    residual: (V, 3) the target's colours less its light; weight: (V,).
    """
    own = other = np.float32(1.0)
    for v in range(len(weight)):
        grey = residual[v, 0] + residual[v, 1] + residual[v, 2]
        other += weight[v] * grey * grey
        grey = np.float32(0.0)
        for c in range(3):
            grey += toned(curve, c, colours[v, c]) - toned(curve, c, fit[v, c])
        own += weight[v] * grey * grey
    return min(max(CONTRAST * np.sqrt(other / own), LEAST_CONTRAST), np.float32(1.0))


@kernel
def flatten(curve: Array, source: Array, target: Array, contrast: np.float32) -> None:
    """Draw the curve (3, 256) towards the target's skin level (3,), in place: contrast 1 leaves it, 0 makes it flat.

    What is much darker than the source's skin level (3,), hair and lashes, is drawn less.
    """
    for c in range(3):
        for x in range(256):
            dark = DARK_KEPT * ramp(0.7, 0.4, np.float32(x) / source[c])
            share = contrast + (np.float32(1.0) - contrast) * dark
            curve[c, x] = target[c] + share * (curve[c, x] - target[c])


@kernel
def take_shading(middle: Array, step: Array, sides: Array, contrast: float, turned: float) -> None:
    """How far the offsets follow the target's own shading: `middle` (V, 3), all broad differences, becomes what is taken over.

    step: (V, 3) the differences themselves, levels; sides: (V,) weight of cheeks and temples; contrast: see `contrast`. The photo's own
    shading is part of the likeness, but in a soft, flat picture its dark cheeks and temples look like grey patches. Nearer the eyes it
    is kept: how far they are open shows in what is around them.
    """
    flat = max(np.float32(1.0) - ramp(FLAT, FULL, contrast), ramp(TURNED, ASIDE, turned))
    for v in range(len(middle)):
        share, fine = MIDDLE_SHARE + (FLAT_SHARE - MIDDLE_SHARE) * flat * sides[v], FINE_SHARE * flat * sides[v]
        for c in range(3):
            middle[v, c] = share * middle[v, c] + fine * (step[v, c] - middle[v, c])


@helper
def weighted_mean(values: Array, weight: Array, out: Array) -> None:
    """out (3,) = the weighted mean of values (V, 3), kept within 8..247 so that tone curves stay defined."""
    total = np.float32(1e-6)
    for c in range(3):
        out[c] = np.float32(0.0)
    for v in range(len(values)):
        total += weight[v]
        for c in range(3):
            out[c] += weight[v] * values[v, c]
    for c in range(3):
        out[c] = min(max(out[c] / total, np.float32(8.0)), np.float32(247.0))


@helper
def blur_weighted(blur: Array, values: Array, weight: Array, damping: float, out: Array) -> None:
    """Gaussian mean over the surface of values (V, 3) under weight (V,), drawn to zero where there is little weight.

    blur: (V, V) with rows that sum to one; `damping` is the weight of an extra value zero.
    """
    count = len(weight)
    planes = np.empty((4, count), np.float32)
    for u in range(count):
        for c in range(3):
            planes[c, u] = values[u, c] * weight[u]
        planes[3, u] = weight[u]
    _products(blur, planes, out, np.float32(damping))


@helper
def _products(matrix: Array, planes: Array, out: Array, damping: np.float32) -> None:
    """out (V, 3) = matrix (V, U) @ planes[:3].T / (matrix @ planes[3] + damping); planes are contiguous for vector instructions."""
    blue, green, red, weight = planes[0], planes[1], planes[2], planes[3]
    for v in range(len(matrix)):
        row = matrix[v]
        b = g = r = total = np.float32(0.0)
        for u in range(len(row)):
            k = row[u]
            b += k * blue[u]
            g += k * green[u]
            r += k * red[u]
            total += k * weight[u]
        share = np.float32(1.0) / (total + damping)
        out[v, 0], out[v, 1], out[v, 2] = b * share, g * share, r * share


@helper
def add_membrane(membrane: Array, rim: Array, offset: Array) -> None:
    """Spread the colour steps at the border smoothly over the inside: offset (V, 3) += membrane (V, R) @ rim (R, 3)."""
    count = membrane.shape[1]
    planes = blank(4, count)
    for j in range(count):
        for c in range(3):
            planes[c, j] = rim[j, c]
    spread = np.empty((len(offset), 3), np.float32)
    _products(membrane, planes, spread, np.float32(1.0))
    for v in range(len(offset)):
        for c in range(3):
            offset[v, c] += spread[v, c]
