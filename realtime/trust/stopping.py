"""Work of many seconds in a library that calls back: there an exception, Ctrl-C's too, is lost, and what was half done passes for done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from realtime.interrupt import Raise

Stopped = Callable[[], bool]
"""Whether the work is to be broken off."""


def never() -> bool:
    return False


@contextmanager
def on_signal() -> Iterator[Stopped]:
    """Within, a signal that would end the program only makes the given function answer True.

    Nothing changes outside the main thread, where no signal arrives, nor for signals that the program leaves to the system.
    """
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            handler = signal.getsignal(number) if number is not None else None
            if number is not None and callable(handler):
                before[number] = signal.signal(number, _noting(came, handler))
    except ValueError:  # another thread
        pass
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _noting(came: list[int], usual: Callable[..., object]) -> Callable[[int, object], None]:
    """What notes a signal; not one of several in a row, of which the first had its answer already."""

    def note(number: int, _frame: object) -> None:
        if not isinstance(usual, Raise) or usual.is_new():
            came.append(number)

    return note


class StoppableFile:
    """A binary file whose next use fails once `stopped` says so."""

    def __init__(self, file: BinaryIO, stopped: Stopped) -> None:
        self._file, self._stopped = file, stopped

    def read(self, size: int = -1) -> bytes:
        return self._checked().read(size)

    def readinto(self, buffer: Any) -> int:
        return int(self._checked().readinto(buffer))  # type: ignore[attr-defined]  # every file that `open` gives has it

    def write(self, data: bytes) -> int:
        return self._checked().write(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._checked().seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def _checked(self) -> BinaryIO:
        """Raises InterruptedError, an OSError."""
        if self._stopped():
            raise InterruptedError("it was broken off")
        return self._file
