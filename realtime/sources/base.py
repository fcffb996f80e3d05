"""What a source of frames is."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from realtime.types import Frame


class EndOfStream(Exception):  # noqa: N818 - it ends a loop, like StopIteration
    """The source has no more frames: a file came to its end."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a source really delivers, read back from the device or file."""

    name: str
    width: int
    height: int
    fps: float
    live: bool
    """False: every frame matters and none is dropped (a file); True: only the newest matters."""
    note: str = ""
    """What differs from the request, in a sentence; empty when nothing does. E.g. "the camera gives YUYV 640x480 at 10 fps, not ..."."""
    audio_from: str | None = None
    """Path of a file whose sound belongs to these frames; a file sink copies it."""
    frames: int | None = None
    """About how many there will be, where that is known: for a progress bar."""


class Source(Protocol):
    """Frames from one place. `open`, then `read` until EndOfStream, then `close`; `close` may be called from another thread and
    twice, and makes a waiting `read` return."""

    def begin(self, wait: float = 0.0) -> None:
        """Start what may take long before `open`, and give it up to `wait` seconds. May be left out, and called again.

        Raises SourceError when it has failed by then, as `open` would.
        """

    def open(self) -> SourceInfo:
        """Raises SourceError, or UsageError for a request that can never work."""

    def read(self, timeout: float) -> Frame | None:
        """The next frame, or None when there was none within `timeout` seconds (a stalled or vanished device: try again).

        Raises EndOfStream after the last frame, SourceError when the source is broken for good.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
