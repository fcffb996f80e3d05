"""A sink that keeps copies of what it was given, for tests and notebooks."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from realtime.sinks.lifecycle import Closing
from realtime.types import OutputFrame, StreamFormat


class MemorySink(Closing):
    """Keeps a copy of the last `limit` frames (all of them when None) in `frames`, oldest first.

    `steady` may be set, to stand in for a virtual camera.
    """

    name = "memory"
    reads_image = True
    waits = False

    def __init__(self, limit: int | None = None, *, steady: bool = False) -> None:
        self.steady = steady
        self.frames: deque[OutputFrame] = deque(maxlen=limit)
        self.stream: StreamFormat | None = None
        self.closed = False

    def open(self, stream: StreamFormat) -> None:
        self.stream = stream
        self.closed = False

    def write(self, frame: OutputFrame) -> None:
        self.frames.append(replace(frame, image=frame.image.copy(), i420=frame.i420.copy()))

    def close(self) -> None:
        self.closed = True
