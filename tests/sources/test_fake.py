"""The fake plays its script."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from realtime.errors import SourceError
from realtime.sources.base import EndOfStream
from realtime.sources.fake import Block, FakeSource, frames


def test_frames_none_exceptions_and_the_end() -> None:
    image = np.zeros((48, 64, 3), np.uint8)
    source = FakeSource([image, None, SourceError("gone"), image])
    assert source.open().width == 64
    first = source.read(0.1)
    assert first is not None and first.image is image and first.seq == 0
    assert source.read(0.1) is None
    with pytest.raises(SourceError, match="gone"):
        source.read(0.1)
    last = source.read(0.1)
    assert last is not None and last.seq == 1
    with pytest.raises(EndOfStream):
        source.read(0.1)


def test_a_wait_longer_than_the_time_limit_gives_none_until_it_is_over() -> None:
    source = FakeSource([0.05, np.zeros((48, 64, 3), np.uint8)])
    source.open()
    assert source.read(0.01) is None
    frame = source.read(5.0)
    assert frame is not None


def test_frames_are_told_apart_by_their_level() -> None:
    source = FakeSource(frames(3))
    levels = [frame.image[0, 0, 0] for frame in (source.read(1.0) for _ in range(3)) if frame is not None]
    assert levels == [0, 1, 2]


@pytest.mark.parametrize("step", [Block.FOR_EVER, 3600.0])
def test_close_ends_what_would_last_for_ever(step: Block | float) -> None:
    source = FakeSource([step])
    source.open()
    threading.Timer(0.05, source.close).start()
    with pytest.raises(EndOfStream):
        source.read(3600.0)
    assert (source.opened, source.closed) == (1, 1)


def test_an_open_that_fails() -> None:
    with pytest.raises(SourceError, match="busy"):
        FakeSource([], open_error=SourceError("busy")).open()
