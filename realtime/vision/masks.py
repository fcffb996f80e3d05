"""How far a swap is shown, as (n, n) uint8 pictures: 0 nothing of it, 255 all of it. Every function writes into a picture it is given."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.compiled import compiled
from realtime.types import Array, Floats

Mask = NDArray[np.uint8]
_SUBPIXEL = 4
"""Bits after the point of the coordinates that OpenCV draws with."""


def lower(mask: Mask, by: Mask) -> None:
    """mask = mask * by / 255, of two of one size."""
    cv2.multiply(mask, by, dst=mask, scale=1 / 255)


def fill_box(mask: Mask, padding: tuple[float, float, float, float], blur: float) -> None:
    """A rectangle `padding` (top, right, bottom, left) away from the sides, falling off smoothly over `blur`, all shares of the side.

    The outermost pixels are 0, so that no seam shows where the crop ends.
    """
    across, down = (_ramp(size, *ends, blur) for size, ends in zip(mask.shape[::-1], (padding[3::-2], padding[::2]), strict=True))
    np.rint(np.outer(down, across) * 255, out=mask, casting="unsafe")


def _ramp(size: int, before: float, after: float, blur: float) -> Floats:
    """0 at both ends of a line, a share of it away, and 1 between, with a smoothstep (Hermite's 3t^2 - 2t^3) over `blur`."""
    at = np.arange(size, dtype=np.float32)
    from_end = np.minimum(at - before * size, size - 1 - at - after * size)
    t = np.clip(from_end / max(blur * size, 1), 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)


def fill_hull(mask: Mask, points: Floats, padding: float, blur: float) -> None:
    """The convex hull of points (k, 2) in the mask's pixels, grown by `padding` and softened by `blur`, shares of the hull's size."""
    hull = cv2.convexHull(np.ascontiguousarray(points[:, :2], np.float32))[:, 0]
    centre, size = hull.mean(0), float(np.ptp(hull, axis=0).max())
    mask.fill(0)
    fill_polygon(mask, centre + (hull - centre) * (1 + 2 * padding), 255)
    soften(mask, blur * size)


def fill_polygon(mask: Mask, points: Array, value: int) -> None:
    """A filled polygon (k, 2), anti-aliased."""
    cv2.fillPoly(mask, [_fixed(points)], value, cv2.LINE_AA, _SUBPIXEL)


def draw_bones(mask: Mask, points: Array, bones: Sequence[tuple[int, int]], thickness: float, value: int) -> None:
    """Straight pieces with round ends between the points (k, 2) that `bones` names by pairs."""
    at, width = _fixed(points), max(1, round(thickness))
    for first, second in bones:
        cv2.line(mask, at[first].tolist(), at[second].tolist(), value, width, cv2.LINE_AA, _SUBPIXEL)


def _fixed(points: Array) -> Array:
    return np.asarray(np.rint(points * (1 << _SUBPIXEL)), np.int32)


def soften(mask: Mask, radius: float) -> None:
    """Blur with a window of about `radius` pixels to each side; under half a pixel nothing is done.

    Two box filters, which look like a Gaussian and cost the same however wide they are.
    """
    side = 2 * round(radius / 2) + 1
    if side > 1:
        cv2.blur(mask, (side, side), dst=mask, borderType=cv2.BORDER_REPLICATE)
        cv2.blur(mask, (side, side), dst=mask, borderType=cv2.BORDER_REPLICATE)


def sharpen_edge(mask: Mask) -> None:
    """Stretch 128..255 to 0..255: what was half sure is not shown, so that a blurred edge stays inside its outline."""
    cv2.LUT(mask, _INNER_HALF, dst=mask)


_INNER_HALF = np.clip((np.arange(256) - 127.5) * 2, 0, 255).astype(np.uint8)
_INNER_HALF.setflags(write=False)


@compiled("void(f4[:,::1], u1[:,::1])", fastmath=True)
def fill_share(share: Floats, mask: Mask) -> None:
    """mask = share * 255, limited; both (h, w)."""
    height, width = share.shape
    for y in range(height):
        for x in range(width):
            mask[y, x] = np.uint8(min(max(share[y, x], np.float32(0)), np.float32(1)) * np.float32(255) + np.float32(0.5))


@compiled("void(f4[:,:,::1], u1[::1], i8, u1[:,::1])")
def fill_classes(scores: Floats, shown: Array, step: int, mask: Mask) -> None:
    """255 where the class with the best of `scores` (k, h, w) has `shown` (k,) not 0, else 0; of every step-th row and column."""
    classes = len(shown)
    height, width = mask.shape
    best, value = np.empty(width, np.uint8), np.empty(width, np.float32)
    for y in range(height):
        for x in range(width):
            value[x] = scores[0, y * step, x * step]
        best[:] = shown[0]
        for k in range(1, classes):  # class by class along the row, as the scores lie
            line, speaks = scores[k, y * step], shown[k]
            for x in range(width):
                if line[x * step] > value[x]:
                    value[x] = line[x * step]
                    best[x] = speaks
        for x in range(width):
            mask[y, x] = 255 if best[x] else 0
