"""A camera, through OpenCV. A thread drains it, so that a frame is never older than the camera makes it."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from realtime.buffers import ImagePool
from realtime.errors import SourceError
from realtime.sources.base import SourceInfo
from realtime.sources.camera_advice import difference, low_rate, refusal
from realtime.sources.cameras import CameraEntry, find_camera, list_cameras
from realtime.sources.fit import letterbox
from realtime.sources.sync import Drain, Managed, Newest, Stop
from realtime.sources.told import Told
from realtime.types import Frame, Image

log = logging.getLogger(__name__)

_BUFFERS = 2
"""Frames the driver may hold. More only grow old; with one the driver has none to fill while we decode, which halves the rate."""
_FIRST_FRAME = 6.0
"""Seconds a camera may take to its first frame; some need three to set their exposure."""
_GONE_AFTER = 1.0
_GONE_GRABS = 10
_BACK_OFF = (0.25, 1.0)
"""Seconds between attempts to reopen a camera that vanished: the first, and the longest, for which a meeting may have to wait."""
_JOIN = 0.5
"""Seconds that closing waits for the thread: Ctrl-C is to be over within one, and a driver may not answer for ten."""


class Capture(Protocol):
    """What is used of cv2.VideoCapture."""

    def isOpened(self) -> bool: ...  # noqa: N802 - OpenCV's name
    def set(self, prop: int, value: float, /) -> bool: ...
    def get(self, prop: int, /) -> float: ...
    def grab(self) -> bool: ...
    def retrieve(self, image: Any = None, /) -> tuple[bool, Any]: ...
    def release(self) -> None: ...


def _video_capture(where: str | int, backend: int) -> Capture:
    capture: Capture = cv2.VideoCapture(where, backend)
    return capture


class CameraSource(Managed):
    """The newest frame of a camera; `seq` counts what the camera gave, so a gap is a frame that nobody took.

    Asks for MJPG first (raw YUYV at 720p does not fit through USB 2 at more than 10 fps), then size, rate and a short queue; what the
    camera does instead is in `SourceInfo.note`. A camera that vanishes is reopened for ever; `read` gives None meanwhile.
    """

    def __init__(
        self,
        camera: CameraEntry | str | int = 0,
        size: tuple[int, int] = (1280, 720),
        fps: float = 30.0,
        *,
        open_capture: Callable[[str | int, int], Capture] = _video_capture,
        cameras: Callable[[], list[CameraEntry]] = list_cameras,
    ) -> None:
        """`camera`: an entry, or an index, path, name or part of a name to be looked up by `open`."""
        self._wanted = camera
        self._request = ("MJPG", *size, fps)
        self._open_capture = open_capture
        self._cameras = cameras
        self._entry: CameraEntry | None = None
        self._capture: Capture | None = None
        self._drain: Drain | None = None
        self._stop = Stop()
        self._newest: Newest[Frame] = Newest()
        self._pool = ImagePool()
        self._size = (0, 0)
        self._fourcc, self._fps = "", fps
        self._seq = 0
        self._times: deque[float] = deque(maxlen=60)
        self._say = Told(log)

    @property
    def measured_fps(self) -> float:
        """Frames a second over the last 60 grabs; 0 before the second."""
        times = list(self._times)
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 and times[-1] > times[0] else 0.0

    def open(self) -> SourceInfo:
        """Raises SourceError when the camera is busy, denied, absent or gives no picture; UsageError for a name that fits none."""
        entry = self._wanted
        if not isinstance(entry, CameraEntry):
            entry = find_camera(str(entry), self._cameras())
        self._entry = entry
        # Here and not in the thread: macOS asks for permission only from the main one.
        self._capture = self._connect(entry)
        self._drain = Drain("camera", self._run)
        try:
            return self._described(entry, self._first_frame(entry))
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float) -> Frame | None:
        return self._newest.take(timeout)

    def close(self) -> None:
        self._stop.set()
        self._newest.close()
        if self._drain is not None and not self._drain.join(_JOIN):
            self._say("the camera's driver does not answer: its thread was left behind and ends with the program")

    def _first_frame(self, entry: CameraEntry) -> Frame:
        frame = self._newest.take(_FIRST_FRAME)
        if frame is None:
            raise SourceError(f"camera {entry} was opened but gives no picture: check its cover and switch, or plug it in again")
        # Put back for the first `read`, unless a newer one came in the meantime, which is even better.
        self._newest.put_if_empty(frame)
        return frame

    def _described(self, entry: CameraEntry, frame: Frame) -> SourceInfo:
        height, width = frame.image.shape[:2]
        note = difference(entry, (self._fourcc, width, height, self._fps), self._request)
        return SourceInfo(entry.name, width, height, fps=self._fps, live=True, note=note)

    def _connect(self, entry: CameraEntry) -> Capture:
        """Raises SourceError that says why."""
        where: str | int = entry.path if entry.path.startswith("/dev/") else entry.index
        capture = self._open_capture(where, entry.backend)
        if not capture.isOpened():
            capture.release()
            raise SourceError(refusal(entry))
        fourcc, width, height, fps = self._request
        capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*fourcc))
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, height)
        capture.set(cv2.CAP_PROP_FPS, fps)
        capture.set(cv2.CAP_PROP_BUFFERSIZE, _BUFFERS)
        rate = float(capture.get(cv2.CAP_PROP_FPS))
        self._fourcc, self._fps = _letters(capture.get(cv2.CAP_PROP_FOURCC)), rate if 1 <= rate <= 1000 else fps
        return capture

    def _run(self) -> None:
        """The thread: grab for ever, and reopen what vanished. It alone uses the device and releases it."""
        try:
            while not self._stop:
                self._grab_until_gone()
                self._release()
                self._reopen()
        except Exception as error:
            # Re-raised by the next `read`, with its traceback.
            self._newest.fail(error)
        finally:
            self._release()

    def _grab_until_gone(self) -> None:
        failures, last_good = 0, time.perf_counter()
        while not self._stop and self._capture is not None:
            if self._grab(self._capture):
                failures, last_good = 0, time.perf_counter()
                continue
            failures += 1
            if failures >= _GONE_GRABS or (failures > 1 and time.perf_counter() - last_good > _GONE_AFTER):
                return
            self._stop.wait(0.03)

    def _grab(self, capture: Capture) -> bool:
        """One frame into the slot; False when the camera gave none."""
        with suppress(cv2.error):
            if not capture.grab():
                return False
            captured_at = time.perf_counter()
            ok, image = capture.retrieve(self._buffer())
            picture = _as_bgr(image) if ok else None
            if picture is None:
                return False
            self._seq += 1
            self._times.append(captured_at)
            self._newest.put(Frame(self._seq - 1, captured_at, self._announced(picture)))
            if self._seq == 90:
                self._judge_rate()
            return True
        return False

    def _buffer(self) -> Image | None:
        return self._pool.take(self._size[1], self._size[0]) if self._size[0] else None

    def _announced(self, image: Image) -> Image:
        """The picture in the size that was announced: sinks cannot change theirs in mid-stream."""
        size = (image.shape[1], image.shape[0])
        if self._size == (0, 0):
            self._size = size
        if size == self._size:
            return image
        self._say(f"the camera changed its frame size to {size[0]}x{size[1]}: it is fitted into {self._size[0]}x{self._size[1]}")
        return letterbox(image, self._size)

    def _reopen(self) -> None:
        """Wait for the camera to come back, for as long as it takes."""
        if self._stop or self._entry is None:
            return
        log.warning("camera %s gives no more frames: waiting for it to come back", self._entry)
        self._times.clear()
        delay = _BACK_OFF[0]
        while not self._stop.wait(delay):
            delay = min(2 * delay, _BACK_OFF[1])
            entry = self._present(self._entry)
            if entry is None:
                continue
            with suppress(SourceError, cv2.error):
                self._capture = self._connect(entry)
                self._entry = entry
                log.warning("camera %s is back", entry)
                return

    def _present(self, entry: CameraEntry) -> CameraEntry | None:
        """The camera as it is called now: its number may be another one after it was plugged in again."""
        if entry.path.startswith("/dev/") and Path(entry.path).exists():
            return entry
        found = self._cameras()
        same = [other for other in found if (other.name, other.path) == (entry.name, entry.path)]
        return next(iter(same or [other for other in found if other.name == entry.name]), None)

    def _judge_rate(self) -> None:
        if self.measured_fps < 0.7 * self._fps:
            self._say(low_rate(self.measured_fps, self._fps))

    def _release(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            with suppress(cv2.error):
                capture.release()


def _as_bgr(image: Any) -> Image | None:
    """What a driver gave, as (h, w, 3) BGR: some switch their pixel format in mid-stream. None when it is no picture."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim not in (2, 3) or image.size == 0:
        return None
    channels = 1 if image.ndim == 2 else image.shape[2]
    if channels == 3:
        return image
    conversion = {1: cv2.COLOR_GRAY2BGR, 2: cv2.COLOR_YUV2BGR_YUYV, 4: cv2.COLOR_BGRA2BGR}.get(channels)
    return None if conversion is None else np.asarray(cv2.cvtColor(image, conversion))


def _letters(value: float) -> str:
    """The four letters, or an empty string when the backend does not tell."""
    code = int(value)
    text = "".join(chr(code >> shift & 0xFF) for shift in (0, 8, 16, 24)) if code > 0 else ""
    return text.strip() if text.isprintable() and text.isascii() else ""
