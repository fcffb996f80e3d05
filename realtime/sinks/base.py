"""What a sink of finished frames is."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from realtime.sinks.lifecycle import Headway
from realtime.types import OutputFrame, StreamFormat


class Sink(Protocol):
    """One place frames go to. `open` once, `write` many times from one thread, `close` once or twice, from any."""

    @property
    def name(self) -> str:
        """For messages and reports, e.g. "virtualcam:/dev/video10"."""

    @property
    def steady(self) -> bool:
        """True when the reader expects frames at a steady rate (a virtual camera): the pipeline repeats the last one if none is new."""

    @property
    def reads_image(self) -> bool:
        """True when the sink shows or keeps `OutputFrame.image`, which then is marked too; False when it only takes `i420`."""

    @property
    def waits(self) -> bool:
        """True when `write` may have to wait for a device or a disk; False when it only counts or copies. Beside other sinks, one that
        waits is written to from a thread of its own."""

    @property
    def tied(self) -> bool:
        """True when `close` belongs to the thread that called `open`, as that of a window does."""

    @property
    def headway(self) -> Headway:
        """Of a `close` that writes: others see there that it gets on, and may break off what is not needed of it."""

    @property
    def remains(self) -> str:
        """Where that lies which was written, until `close` returns; empty when nothing is kept."""

    def open(self, stream: StreamFormat) -> None:
        """Raises SinkError, or UsageError, with the cure in the sentence."""

    def write(self, frame: OutputFrame) -> None:
        """Take one frame; done with its arrays on return. Raises SinkError when the frame could not be delivered."""

    def close(self) -> None:
        """Finish and release everything; a file is complete and playable afterwards."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
