from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from realtime.errors import UsageError
from realtime.photos import album
from realtime.photos.album import Album


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were decoded, in order."""
    seen: list[Path] = []
    reading = album.read_photo

    def read(path: Path) -> np.ndarray:
        seen.append(path)
        return reading(path)

    monkeypatch.setattr(album, "read_photo", read)
    return seen


def photo(path: Path, level: int) -> Path:
    Pil.new("RGB", (40, 30), (level, level, level)).save(path)
    return path


def test_a_photo_that_was_looked_at_is_not_decoded_again(tmp_path: Path, decoded: list[Path]) -> None:
    photos, path = Album(), photo(tmp_path / "me.png", 90)
    photos.look(path)
    assert (photos.take(path) == 90).all() and decoded == [path]
    assert (photos.take(path) == 90).all() and decoded == [path, path]  # nothing is kept for good


def test_whatever_the_number_of_photos_the_memory_has_an_end(tmp_path: Path, decoded: list[Path]) -> None:
    photos, paths = Album(), [photo(tmp_path / f"{n}.png", n) for n in range(12)]
    for path in paths:
        photos.look(path)
    assert [int(photos.take(path)[0, 0, 0]) for path in paths] == list(range(12))
    assert decoded == [*paths, *paths[8:]]


def test_what_is_no_picture_is_told(tmp_path: Path) -> None:
    (tmp_path / "me.jpg").write_bytes(b"")
    with pytest.raises(UsageError, match=r"me\.jpg is empty"):
        Album().look(tmp_path / "me.jpg")
