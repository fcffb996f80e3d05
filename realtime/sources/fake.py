"""A scripted source, so that the real pipeline runs in tests without a camera."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from enum import Enum

import numpy as np

from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.sync import Managed, Stop
from realtime.types import Frame, Image


class Block(Enum):
    """A step at which the source hangs until it is closed, as a dead driver does: not even the time limit ends it."""

    FOR_EVER = "for ever"


Step = Image | float | None | Exception | Block
"""An image: a frame. A number: wait so many seconds first. None: this `read` gives None. An exception: raised."""


def frames(count: int, size: tuple[int, int] = (64, 48), interval: float = 0.0) -> Iterator[Step]:
    """`count` grey frames, `interval` seconds before each; frame k is filled with the level k % 256."""
    for index in range(count):
        if interval:
            yield interval
        yield np.full((size[1], size[0], 3), index % 256, np.uint8)


class FakeSource(Managed):
    """Plays its script, then ends the stream.

    A frame takes the script's array itself, not a copy. `opened` and `closed` count the calls.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        size: tuple[int, int] = (64, 48),
        fps: float = 30.0,
        live: bool = True,
        open_error: Exception | None = None,
        name: str = "fake",
    ) -> None:
        self._steps = iter(steps)
        self._info = SourceInfo(name, *size, fps=fps, live=live)
        self._open_error = open_error
        self._stop = Stop()
        self._seq = 0
        self.opened = 0
        self.closed = 0

    def open(self) -> SourceInfo:
        self.opened += 1
        if self._open_error is not None:
            raise self._open_error
        return self._info

    def read(self, timeout: float) -> Frame | None:
        """A scripted wait that is longer than `timeout` gives None until it is over."""
        deadline = time.perf_counter() + timeout
        for step in self._steps:
            if isinstance(step, int | float):
                if not self._passed(float(step), deadline):
                    return None
            elif isinstance(step, np.ndarray):
                return self._frame(step)
            else:
                self._other(step)
                return None
        raise EndOfStream

    def close(self) -> None:
        self.closed += 1
        self._stop.set()

    def _passed(self, seconds: float, deadline: float) -> bool:
        left = deadline - time.perf_counter()
        if self._stop.wait(min(seconds, left)):
            raise EndOfStream
        if seconds > left:
            self._steps = _before(seconds - max(left, 0.0), self._steps)
            return False
        return True

    def _frame(self, image: Image) -> Frame:
        if self._stop:
            raise EndOfStream
        seq, self._seq = self._seq, self._seq + 1
        return Frame(seq, time.perf_counter(), image, None if self._info.live else seq / self._info.fps)

    def _other(self, step: Exception | Block | None) -> None:
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Block):
            while not self._stop.wait(3600.0):
                pass
        if self._stop:
            raise EndOfStream


def _before(seconds: float, steps: Iterator[Step]) -> Iterator[Step]:
    yield seconds
    yield from steps
