"""Buffers for patches, used in turn."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Patch

PATCHES: Final = 5
"""One more than `Patch` promises to stay valid."""


class PatchRing:
    """Hands out patches whose arrays are overwritten by the fifth one after. They only ever grow."""

    def __init__(self) -> None:
        self._buffers = [np.empty(0, np.uint8) for _ in range(PATCHES)]
        self._turn = 0

    def take(self, x: int, y: int, width: int, height: int) -> Patch:
        """A patch for this rectangle of the frame, its content unspecified."""
        self._turn = (self._turn + 1) % PATCHES
        pixels = width * height
        if self._buffers[self._turn].size < 4 * pixels:
            self._buffers[self._turn] = np.empty(6 * pixels, np.uint8)  # with room to spare for a face that comes closer
        buffer, shape = self._buffers[self._turn], (height, width)
        return Patch(x, y, buffer[: 3 * pixels].reshape(*shape, 3), buffer[3 * pixels : 4 * pixels].reshape(shape))
