"""The synthetic camera keeps its rate, repeats itself, and gives buffers of their own."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import UsageError
from realtime.sources.base import EndOfStream
from realtime.sources.synthetic import Sway, SyntheticSource, bundled_person, cover
from realtime.types import Frame, Image

SIZE = (160, 90)


def read_all(source: SyntheticSource) -> list[Frame]:
    frames = []
    while True:
        try:
            frame = source.read(1.0)
        except EndOfStream:
            return frames
        if frame is not None:
            frames.append(frame)


def test_not_live_gives_every_frame_at_its_time() -> None:
    with SyntheticSource(size=SIZE, fps=50, frames=7, live=False) as source:
        info = source.open()
        frames = read_all(source)
    assert (info.width, info.height, info.fps, info.live) == (*SIZE, 50, False)
    assert [frame.seq for frame in frames] == list(range(7))
    assert [frame.media_time for frame in frames] == pytest.approx([k / 50 for k in range(7)])
    assert all(frame.image.shape == (90, 160, 3) and frame.image.flags.writeable for frame in frames)


def test_live_frames_are_never_early_and_do_not_drift() -> None:
    with SyntheticSource(size=SIZE, fps=100, frames=30) as source:
        source.open()
        start = time.perf_counter()
        frames = read_all(source)
    assert all(frame.captured_at >= start + frame.seq / 100 for frame in frames)
    assert all(later.seq > sooner.seq for sooner, later in pairwise(frames))
    assert all(frame.media_time is None for frame in frames)


def test_a_late_reader_finds_the_newest_frame() -> None:
    with SyntheticSource(size=SIZE, fps=200) as source:
        source.open()
        first = source.read(1.0)
        time.sleep(0.1)
        second = source.read(1.0)
    assert first is not None and second is not None
    assert second.seq - first.seq >= 19


def test_none_when_the_time_is_over_first() -> None:
    with SyntheticSource(size=SIZE, fps=0.5) as source:
        source.open()
        assert source.read(1.0) is not None
        assert source.read(0.01) is None


def test_close_ends_a_waiting_read() -> None:
    source = SyntheticSource(size=SIZE, fps=0.01)
    source.open()
    source.read(1.0)
    threading.Timer(0.05, source.close).start()
    with pytest.raises(EndOfStream):
        source.read(60.0)


def test_buffers_are_not_shared() -> None:
    with SyntheticSource(size=SIZE, frames=200, live=False) as source:
        source.open()
        kept = source.read(1.0)
        assert kept is not None
        before = kept.image.copy()
        for frame in iter(lambda: source.read(1.0), None):
            frame.image[:] = 7
            if frame.seq == 100:
                break
    np.testing.assert_array_equal(kept.image, before)


def test_the_motion_repeats_and_writing_into_a_frame_does_not_spoil_it() -> None:
    sway = Sway(cover(bundled_person(), SIZE), fps=10, seed=0)
    first = sway.picture(3)
    before = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(sway.picture(3 + sway.period), before)
    np.testing.assert_array_equal(sway.picture(sway.period - 3), before)
    assert np.abs(sway.picture(4).astype(int) - before).mean() > 0.5


def test_little_memory_makes_the_sway_shorter_not_faster() -> None:
    small, large = (Sway(np.zeros((height, width, 3), np.uint8), fps=30, seed=0) for width, height in ((320, 180), (1920, 1080)))
    assert large.period < small.period
    assert (large.period // 2 + 1) * 1920 * 1080 * 3 // 2 < 50_000_000
    fastest = [max(np.abs(np.diff([sway.matrix(k)[0, 1] for k in range(sway.period)]))) for sway in (small, large)]
    assert 0.8 * fastest[0] < fastest[1] < 1.1 * fastest[0]


@given(st.integers(0, 1000), st.integers(0, 5))
def test_every_position_is_a_similarity_within_its_bounds(index: int, seed: int) -> None:
    sway = Sway(np.zeros((90, 160, 3), np.uint8), fps=30, seed=seed)
    matrix = sway.matrix(index)
    scale = np.hypot(matrix[0, 0], matrix[1, 0])
    assert 0.899 <= scale <= 1.101
    assert abs(np.degrees(np.arctan2(matrix[0, 1], matrix[0, 0]))) <= 8.001
    np.testing.assert_allclose(matrix[:, :2] @ matrix[:, :2].T, np.eye(2) * scale**2, atol=1e-9)
    centre = matrix @ (80, 45, 1)
    assert abs(centre[0] - 80) <= 0.0701 * 160 and abs(centre[1] - 45) <= 0.0301 * 90


def test_a_photo_of_another_shape_fills_the_frame(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "p.png"), np.full((300, 100, 3), 120, np.uint8))

    def read(path: Path) -> Image:
        return np.asarray(cv2.imread(str(path)), np.uint8)

    with SyntheticSource(tmp_path / "p.png", SIZE, frames=2, live=False, read_photo=read) as source:
        assert source.open().name == "synthetic:p.png"
        frame = source.read(1.0)
    assert frame is not None
    np.testing.assert_allclose(frame.image, 120, atol=2)


@pytest.mark.parametrize(("size", "fps"), [((0, 90), 30), ((161, 90), 30), ((160, 90), 0)])
def test_impossible_requests(size: tuple[int, int], fps: float) -> None:
    with pytest.raises(UsageError):
        SyntheticSource(size=size, fps=fps)
