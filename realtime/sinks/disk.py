"""The file under a muxer, which must never learn that the disk is full.

FFmpeg's muxers do not survive a failed write everywhere: a packet handed over after a header that could not be written ends the process. So
a failure is kept here, for the sink to ask for, and what follows is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from struct import unpack


class DiskFile:
    """A new file as PyAV writes to one: `name`, `write`, `seek`, `tell`. The first failure is in `error`; nothing is written after it."""

    def __init__(self, path: Path, step: Callable[[], object] = lambda: None) -> None:
        """`step` is called before each write. Raises OSError."""
        self.name = str(path)  # PyAV takes the format from its suffix
        self.error: OSError | None = None
        self._step = step
        self._file = path.open("wb", buffering=0)  # or an error would come later than the write it belongs to

    def write(self, data: bytes) -> int:
        """Takes everything, also what a full disk does not."""
        self._step()
        left = memoryview(data)
        try:
            while left and self.error is None:
                left = left[self._file.write(left) :]  # a disk that is nearly full takes a part
        except OSError as error:
            self.error = error
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def cut_to_whole(path: Path) -> None:
    """Take a box off the end of an MP4 or MOV file of which there was room for a part only, unless it holds the pictures.

    FFmpeg reads nothing at all of a file that ends within a fragment's header, and all that is there of one that ends within pictures.
    """
    size, start = path.stat().st_size, 0
    with path.open("r+b") as file:
        while start < size:
            file.seek(start)
            head = file.read(16)
            kind, length = (head[4:8], _length(head)) if len(head) == 16 else (b"", 16)
            if start + length > size:
                if kind != b"mdat":
                    file.truncate(start)
                return
            start += length


def _length(head: bytes) -> int:
    """Of a box: 4 bytes of length and 4 of kind, for a large one 1 and the length behind the kind. ISO/IEC 14496-12, 4.2."""
    short, large = unpack(">I4xQ", head)
    return int(large if short == 1 else max(short, 8))
