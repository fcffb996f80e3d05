"""The camera source over a scripted cv2.VideoCapture: what it asks for, what it says, and how it outlives a camera that vanishes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import pytest

from realtime.errors import SourceError, UsageError
from realtime.sources.base import EndOfStream
from realtime.sources.camera import CameraSource
from realtime.sources.cameras import CameraEntry
from realtime.types import Frame

ENTRY = CameraEntry(3, "Studio Cam", "", cv2.CAP_ANY)
WAIT = 20.0


class FakeCapture:
    """A camera with a mind of its own: it obeys only requests in `obeys`, and gives `script`'s images, None meaning a failed grab."""

    def __init__(self, script: Iterator[Any], opened: bool = True, obeys: bool = True, fourcc: str = "YUYV", fps: float = 10.0) -> None:
        self._script = script
        self._opened = opened
        self._obeys = obeys
        self._image: Any = None
        self.asked: list[int] = []
        self.values: dict[int, float] = {cv2.CAP_PROP_FOURCC: cv2.VideoWriter.fourcc(*fourcc), cv2.CAP_PROP_FPS: fps}
        self.grabbed = self.released = 0

    def isOpened(self) -> bool:  # noqa: N802
        return self._opened

    def set(self, prop: int, value: float, /) -> bool:
        self.asked.append(prop)
        if self._obeys:
            self.values[prop] = value
        return self._obeys

    def get(self, prop: int, /) -> float:
        return self.values.get(prop, 0.0)

    def grab(self) -> bool:
        self._image = next(self._script, None)
        self.grabbed += 1
        time.sleep(0.002)
        return self._image is not None

    def retrieve(self, image: Any = None, /) -> tuple[bool, Any]:
        if image is None or image.shape != self._image.shape:
            return True, self._image.copy()
        image[:] = self._image
        return True, image

    def release(self) -> None:
        self.released += 1


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + WAIT
    while not condition():
        assert time.perf_counter() < deadline, "it never happened"
        time.sleep(0.002)


def pictures(size: tuple[int, int] = (64, 48)) -> Iterator[Any]:
    level = 0
    while True:
        yield np.full((size[1], size[0], 3), level % 256, np.uint8)
        level += 1


def source_of(*captures: FakeCapture, present: Callable[[], list[CameraEntry]] | None = None, **request: Any) -> CameraSource:
    """A source whose camera opens as these captures, one after the other."""
    queue = list(captures)
    return CameraSource(ENTRY, open_capture=lambda where, backend: queue.pop(0), cameras=present or (lambda: [ENTRY]), **request)


def first(source: CameraSource) -> Frame:
    frame = source.read(WAIT)
    assert frame is not None
    return frame


def test_mjpg_is_asked_for_first_then_size_and_rate() -> None:
    capture = FakeCapture(pictures())
    with source_of(capture, size=(64, 48), fps=30) as source:
        info = source.open()
        first(source)
    assert capture.asked[:4] == [cv2.CAP_PROP_FOURCC, cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FPS]
    assert capture.values[cv2.CAP_PROP_FOURCC] == cv2.VideoWriter.fourcc(*"MJPG")
    assert (info.name, info.width, info.height, info.fps, info.live, info.note) == ("Studio Cam", 64, 48, 30, True, "")
    assert capture.released == 1


def test_what_the_camera_does_instead_is_said() -> None:
    with source_of(FakeCapture(pictures((64, 48)), obeys=False), size=(1280, 720), fps=30) as source:
        info = source.open()
    assert (info.width, info.height, info.fps) == (64, 48, 10)
    assert "YUYV 64x48 at 10 fps, not MJPG 1280x720 at 30 fps" in info.note
    assert "USB 3" in info.note


def test_the_newest_frame_wins_and_each_has_its_own_buffer() -> None:
    capture = FakeCapture(pictures())
    with source_of(capture, size=(64, 48)) as source:
        source.open()
        kept = first(source)
        level = kept.image[0, 0, 0]
        wait_for(lambda: capture.grabbed > kept.seq + 5)
        later = first(source)
        assert later.seq - kept.seq > 3
        assert later.image[0, 0, 0] == later.seq % 256
        assert (kept.image == level).all()
        assert source.measured_fps > 0


