"""Between the bytes of an aligned crop and the planes of floats that swap networks take and give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from realtime.types import Array, Floats, Image
from realtime.vision.compiled import compiled

_ABSURD = 1e6
"""No level of a picture is as large as this: what is, or is not a number, shows that the network has overflowed."""


@compiled("void(u1[:,:,::1], i8, i8, i8, f4[:,:,::1], f4[::1], f4[::1], b1)", fastmath=True)
def fill_every(image: Image, step: int, row: int, column: int, planes: Floats, scale: Floats, shift: Floats, reverse: bool) -> None:
    """planes (3, s, s) float32 = every step-th pixel of image (s * step, s * step, 3) uint8 from (row, column) on, times scale plus shift.

    `scale` and `shift` (3,) are in the order of the planes; `reverse` turns BGR to RGB.
    """
    _, height, width = planes.shape
    first, last = (2, 0) if reverse else (0, 2)
    for i in range(height):
        for j in range(width):
            y, x = i * step + row, j * step + column
            planes[0, i, j] = image[y, x, first] * scale[0] + shift[0]
            planes[1, i, j] = image[y, x, 1] * scale[1] + shift[1]
            planes[2, i, j] = image[y, x, last] * scale[2] + shift[2]


# Not "fastmath": it takes for granted that nothing is NaN.
@compiled("void(f4[:,:,::1], f4[::1], f4[::1], b1, u1[:,:,::1], i8, i8, i8, i8[::1])")
def write_every(
    planes: Floats, scale: Floats, shift: Floats, reverse: bool, image: Image, step: int, row: int, column: int, tally: Array
) -> None:
    """The way back: planes times scale plus shift, limited to 0..255 and rounded, to every `step`-th pixel of `image`.

    Adds to `tally` (2,) int64 the sum of all levels written, and the count of values that no sound network gives (NaN, huge).
    """
    _, height, width = planes.shape
    total, absurd = np.int64(0), np.int64(0)
    for i in range(height):
        for j in range(width):
            for k in range(3):
                value = planes[k, i, j] * scale[k] + shift[k]
                if not abs(value) < np.float32(_ABSURD):
                    absurd += 1
                    value = np.float32(0)
                level = np.uint8(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5))
                image[i * step + row, j * step + column, 2 - k if reverse else k] = level
                total += level
    tally[0] += total
    tally[1] += absurd


def soft_box(size: int, fade: float) -> NDArray[np.uint8]:
    """(size, size) uint8: 255 inside, falling smoothly over `fade` of the side to 0 on the outermost pixels."""
    numbers = np.arange(size)
    ramp = np.clip(np.minimum(numbers, numbers[::-1]) / max(fade * size, 1), 0, 1)
    smooth = ramp * ramp * (3 - 2 * ramp)
    return np.asarray(np.rint(np.outer(smooth, smooth) * 255), np.uint8)


@compiled("void(f4[:,:,::1], u1[:,:,::1], i8[::1])")
def write_pixels(values: Floats, image: Image, tally: Array) -> None:
    """As `write_every` for pixels (h, w, 3) float32 of 0..1 in the image's own order of colours."""
    height, width, _ = values.shape
    total, absurd = np.int64(0), np.int64(0)
    for i in range(height):
        for j in range(width):
            for k in range(3):
                value = values[i, j, k] * np.float32(255)
                if not abs(value) < np.float32(_ABSURD):
                    absurd += 1
                    value = np.float32(0)
                level = np.uint8(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5))
                image[i, j, k] = level
                total += level
    tally[0] += total
    tally[1] += absurd
