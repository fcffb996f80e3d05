"""Mirroring, turning and fitting keep what they should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import UsageError
from realtime.sources.base import EndOfStream
from realtime.sources.fake import FakeSource, frames
from realtime.sources.fit import even, fitted, letterbox
from realtime.sources.transform import Transformed
from realtime.types import Frame, Image


def picture(width: int, height: int) -> Image:
    return np.random.default_rng(0).integers(0, 255, (height, width, 3), np.uint8)


def through(image: Image, mirror: bool = False, rotate: int = 0, size: tuple[int, int] | None = None) -> Image:
    with Transformed(FakeSource([image], (image.shape[1], image.shape[0])), mirror, rotate, size) as source:
        info = source.open()
        frame = source.read(1.0)
    assert frame is not None
    assert frame.image.shape == (info.height, info.width, 3)
    assert frame.image.flags.c_contiguous
    return frame.image


def test_nothing_to_do_is_no_copy() -> None:
    image = picture(64, 48)
    assert through(image) is image


def test_mirror_and_turns() -> None:
    image = picture(64, 48)
    np.testing.assert_array_equal(through(image, mirror=True), image[:, ::-1])
    np.testing.assert_array_equal(through(image, rotate=180), image[::-1, ::-1])
    np.testing.assert_array_equal(through(image, rotate=90), np.rot90(image, -1))
    np.testing.assert_array_equal(through(image, rotate=270), np.rot90(image, 1))
    np.testing.assert_array_equal(through(image, mirror=True, rotate=90), np.rot90(image, -1)[:, ::-1])


def test_the_mirror_can_be_toggled_between_frames() -> None:
    image = picture(64, 48)
    with Transformed(FakeSource([image, image, image]), mirror=False) as source:
        source.open()
        first = source.read(1.0)
        source.set_mirror(True)
        second = source.read(1.0)
        source.set_mirror(False)
        third = source.read(1.0)
    assert first is not None and second is not None and third is not None
    np.testing.assert_array_equal(second.image, image[:, ::-1])
    assert first.image is image and third.image is image


CHANGES = [
    {"mirror": True},
    {"rotate": 90},
    {"rotate": 180, "mirror": True},
    {"size": (32, 32)},
    {"size": (40, 90), "rotate": 270, "mirror": True},
]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_frames_do_not_share_a_buffer(change: dict[str, Any]) -> None:
    with Transformed(FakeSource(frames(5)), **change) as source:
        source.open()
        kept = [source.read(1.0) for _ in range(5)]
    assert [int(frame.image[frame.image.shape[0] // 2, 15, 0]) for frame in kept if frame is not None] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("change", CHANGES)
def test_buffers_that_nobody_holds_are_used_again(change: dict[str, Any]) -> None:
    addresses = set()
    with Transformed(FakeSource(frames(20)), **change) as source:
        source.open()
        while (frame := _next(source)) is not None:
            addresses.add(frame.image.ctypes.data)
    assert len(addresses) <= 2


def _next(source: Transformed) -> Frame | None:
    try:
        return source.read(1.0)
    except EndOfStream:
        return None


def test_odd_sizes_become_even() -> None:
    image = picture(63, 47)
    np.testing.assert_array_equal(through(image), image[:46, :62])
    assert through(image, rotate=90).shape == (62, 46, 3)


def test_times_and_numbers_pass_through() -> None:
    with Transformed(FakeSource(frames(2), fps=20, live=False), mirror=True) as source:
        source.open()
        source.read(1.0)
        frame = source.read(1.0)
    assert frame is not None and (frame.seq, frame.media_time) == (1, 0.05)


def test_a_silent_source_stays_silent() -> None:
    with Transformed(FakeSource([None]), mirror=True) as source:
        source.open()
        assert source.read(0.1) is None


def test_impossible_requests() -> None:
    with pytest.raises(UsageError, match="45"):
        Transformed(FakeSource([]), rotate=45)
    with pytest.raises(UsageError, match="33x20"):
        Transformed(FakeSource([]), size=(33, 20))


@given(st.integers(2, 400), st.integers(2, 400), st.integers(2, 400), st.integers(2, 400))
def test_a_fitted_picture_lies_inside_touches_two_sides_and_keeps_its_shape(w: int, h: int, into_w: int, into_h: int) -> None:
    x, y, width, height = fitted(w, h, (into_w, into_h))
    assert x >= 0 and y >= 0 and x + width <= into_w and y + height <= into_h
    assert width == into_w or height == into_h
    scale = min(into_w / w, into_h / h)
    assert abs(width - w * scale) <= 1 and abs(height - h * scale) <= 1


def test_letterbox_bars_are_black() -> None:
    canvas = letterbox(np.full((40, 40, 3), 200, np.uint8), (120, 60))
    assert (canvas[:, :30] == 0).all() and (canvas[:, 90:] == 0).all() and (canvas[:, 30:90] == 200).all()


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_even(width: int, height: int) -> None:
    w, h = even(width, height)
    assert w % 2 == 0 and h % 2 == 0 and w >= 2 and h >= 2 and abs(w - width) <= 1 and abs(h - height) <= 1


def test_a_lost_column_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", "realtime"), Transformed(FakeSource([], (65, 48))) as source:
        assert (source.open().width, source.open().height) == (64, 48)
    assert "65x48 loses its last column or row" in caplog.text