def test_a_frame_of_another_size_is_fitted(caplog: pytest.LogCaptureFixture) -> None:
    def script() -> Iterator[Any]:
        yield from [np.full((48, 64, 3), 100, np.uint8)] * 3
        while True:
            yield np.full((60, 60, 3), 100, np.uint8)

    with source_of(FakeCapture(script()), size=(64, 48)) as source, caplog.at_level(logging.WARNING):
        source.open()
        deadline = time.perf_counter() + WAIT
        while first(source).image.min() > 0:
            assert time.perf_counter() < deadline
        assert first(source).image.shape == (48, 64, 3)
    assert caplog.text.count("changed its frame size to 60x60") == 1


def test_a_camera_that_vanishes_is_taken_up_again() -> None:
    def short() -> Iterator[Any]:
        yield from [np.full((48, 64, 3), 1, np.uint8)] * 3

    gone, refused, back = FakeCapture(short()), FakeCapture(iter(()), opened=False), FakeCapture(pictures())
    with source_of(gone, refused, back, size=(64, 48)) as source:
        source.open()
        seen = [first(source).seq]
        silent = source.read(0.3)
        deadline = time.perf_counter() + WAIT
        while len(seen) < 6 and time.perf_counter() < deadline:
            frame = source.read(0.2)
            seen += [] if frame is None else [frame.seq]
    assert silent is None or silent.seq < 3
    assert seen == sorted(set(seen)) and len(seen) == 6
    assert (gone.released, refused.released, back.released) == (1, 1, 1)


def test_a_camera_that_comes_back_under_another_number_is_found_by_name() -> None:
    tries: list[str | int] = []
    captures = [FakeCapture(iter([np.zeros((48, 64, 3), np.uint8)])), FakeCapture(pictures())]

    def open_capture(where: str | int, backend: int) -> FakeCapture:
        tries.append(where)
        return captures.pop(0)

    moved = CameraEntry(5, ENTRY.name, "usb-5", cv2.CAP_ANY)
    with CameraSource(ENTRY, (64, 48), open_capture=open_capture, cameras=lambda: [moved]) as source:
        source.open()
        first(source)
        assert first(source).seq >= 1
    assert tries == [3, 5]


def test_close_ends_a_waiting_read_while_the_camera_is_gone() -> None:
    source = source_of(FakeCapture(iter([np.zeros((48, 64, 3), np.uint8)])), present=list)
    source.open()
    first(source)
    threading.Timer(0.05, source.close).start()
    with pytest.raises(EndOfStream):
        source.read(3600.0)


def test_a_hanging_driver_does_not_hang_close() -> None:
    forever = threading.Event()

    class Hanging(FakeCapture):
        def grab(self) -> bool:
            if self._image is not None:
                forever.wait(60)
            return super().grab()

    source = source_of(Hanging(pictures()))
    source.open()
    first(source)
    source.close()
    forever.set()
    with pytest.raises(EndOfStream):
        source.read(1.0)


def test_a_camera_that_does_not_open() -> None:
    capture = FakeCapture(iter(()), opened=False)
    with pytest.raises(SourceError, match="Studio Cam"), source_of(capture) as source:
        source.open()
    assert capture.released == 1


def test_a_driver_that_raises_is_heard() -> None:
    class Raising(FakeCapture):
        def grab(self) -> bool:
            raise RuntimeError("driver bug")

    with pytest.raises(RuntimeError, match="driver bug"), source_of(Raising(pictures())) as source:
        source.open()


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="3 'Studio Cam'"):
        CameraSource("nobody", cameras=lambda: [ENTRY]).open()


@pytest.mark.parametrize("shape", [(48, 64), (48, 64, 1), (48, 64, 2), (48, 64, 4)])
def test_another_pixel_format_in_mid_stream_becomes_bgr(shape: tuple[int, ...]) -> None:
    odd = np.full(shape, 128, np.uint8)
    with source_of(FakeCapture(iter([next(pictures()), odd, *[odd] * 50])), size=(64, 48)) as source:
        source.open()
        for _ in range(5):
            image = first(source).image
            assert image.shape == (48, 64, 3) and image.dtype == np.uint8


def test_what_is_no_picture_counts_as_a_failed_grab() -> None:
    broken = [np.zeros((48, 64, 7), np.uint8), np.zeros((48, 64, 3), np.float32), np.zeros((0, 64, 3), np.uint8), np.zeros(9, np.uint8)]
    with source_of(FakeCapture(iter([next(pictures()), *broken, *(np.full((48, 64, 3), 200, np.uint8) for _ in range(100))]))) as source:
        source.open()
        while int(first(source).image[0, 0, 0]) != 200:
            pass
