"""Cutting an aligned crop out of a frame."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from realtime.models.swappers.ring import PatchRing
from realtime.types import Box, Image
from realtime.vision import geometry
from realtime.vision.align import crop
from realtime.vision.geometry import Transform

_SMALL: Final = 160
"""Side of a crop up to which three channels are as fast."""
_COARSE: Final = 4.0
"""Frame pixels per crop pixel from which `align.crop` halves the frame first."""


def cut(image: Image, transform: Transform, out: Image, ring: PatchRing) -> None:
    """As `align.crop` into `out` (s, s, 3), larger ones in half the time: OpenCV warps four channels 2.5 times as fast as three.

    *Measured* for 256 pixels of a face region of 440: 0.34 ms, 0.81 before; for 128 pixels the same either way.
    """
    size, back = len(out), geometry.invert(transform)
    if size < _SMALL or geometry.scale_of(back) >= _COARSE:
        crop(image, transform, size, out=out)
        return
    box, (height, width) = geometry.moved(Box(0, 0, size, size), back), image.shape[:2]
    x0, y0 = max(int(box.x0) - 2, 0), max(int(box.y0) - 2, 0)
    x1, y1 = min(int(box.x1) + 3, width), min(int(box.y1) + 3, height)
    if x1 <= x0 or y1 <= y0:
        out.fill(0)
        return
    region, wide = ring.room("region", (y1 - y0, x1 - x0)), ring.room("crop", (size, size))
    cv2.cvtColor(image[y0:y1, x0:x1], cv2.COLOR_BGR2BGRA, dst=region)
    cv2.warpAffine(region, geometry.compose(transform, np.array([[1, 0, x0], [0, 1, y0]])), (size, size), dst=wide, flags=cv2.INTER_LINEAR)
    cv2.cvtColor(wide, cv2.COLOR_BGRA2BGR, dst=out)
