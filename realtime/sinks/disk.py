"""The file under a muxer, which must never learn that the disk is full.

FFmpeg's muxers do not survive a failed write everywhere: a packet handed over after a header that could not be written ends the process. So
a failure is kept here, for the sink to ask for, and what follows is dropped.
"""

from __future__ import annotations

from pathlib import Path


class DiskFile:
    """A new file as PyAV writes to one: `name`, `write`, `seek`, `tell`. The first failure is in `error`; nothing is written after it."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self.name = str(path)  # PyAV takes the format from its suffix
        self.error: OSError | None = None
        self._file = path.open("wb", buffering=0)  # or an error would come later than the write it belongs to

    def write(self, data: bytes) -> int:
        """Takes everything, also what a full disk does not."""
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
