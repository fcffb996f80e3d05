"""Reading a still picture for the sources, by way of the reader that the source photos go through."""

from __future__ import annotations

from pathlib import Path

from realtime.types import Image


def load(path: Path) -> Image:
    """The picture upright, (h, w, 3) uint8 BGR. Raises UsageError, with the cure, when it cannot be read."""
    # Imported here: the reader brings Pillow along, which a camera does not need.
    from realtime.photos.read import read_photo

    return read_photo(path)
