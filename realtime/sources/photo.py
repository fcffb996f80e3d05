"""Reading a still picture for the sources, by way of the reader that the source photos go through."""

from __future__ import annotations

from pathlib import Path

from realtime.types import Image

_ANY = 1 << 16
"""Longer than any picture that the reader takes."""


def load(path: Path) -> Image:
    """The picture upright in its full size, (h, w, 3) uint8 BGR. Raises UsageError, with the cure, when it cannot be read."""
    # Imported here: the reader brings Pillow along, which a camera does not need.
    from realtime.photos.read import read_photo

    return read_photo(path, _ANY)
