"""Photos that are decoded once, though they are looked at before anything is loaded for them and used after it."""

from __future__ import annotations

from pathlib import Path

from realtime.photos.read import read_photo
from realtime.types import Image

_MOST = 8
"""Pictures kept: each has up to 8 MB, and whoever names more of them may wait for the others."""


class Album:
    """Keeps what `look` decoded until `take` asks for it."""

    def __init__(self) -> None:
        self._kept: dict[Path, Image] = {}

    def look(self, path: Path) -> None:
        """Raises UsageError, as `read_photo` does, when it is no picture."""
        image = read_photo(path)
        if len(self._kept) < _MOST:
            self._kept[path] = image

    def take(self, path: Path) -> Image:
        """The picture, as `read_photo` gives it; the caller's own."""
        image = self._kept.pop(path, None)
        return read_photo(path) if image is None else image
