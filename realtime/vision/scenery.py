"""Whether a picture is suddenly another one, told by a few hundred of its pixels."""

from __future__ import annotations

from collections.abc import Sequence

import cv2

from realtime.types import Box, Image

COLUMNS, ROWS = 64, 36
_OTHER = 30
"""Levels by which the largest channel of a pixel must differ: more than noise and a change of light make of it from frame to frame."""
_FEWEST = 4
"""Pixels of the sample: fewer may be a lamp, or a hand."""


def sample(image: Image, out: Image) -> None:
    """Every nth pixel of (h, w, 3) BGR into (ROWS, COLUMNS, 3); 20 microseconds at most, whatever the picture's size."""
    cv2.resize(image, (COLUMNS, ROWS), dst=out, interpolation=cv2.INTER_NEAREST)


def changed(before: Image, now: Image) -> Image:
    """Of two samples (ROWS, COLUMNS, 3): (ROWS, COLUMNS) uint8, 255 where a pixel became another."""
    other: Image = cv2.bitwise_not(cv2.inRange(cv2.absdiff(before, now), (0, 0, 0), (_OTHER, _OTHER, _OTHER)))
    return other


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
