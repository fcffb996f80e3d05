"""Frame-sized buffers that are used again, because fresh ones cost more in page faults than many a step of the pipeline."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from realtime.types import Image


def _references(buffers: list[NDArray[np.uint8]], index: int) -> int:
    """References to one buffer, counted the same way every time."""
    return sys.getrefcount(buffers[index])


_IDLE = _references([np.empty((1, 1, 3), np.uint8)], 0)
"""The count of a buffer that only its list knows; measured, because it depends on the Python version."""


KEPT = 3
"""Idle buffers that are kept: more are needed only when something was held up."""


class Pool:
    """Hands out arrays of one shape that nobody else refers to any more. Not thread-safe: one owner, one pool.

    CPython counts references, and a view keeps its base alive, so "nobody but the pool refers to it" is exact: a buffer cannot
    be reused while a frame, a slot or a sink still holds it, in whatever thread.
    """

    def __init__(self) -> None:
        self._buffers: list[NDArray[np.uint8]] = []

    def array(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """A uint8 array with unspecified content; it is the caller's until its last reference goes. Another shape drops the old ones.

        So does a crowd: what was held while a sink hung is not kept for the rest of the run.
        """
        self._buffers = [b for b in self._buffers if b.shape == shape]
        idle = [index for index in range(len(self._buffers)) if _references(self._buffers, index) <= _IDLE]
        for index in reversed(idle[KEPT:]):
            del self._buffers[index]
        if idle:
            return self._buffers[idle[0]]
        buffer = np.empty(shape, np.uint8)
        self._buffers.append(buffer)
        return buffer

    def __len__(self) -> int:
        return len(self._buffers)


class ImagePool(Pool):
    """The same for pictures."""

    def take(self, height: int, width: int) -> Image:
        """A (height, width, 3) image, as `array` gives one."""
        return self.array((height, width, 3))
