"""Whether a face wears glasses: a line around both eyes, where a bare face has at most creases here and there."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel, ramp
from realtime.vision.mesh.window import ANGLES, FLANK, RADII, WIDTH

LOWER: Final = (2, 17)
"""The rays below an eye, from outwards to inwards, on which the decision rests: above it there are brows."""
CLEAREST = np.float32(0.3)
"""Contrast, as a share of the skin's level, beyond which a line is no clearer."""
IN_BROW = np.float32(0.5)
"""What a line counts for that lies in a brow."""
USUAL = np.float32(0.25)
"""Contrast beyond which no place is better than another to the line that is followed."""
BENT = np.float32(0.02)
"""What a step of the line from one ray to the next costs, in the same unit: rims are rounder than what else lies around eyes."""
STEEP = np.float32(1.5)
"""A line's contrast may be this many times the step at its sides: a rim's are steep, those of a bag or a fold are not."""
LINES: Final = np.array(((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (2, 5), (3, 5), (4, 6)), np.int32)
"""Lines looked for, in places along a ray: half their width, and how far from their middle the skin beside them is."""


COLUMNS: Final = np.array((WIDTH // 2 - 3, WIDTH // 2, WIDTH // 2 + 2), np.int32)
ROWS: Final = (11, 33)
"""Texels of the window where a bridge is looked for: from between the brows to half-way down the nose."""
BRIDGE = np.float32(0.2)
BRIDGE_SHARE: Final = 0.15
"""What a bridge's contrast counts for beside that of the rims."""
DARK, EVEN = (0.55, 0.65), (0.12, 0.08)
"""Share of the skin's level by which sunglasses are darker than it, and how little they vary: bare eyes reach 0.6, but vary by 0.17."""
DIM: Final = 40.0
"""Level of the skin below which dark lenses are not told from shadow."""
SUNGLASSES: Final = 0.15
"""What dark lenses count for, on the scale of `rim`."""


@kernel
def skin_level(pixels: Array) -> Any:
    """Green level of the skin: the mean of the brighter half of the lowest rows."""
    height, width = pixels.shape[0], pixels.shape[1]
    limit = np.float32(0.0)
    for y in range(3 * height // 4, height):
        for x in range(width // 6, 5 * width // 6):
            limit += pixels[y, x, 1]
    limit /= np.float32((height - 3 * height // 4) * (5 * width // 6 - width // 6))
    total, count = np.float32(0.0), np.float32(1e-3)
    for y in range(3 * height // 4, height):
        for x in range(width // 6, 5 * width // 6):
            if pixels[y, x, 1] >= limit:
                total += pixels[y, x, 1]
                count += np.float32(1.0)
    return max(total / count, np.float32(1.0))


@kernel
def dark_lenses(pixels: Array, lens: Array, skin: float) -> Any:
    """0..1: how surely both eyes are behind lenses so dark and even that no rim stands out.

    pixels: (H, W, 3) from `unfold`; lens: (2, H, W) of `Window`; skin: from `skin_level`. Judged in green.
    """
    sure = np.float32(1.0) if skin > DIM else np.float32(0.0)
    for eye in range(2):
        mean, squares, weight = np.float32(0.0), np.float32(0.0), np.float32(1e-3)
        for y in range(lens.shape[1]):
            for x in range(lens.shape[2]):
                share, level = lens[eye, y, x], pixels[y, x, 1] / np.float32(skin)
                mean, squares, weight = mean + share * level, squares + share * level * level, weight + share
        mean /= weight
        spread = np.sqrt(max(squares / weight - mean * mean, np.float32(0.0)))
        darker: Any = np.float32(1.0) - mean
        sure *= ramp(DARK[0], DARK[1], darker) * ramp(EVEN[0], EVEN[1], spread)
    return sure


@kernel
def trace(pixels: Array, rays: Array, brows: Array, bright: float, lines: Array) -> None:
    """The clearest closed line around each eye: lines (2, ANGLES, 3) float32, for every ray the place (0..RADII - 1), half the width in
    places and the contrast to the skin beside it as a share of the skin's level.

    pixels: (H, W, 3) from `unfold`; rays: (2, ANGLES, places, 2) of `Window`; brows: (2, n, 2) their outlines in texels;
    bright: 0..1, what lines count for that are brighter than what is beside them; darker ones count in full.
    """
    clear, wide = np.empty((ANGLES, RADII), np.float32), np.empty((ANGLES, RADII), np.float32)
    for eye in range(2):
        _clearness(pixels, rays[eye], np.float32(bright), clear, wide)
        _leave_brow(rays[eye], brows[eye], clear)
        _follow(clear, lines[eye])
        for a in range(ANGLES):
            lines[eye, a, 1] = wide[a, int(lines[eye, a, 0])]


@kernel
def rim(lines: Array) -> Any:
    """How clearly a rim is seen around both eyes: 0.02 to 0.08 on bare faces.

    The geometric mean of how clear the line is on the whole, and of how clear it is on all but a quarter of the rays, at the eye where each
    is less: creases are clear in places, and a shadow beside one eye.
    """
    whole = least = np.float32(1e9)
    found = np.empty(LOWER[1] - LOWER[0], np.float32)
    for eye in range(2):
        mean = np.float32(0.0)
        for a in range(LOWER[0], LOWER[1]):
            found[a - LOWER[0]] = lines[eye, a, 2]
            mean += min(lines[eye, a, 2], CLEAREST) / np.float32(len(found))
        found.sort()
        whole, least = min(whole, mean), min(least, found[len(found) // 4])
    return np.sqrt(whole * least)


@kernel
def bridge(pixels: Array, rows: Array) -> Any:
    """Contrast to the skin beside it, at most BRIDGE, of the clearest line across the root of the nose; frowns make some, too.

    pixels: (H, W, 3) from `unfold`; rows: (3,) float32 out, where the line crosses each of COLUMNS. The least clear of the three counts.
    """
    result = BRIDGE
    for n in range(3):
        column, clearest = COLUMNS[n], np.float32(0.0)
        for c in range(3):
            skin = np.float32(12.0)
            for y in range(ROWS[0], ROWS[1]):
                skin = max(skin, pixels[y, column, c] + np.float32(12.0))
            for y in range(ROWS[0], ROWS[1]):
                for half in range(2):
                    line = np.float32(0.0)
                    for i in range(y - half, y + half + 1):
                        line += pixels[i, column, c]
                    line /= np.float32(2 * half + 1)
                    for beside in range(2 * half + 1, 2 * half + 3):
                        step = _least(line - pixels[y - beside, column, c], line - pixels[y + beside, column, c]) / skin
                        if step > clearest:
                            clearest, rows[n] = step, np.float32(y)
        result = min(result, clearest)
    return result


@helper
def _clearness(pixels: Array, rays: Array, bright: np.float32, clear: Array, wide: Array) -> None:
    """Contrast and half the width of the clearest line through every place, in the channel that shows it best."""
    places = rays.shape[1]
    seen, sums = np.empty((3, ANGLES, places), np.float32), np.zeros(places + 1, np.float32)
    _sample(pixels, rays, seen)
    for a in range(ANGLES):
        for r in range(RADII):
            clear[a, r] = wide[a, r] = np.float32(0.0)
    for c in range(3):
        scale = np.float32(1.0) / (_bright_mean(seen[c]) + np.float32(12.0))
        for a in range(ANGLES):
            for p in range(places):
                sums[p + 1] = sums[p] + seen[c, a, p]
            for n in range(len(LINES)):
                _lines(seen[c, a], sums, LINES[n], scale, bright, clear[a], wide[a])


@helper
def _leave_brow(rays: Array, brow: Array, clear: Array) -> None:
    """A line in a brow is less clear: it is followed where there is no other."""
    for a in range(ANGLES // 2, ANGLES):
        for r in range(RADII):
            x, y, inside = rays[a, r + FLANK, 0], rays[a, r + FLANK, 1], False
            for n in range(len(brow)):
                ax, ay, bx, by = brow[n - 1, 0], brow[n - 1, 1], brow[n, 0], brow[n, 1]
                if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
                    inside = not inside
            if inside:
                clear[a, r] *= IN_BROW


@helper
def _lines(seen: Array, sums: Array, size: Array, scale: np.float32, bright: np.float32, clear: Array, wide: Array) -> None:
    """Lines of one width along a ray; without branches, so that the compiler takes eight places at a time."""
    half, beside = size[0], size[1]
    share = np.float32(1.0) / np.float32(2 * half + 1)
    for r in range(RADII):
        p = r + FLANK
        line, left, right = (sums[p + half + 1] - sums[p - half]) * share, seen[p - beside], seen[p + beside]
        steep = STEEP * _least(seen[p - half] - left, seen[p + half] - right)
        above, below = min(line - left, line - right), min(left - line, right - line)
        value = scale * max(bright * min(above, steep), min(below, steep), np.float32(0.0))
        wide[r] = np.float32(half) if value > clear[r] else wide[r]
        clear[r] = max(value, clear[r])


@helper
def _least(one: np.float32, other: np.float32) -> Any:
    """The smaller of two differences of one sign, as a size; 0 when the signs differ."""
    return max(min(one, other), min(-one, -other), np.float32(0.0))


@helper
def _sample(pixels: Array, rays: Array, seen: Array) -> None:
    """Bilinear levels at the places on the rays, which lie inside: (3, ANGLES, places)."""
    for a in range(rays.shape[0]):
        for p in range(rays.shape[1]):
            x, y = rays[a, p, 0], rays[a, p, 1]
            left, top = int(x), int(y)
            fx, fy = x - np.float32(left), y - np.float32(top)
            for c in range(3):
                upper = pixels[top, left, c] + fx * (pixels[top, left + 1, c] - pixels[top, left, c])
                lower = pixels[top + 1, left, c] + fx * (pixels[top + 1, left + 1, c] - pixels[top + 1, left, c])
                seen[c, a, p] = upper + fy * (lower - upper)


@helper
def _bright_mean(seen: Array) -> Any:
    """Mean of the brighter half below an eye: the skin's level, whatever is dark there. seen: (ANGLES, places)."""
    first, last = ANGLES // 8, 3 * ANGLES // 8
    limit = np.float32(0.0)
    for a in range(first, last):
        for p in range(seen.shape[1]):
            limit += seen[a, p]
    limit /= np.float32((last - first) * seen.shape[1])
    total, count = np.float32(0.0), np.float32(1e-3)
    for a in range(first, last):
        for p in range(seen.shape[1]):
            if seen[a, p] >= limit:
                total += seen[a, p]
                count += np.float32(1.0)
    return total / count


@helper
def _follow(clear: Array, line: Array) -> None:
    """The clearest closed line: its place and clearness on every ray into `line` (ANGLES, 3).

    Dynamic programming, twice around so that the end meets the beginning.
    """
    best, before = np.zeros(RADII, np.float32), np.empty(RADII, np.float32)
    came = np.empty((2 * ANGLES, RADII), np.int8)
    for turn in range(2 * ANGLES):
        for r in range(RADII):
            before[r] = best[r]
        for r in range(RADII):
            step, value = 0, before[r]
            for side in (-1, 1):
                if 0 <= r + side < RADII and before[r + side] - BENT > value:
                    step, value = side, before[r + side] - BENT
            came[turn, r] = step
            best[r] = value + min(clear[turn % ANGLES, r], USUAL)
    place = 0
    for r in range(RADII):
        if best[r] > best[place]:
            place = r
    for turn in range(2 * ANGLES - 1, -1, -1):
        if turn < ANGLES:
            line[turn, 0], line[turn, 2] = np.float32(place), clear[turn, place]
        place += came[turn, place]
