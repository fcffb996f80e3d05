"""A sink that misbehaves to order, so that the pipeline's promises can be tested without hardware."""

from __future__ import annotations

import time
from collections.abc import Callable

from realtime.sinks.lifecycle import Closing
from realtime.types import OutputFrame, StreamFormat


class ScriptedSink(Closing):
    """Does what it is told at each frame.

    Args:
        delay: seconds each `write` takes.
        fail_at: the number of the write (from 0) that raises `error`; None: never.
        error: what is raised, by `open` when `fail_open` is set.
        block_at: the number of the write that does not return before `close` is called or `patience` seconds are over.
        on_write: called with each frame first.
    """

    name = "scripted"
    reads_image = False

    def __init__(
        self,
        *,
        delay: float = 0.0,
        fail_at: int | None = None,
        error: Exception | None = None,
        fail_open: bool = False,
        block_at: int | None = None,
        patience: float = 10.0,
        on_write: Callable[[OutputFrame], None] | None = None,
        steady: bool = False,
        waits: bool = True,
    ) -> None:
        self.steady = steady
        self.waits = waits
        self.count = 0
        self.seqs: list[int] = []
        self.opened = 0
        self.closed = 0
        self._delay, self._fail_at, self._block_at = delay, fail_at, block_at
        self._error = error if error is not None else RuntimeError("the sink was told to fail")
        self._fail_open, self._patience, self._on_write = fail_open, patience, on_write

    def open(self, stream: StreamFormat) -> None:
        if self._fail_open:
            raise self._error
        self.opened += 1

    def write(self, frame: OutputFrame) -> None:
        number, self.count = self.count, self.count + 1
        self.seqs.append(frame.seq)
        if self._on_write is not None:
            self._on_write(frame)
        if number == self._block_at:
            self._block()
        if number == self._fail_at:
            raise self._error
        if self._delay:
            time.sleep(self._delay)

    def _block(self) -> None:
        until = time.perf_counter() + self._patience
        while not self.closed and time.perf_counter() < until:
            time.sleep(0.005)

    def close(self) -> None:
        self.closed += 1
