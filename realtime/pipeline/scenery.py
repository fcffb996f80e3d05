"""Whether the picture has jumped since the face was seen last: then the face may be anywhere in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from realtime.types import Box, Image
from realtime.vision.scenery import COLUMNS, ROWS, jumped, sample


class Scenery:
    """Looks at every frame, in order; belongs to whoever decides what is shown."""

    def __init__(self) -> None:
        self._before, self._now = np.zeros((2, ROWS, COLUMNS, 3), np.uint8)
        self._jumped = False

    def look(self, image: Image) -> None:
        """Take in the next frame."""
        self._before, self._now = self._now, self._before
        sample(image, self._now)

    def found(self) -> None:
        """The face is seen in this frame, wherever it is."""
        self._jumped = False

    def lost(self, image: Image, face: Box, covers: Sequence[Box]) -> bool:
        """Whether the picture has jumped, in this frame or since the face was found at `face`; within the covers nothing counts."""
        height, width = image.shape[:2]
        self._jumped = self._jumped or jumped(self._before, self._now, (width, height), face, covers)
        return self._jumped
