"""A picture is one frame."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.errors import UsageError
from realtime.sources.base import EndOfStream
from realtime.sources.image import ImageSource
from realtime.types import Image


def test_one_frame_and_the_end() -> None:
    def read(path: Path) -> Image:
        return np.full((30, 40, 3), 9, np.uint8)

    with ImageSource("me.png", read) as source:
        info = source.open()
        frame = source.read(1.0)
        assert frame is not None and frame.image.shape == (30, 40, 3) and frame.media_time == 0.0
        assert (info.name, info.width, info.height, info.live) == ("me.png", 40, 30, False)
        with pytest.raises(EndOfStream):
            source.read(1.0)


def test_a_large_photo_keeps_its_size(tmp_path: Path) -> None:
    """Unlike a source photo, of which only the face is wanted."""
    cv2.imwrite(str(tmp_path / "large.png"), np.zeros((20, 2600, 3), np.uint8))
    with ImageSource(tmp_path / "large.png") as source:
        info = source.open()
    assert (info.width, info.height) == (2600, 20)


def test_a_reader_that_refuses_is_heard() -> None:
    def read(path: Path) -> Image:
        raise UsageError("no such photo")

    with pytest.raises(UsageError, match="no such photo"):
        ImageSource("me.png", read).open()


def test_the_photo_reader_is_used_by_default() -> None:
    with ImageSource(Path(__file__).parents[1] / "data" / "p001_studio.jpg") as source:
        info = source.open()
        frame = source.read(1.0)
    assert frame is not None and frame.image.shape == (info.height, info.width, 3) == (512, 512, 3)
    assert frame.image.flags.c_contiguous and frame.image.flags.writeable
