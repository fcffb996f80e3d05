"""Pasting a patch into a frame."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.compiled.ahead import fetch
from realtime.types import Array, Image
from realtime.vision.mesh.maths import helper, kernel

_AHEAD: Final = 2
"""Rows for which the picture is fetched ahead: a third of the time where it is not in the cache."""
_LINE: Final = 64
"""Bytes that come into the cache at once."""


@kernel
def paste(image: Image, x: int, y: int, colour: Image, alpha: Array) -> None:
    """image = image + (colour - image) * alpha / 255, rounded to the nearest level, in place, within the patch's rectangle only.

    image: (H, W, 3) uint8 C-contiguous; colour: (h, w, 3) uint8; alpha: (h, w) uint8; (x, y): the rectangle's top-left pixel. The
    rectangle must lie inside the image. Pixels of alpha 0 keep their value whatever the colour holds; alpha 255 copies the colour.
    """
    height, width = alpha.shape
    stride = image.shape[1]
    pixels, colours = image.reshape(-1), colour.reshape(-1)
    wide = np.empty(3 * width, np.uint8)
    for row in range(height):
        first, last = 0, width
        while first < last and alpha[row, first] == 0:
            first += 1
        while last > first and alpha[row, last - 1] == 0:
            last -= 1
        count, start = 3 * (last - first), 3 * ((y + row) * stride + x + first)
        _widen(alpha[row, first:last], wide)
        for ahead in range(start + 3 * _AHEAD * stride, start + 3 * _AHEAD * stride + count, _LINE):
            fetch(pixels, ahead)
        _blend(pixels[start : start + count], colours[3 * (row * width + first) :], wide)


@helper
def _widen(alpha: Array, wide: Array) -> None:
    """One opacity per byte, so that the next loop runs over plain bytes. Counted from 0, without which LLVM makes no vector code of it."""
    for j in range(len(alpha)):
        opacity = alpha[j]
        wide[3 * j] = opacity
        wide[3 * j + 1] = opacity
        wide[3 * j + 2] = opacity


@helper
def _blend(below: Array, above: Array, alpha: Array) -> None:
    for k in range(len(below)):
        a = np.int32(alpha[k])
        # n / 255 rounded is (n + 128 + (n + 128 >> 8)) >> 8 for every n up to 255 * 255 (Blinn 1995)
        n = np.int32(below[k]) * (np.int32(255) - a) + np.int32(above[k]) * a + np.int32(128)
        below[k] = np.uint8((n + (n >> np.int32(8))) >> np.int32(8))
