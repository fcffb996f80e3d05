"""A sink that only counts: for measuring, and for runs whose report is all that is wanted."""

from __future__ import annotations

from collections import Counter

from realtime.sinks.lifecycle import Closing
from realtime.types import OutputFrame, State, StreamFormat


class NullSink(Closing):
    """Takes every frame, keeps none. `count` is the number of frames written, `states` how many of each state."""

    name = "null"
    steady = waits = False
    reads_image = False

    def __init__(self) -> None:
        self.count = 0
        self.states: Counter[State] = Counter()
        self.stream: StreamFormat | None = None

    def open(self, stream: StreamFormat) -> None:
        self.stream = stream

    def write(self, frame: OutputFrame) -> None:
        self.count += 1
        self.states[frame.state] += 1

    def close(self) -> None:
        pass
