"""A still picture as a source of one frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.photo import load
from realtime.sources.sync import Managed
from realtime.types import Frame, Image

SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".ppm", ".pgm", ".jp2"}
)
"""What counts as a still picture by its name; a GIF may move and is read as a video."""


class ImageSource(Managed):
    """One frame, then the end of the stream."""

    def __init__(self, path: Path | str, read_photo: Callable[[Path], Image] = load) -> None:
        self._path = Path(path)
        self._read_photo = read_photo
        self._image: Image | None = None

    def open(self) -> SourceInfo:
        """Raises UsageError when there is no readable picture."""
        self._image = np.ascontiguousarray(self._read_photo(self._path))
        height, width = self._image.shape[:2]
        return SourceInfo(self._path.name, width, height, fps=25.0, live=False)

    def read(self, timeout: float) -> Frame | None:
        image, self._image = self._image, None
        if image is None:
            raise EndOfStream
        return Frame(0, time.perf_counter(), image, 0.0)

    def close(self) -> None:
        self._image = None
