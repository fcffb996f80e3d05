"""Faces in black and white: an old film, or a camera that sees by infrared at night."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from realtime.types import Array, Image

_EVERY: Final = 6
"""Of how many points of the mesh one is looked at."""
_LEVELS, _SHARE = 2.0, 0.02
"""Mean difference of the channels, in levels and as a share of the face's level, up to which there is no colour: what compression leaves
in a grey picture. Skin in white light has ten times as much, in the dark too."""


def is_grey(image: Image, points: Array) -> bool:
    """Whether the face at `points` (V, 2 or more), pixels of `image` (h, w, 3) uint8 BGR, has no colour. 20 microseconds."""
    height, width, _ = image.shape
    x = np.clip(points[::_EVERY, 0].astype(np.intp), 0, width - 1)
    y = np.clip(points[::_EVERY, 1].astype(np.intp), 0, height - 1)
    colours = image[y, x].astype(np.float32)
    return float(np.ptp(colours, axis=1).mean()) <= _LEVELS + _SHARE * float(colours.mean())


def drain(colour: Image) -> None:
    """Take the colour out of (h, w, 3) uint8 BGR, in place: BT.601's luma in each channel."""
    cv2.cvtColor(cv2.cvtColor(colour, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR, dst=colour)
