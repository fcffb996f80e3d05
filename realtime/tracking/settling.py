"""Several faces after a cut: what the frames before said of them does not hold, and one whom the detector misses may be anywhere.

All of the frame is hidden then until the detector has found as many faces as there were before, three looks in a row, for it may see one of
them a frame later than the others. Faces that are gone for good hold that up for a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from realtime.tracking.picture import Picture
from realtime.types import Box, Image

_CLEAN = 3
"""Looks in a row that must find as many faces as before."""
_LONGEST = 1.0
"""Seconds after which those who were there before are taken to be gone."""


class Settling:
    """Of one tracker. Takes in every frame, and what the detector found in it."""

    def __init__(self) -> None:
        self._picture = Picture()
        self.reset()

    def reset(self) -> None:
        self._picture.reset()
        self._since = -math.inf
        self._before = 0
        self._count = 0
        self._clean = _CLEAN

    def look(self, image: Image) -> bool:
        """Take in the next frame; whether it is another picture than the one before."""
        self._cut = self._picture.cut(image)
        return self._cut

    def over(self, at: float, count: int, lost: Sequence[Box], places: Sequence[Box]) -> bool:
        """Whether the frame may be shown as it was decided. `count`: faces that the detector found; `lost`: where those were who have just
        been lost; `places`: what is swapped or hidden in this frame, and so need not be looked at for where they went."""
        jumped = any(self._picture.jumped(face, places) for face in lost)
        if self._cut or jumped:
            self._since, self._clean, self._before = at, 0, max(self._count, self._before if self._clean < _CLEAN else 0)
        self._count = count
        if self._clean < _CLEAN:
            self._clean = self._clean + 1 if count >= self._before and not lost else 0
            if not 0 <= at - self._since <= _LONGEST:
                self._clean = _CLEAN
        return self._clean >= _CLEAN
