"""Buffers for patches, used in turn."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from realtime.types import Patch

PATCHES: Final = 5
"""One more than `Patch` promises to stay valid."""
SMALLEST: Final = 16
"""Width and height in pixels below which a face is not swapped."""


class PatchRing:
    """Hands out patches whose arrays are overwritten by the fifth one after, and room for what they are made of. All only ever grow."""

    def __init__(self) -> None:
        self._buffers = [np.empty(0, np.uint8) for _ in range(PATCHES)]
        self._turn = 0
        self._rooms: dict[str, NDArray[np.uint8]] = {}

    def take(self, x: int, y: int, width: int, height: int) -> Patch:
        """A patch for this rectangle of the frame, its content unspecified."""
        self._turn = (self._turn + 1) % PATCHES
        pixels = width * height
        if self._buffers[self._turn].size < 4 * pixels:
            self._buffers[self._turn] = np.empty(6 * pixels, np.uint8)  # with room to spare for a face that comes closer
        buffer, shape = self._buffers[self._turn], (height, width)
        return Patch(x, y, buffer[: 3 * pixels].reshape(*shape, 3), buffer[3 * pixels : 4 * pixels].reshape(shape))

    def room(self, name: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """(h, w, 4) to work in; the same memory for the same name."""
        count = 4 * shape[0] * shape[1]
        if name not in self._rooms or self._rooms[name].size < count:
            self._rooms[name] = np.empty(count * 3 // 2, np.uint8)
        return self._rooms[name][:count].reshape(*shape, 4)
