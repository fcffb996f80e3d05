"""Whether a picture is suddenly another one, told by a few hundred of its pixels."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from realtime.compiled import compiled, prepare
from realtime.types import Array, Box, Image

COLUMNS, ROWS = 64, 36
_OTHER = 30
"""Levels by which the largest channel of a pixel must differ: more than noise and a change of light make of it from frame to frame."""
_FEWEST = 4
"""Pixels of the sample: fewer may be a lamp, or a hand."""


def warm_up() -> None:
    """Compile or load what is here, so that the first frame is not late."""
    prepare(_sample, _changed)


def sample(image: Image, out: Image) -> None:
    """Every nth pixel of (h, w, 3) BGR into (ROWS, COLUMNS, 3); 20 microseconds at most, whatever the picture's size."""
    _sample(image, out)


def changed(before: Image, now: Image) -> Image:
    """Of two samples (ROWS, COLUMNS, 3): (ROWS, COLUMNS) uint8, 255 where a pixel became another."""
    other = np.empty(now.shape[:2], np.uint8)
    _changed(before, now, other)
    return other


@compiled("void(u1[:,:,:], u1[:,:,::1])")
def _sample(image: Image, out: Image) -> None:
    """The nearest pixels, as cv2.resize takes them, without its 10 microseconds of preparation."""
    height, width, _ = image.shape
    rows, columns, _ = out.shape
    down, across = 1.0 / (rows / height), 1.0 / (columns / width)
    for y in range(rows):
        top = min(int(y * down), height - 1)
        for x in range(columns):
            left = min(int(x * across), width - 1)
            for channel in range(3):
                out[y, x, channel] = image[top, left, channel]


@compiled("void(u1[:,:,::1], u1[:,:,::1], u1[:,::1])")
def _changed(before: Image, now: Image, other: Array) -> None:
    for y in range(other.shape[0]):
        for x in range(other.shape[1]):
            most = np.int64(0)
            for channel in range(3):
                most = max(most, abs(np.int64(now[y, x, channel]) - np.int64(before[y, x, channel])))
            other[y, x] = 255 if most > _OTHER else 0


def blank(other: Image, box: Box, scale: tuple[float, float]) -> None:
    """No change within the box counts. `other`: as `changed` gives it; scale: its pixels for each of the picture's, across and down."""
    left, right = (min(max(round(x * scale[0]), 0), COLUMNS) for x in (box.x0, box.x1))
    top, bottom = (min(max(round(y * scale[1]), 0), ROWS) for y in (box.y0, box.y1))
    other[top:bottom, left:right] = 0


def jumped(before: Image, now: Image, size: tuple[int, int], face: Box, covers: Sequence[Box]) -> bool:
    """Whether, between two samples of pictures of `size` (width, height), half a face's area or more became another outside of `covers`.

    So does a cut, and a face that is all at once elsewhere; a person who moves changes less from one frame to the next.
    """
    other = changed(before, now)
    scale_x, scale_y = COLUMNS / size[0], ROWS / size[1]
    for cover in covers:
        blank(other, cover, (scale_x, scale_y))
    return cv2.countNonZero(other) >= max(_FEWEST, 0.5 * face.area * scale_x * scale_y)
