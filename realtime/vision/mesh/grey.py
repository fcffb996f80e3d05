"""Faces in black and white: an old film, or a camera that sees by infrared at night."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np

from realtime.types import Array, Image
from realtime.vision.mesh.maths import kernel

_EVERY: Final = 6
"""Of how many points of the mesh one is looked at."""
_LEVELS, _SHARE = 2.0, 0.02
"""Mean difference of the channels, in levels and as a share of the face's level, up to which there is no colour: what compression leaves
in a grey picture. Skin in white light has ten times as much, in the dark too."""


@kernel
def is_grey(image: Image, points: Array) -> Any:
    """Whether the face at `points` (V, 2 or more), pixels of `image` (h, w, 3) uint8 BGR, has no colour."""
    height, width, _ = image.shape
    count, apart, total = 0, np.int64(0), np.int64(0)
    for v in range(0, len(points), _EVERY):
        x, y = min(max(int(points[v, 0]), 0), width - 1), min(max(int(points[v, 1]), 0), height - 1)
        blue, green, red = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
        apart += max(blue, green, red) - min(blue, green, red)
        total += blue + green + red
        count += 1
    return apart <= _LEVELS * count + _SHARE * total / 3


def drain(colour: Image) -> None:
    """Take the colour out of (h, w, 3) uint8 BGR, in place: BT.601's luma in each channel."""
    cv2.cvtColor(cv2.cvtColor(colour, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR, dst=colour)
