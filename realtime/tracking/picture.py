"""What the picture as a whole tells the tracker, by a few hundred of its pixels: that it was cut, and that something came into it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import cv2
import numpy as np

from realtime.types import Box, Image
from realtime.vision.geometry import grow
from realtime.vision.scenery import COLUMNS, ROWS, blank, changed, jumped, sample

_CUT = 0.5
"""Share of the picture that is another from one frame to the next at a cut: no person who moves, and no lamp, changes so much at once."""
_CAME = 0.25
"""Of the followed face's area, that must have changed elsewhere since the last look: less than a head of like size."""
_FEWEST = 4
"""Pixels of the sample that `_CAME` is at least."""
_OWN = 0.5
"""Face sizes around the face that are its own: hair, neck, and what it does from one look to the next."""
_SHOULDERS = 1.0
"""The same to each side below it, down to the bottom: somebody who talks moves the hands."""
_BETWEEN, _SLOWEST = 0.1, 1.0
"""Seconds between two looks for what has come: twice as long after each that found nobody, up to the second."""
_AGAIN = 0.06
"""Seconds until the picture is compared again: every other frame is soon enough."""


class Picture:
    """Takes in every frame while a face is followed; belongs to one tracker. Costs less than 0.1 ms a frame, whatever its size."""

    def __init__(self) -> None:
        self._before, self._now, self._looked = np.zeros((3, ROWS, COLUMNS, 3), np.uint8)
        self.shape: tuple[int, ...] = (0, 0)
        """Height and width of the last frame."""
        self.reset()

    def reset(self) -> None:
        self._known = False
        self._asked = False
        self._own: tuple[Box, ...] = ()
        self._wait = _BETWEEN
        self._next = -math.inf

    def cut(self, image: Image) -> bool:
        """Take in the next frame; whether it is another picture than the one before."""
        self._before, self._now = self._now, self._before
        sample(image, self._now)
        self.shape = image.shape[:2]
        known, self._known = self._known, True
        if not known:
            self._looked[:] = self._now
            return False
        return cv2.countNonZero(changed(self._before, self._now)) > _CUT * ROWS * COLUMNS

    def jumped(self, face: Box, covers: Iterable[Box]) -> bool:
        """Whether half a face became another outside of the covers: a face that is lost may have gone there."""
        height, width = self.shape
        return jumped(self._before, self._now, (width, height), face, [grow(box, _OWN) for box in covers])

    def looked(self, at: float, face: Box, found: bool) -> None:
        """The detector has just seen all that is in this frame; whether that was somebody new."""
        self._looked[:] = self._now
        self._own = (face,)
        if found or not self._asked:
            self._wait = _BETWEEN
        self._asked = False
        self._next = at + self._wait

    def came(self, image: Image, at: float, face: Box, known: Iterable[Box]) -> bool:
        """Whether something came into the picture, beside the followed face and the known ones, that the detector should look at now."""
        if at < self._next:
            return False
        height, width = image.shape[:2]
        scale = COLUMNS / width, ROWS / height
        other = changed(self._looked, self._now)
        for box in (*self._own, face):
            blank(other, grow(box, _OWN), scale)
            reach = _SHOULDERS * box.width
            blank(other, Box(box.x0 - reach, box.y1, box.x1 + reach, height), scale)
        for box in known:
            blank(other, grow(box, _OWN), scale)
        if cv2.countNonZero(other) < max(_FEWEST, _CAME * face.area * scale[0] * scale[1]):
            self._next = at + _AGAIN
            return False
        self._wait, self._asked = min(2 * self._wait, _SLOWEST), True
        return True
