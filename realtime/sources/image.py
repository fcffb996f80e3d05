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
"""What counts as a still picture by its name. Of one that moves (WebP, PNG) it is the first frame."""
_MAY_MOVE = ".gif"


def is_still(path: Path) -> bool:
    """Whether the file is to be read as a still picture; a GIF is one where it has a single frame, and a video otherwise."""
    suffix = path.suffix.lower()
    return suffix in SUFFIXES or (suffix == _MAY_MOVE and _frames(path) == 1)


def _frames(path: Path) -> int:
    """0 for what is no picture: whoever reads it as a video says so."""
    from PIL import Image as Pil  # here: a camera does without

    try:
        with Pil.open(path) as picture:
            return int(getattr(picture, "n_frames", 1))
    except Exception:  # decoders raise whatever they trip over
        return 0


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
