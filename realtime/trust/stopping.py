"""Work of many seconds in a library that calls back: there an exception, Ctrl-C's too, is lost, and what was half done passes for done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

Stopped = Callable[[], bool]
"""Whether the work is to be broken off. Asked before each step: who listens hears that it gets on."""


def never() -> bool:
    return False


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
