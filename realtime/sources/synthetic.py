"""A moving person from one photo: the camera of the demo, the benchmarks and whoever has none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.assets import PERSON
from realtime.buffers import ImagePool
from realtime.errors import UsageError
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.photo import load
from realtime.sources.sync import Managed, Stop
from realtime.types import Frame, Image
from realtime.vision.yuv import from_i420, to_i420

_PERIOD = 2.7
"""Seconds of one sway there and back: calm, but fast enough to show a lag."""
_CACHE_BYTES = 40_000_000
"""For the rendered pictures, kept as I420, half the size of BGR: 28 of 1280x720."""
_FEWEST = 16
"""Pictures kept, however large they are."""


def cover(image: Image, size: tuple[int, int]) -> Image:
    """The picture scaled and cropped about its centre to fill `size` = (width, height)."""
    height, width = image.shape[:2]
    scale = max(size[0] / width, size[1] / height)
    w, h = max(round(width * scale), size[0]), max(round(height * scale), size[1])
    if (w, h) != (width, height):
        image = np.asarray(cv2.resize(image, (w, h), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR))
    x, y = (w - size[0]) // 2, (h - size[1]) // 2
    return np.ascontiguousarray(image[y : y + size[1], x : x + size[0]])


class Sway:
    """A photo swayed along a smooth path and back: rendered once each step, then served from memory.

    Going back over the same path halves the pictures to keep. A warp costs 10 ms at 1280x720, an I420 picture turned into BGR 0.25 ms:
    the source shares its cores with what is measured. Where the memory for pictures ends the sway gets shorter, not faster.
    """

    def __init__(self, photo: Image, fps: float, seed: int) -> None:
        height, width = photo.shape[:2]
        self._photo = photo
        self._pool = ImagePool()
        room = max(_CACHE_BYTES // (width * height * 3 // 2), _FEWEST)
        wanted = max(round(fps * _PERIOD / 2), 2)
        self._last: int = min(wanted, room - 1)
        self._reach = self._last / wanted
        self._kept: list[NDArray[np.uint8] | None] = [None] * (self._last + 1)
        rng = np.random.default_rng(seed)
        self._signs = rng.choice((-1.0, 1.0), 3) if seed else np.ones(3)

    @property
    def period(self) -> int:
        """Frames after which the motion repeats."""
        return 2 * self._last

    def matrix(self, index: int) -> NDArray[np.float64]:
        """(2, 3) float64: where the photo lies in frame `index`. Roll within 8 degrees, scale 0.9 to 1.1, at most."""
        height, width = self._photo.shape[:2]
        across = self._reach * math.cos(2 * math.pi * index / self.period)
        up = self._reach * math.cos(4 * math.pi * index / self.period)
        near, tilt, side = self._signs
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), 8 * tilt * across, 1 + 0.1 * near * up)
        matrix[:, 2] += 0.07 * width * side * across, 0.03 * height * up
        return np.asarray(matrix, np.float64)

    def prepare(self, index: int) -> None:
        """Render frame `index` unless that was done already."""
        self._planes(index)

    def picture(self, index: int) -> Image:
        """Frame `index` in an array that nobody else holds."""
        image = self._pool.take(*self._photo.shape[:2])
        from_i420(self._planes(index), image)
        return image

    def _planes(self, index: int) -> NDArray[np.uint8]:
        step = index % self.period
        place = min(step, self.period - step)
        kept = self._kept[place]
        if kept is None:
            kept = self._kept[place] = self._render(place)
        return kept

    def _render(self, index: int) -> NDArray[np.uint8]:
        height, width = self._photo.shape[:2]
        moved = cv2.warpAffine(self._photo, self.matrix(index), (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        planes = np.empty((height * 3 // 2, width), np.uint8)
        to_i420(moved, planes)
        return planes


def bundled_person() -> Image:
    """The synthetic person that comes with the package, 1280x720 BGR."""
    return np.asarray(cv2.imdecode(np.frombuffer(PERSON.read_bytes(), np.uint8), cv2.IMREAD_COLOR))


class SyntheticSource(Managed):
    """A photo that sways like a person before a camera.

    Live: frames fall due at exactly `fps` by absolute deadlines; a reader that comes late finds the newest one that is due, as with a
    camera, and `seq` counts those it missed. Not live: every frame in order, as fast as it is read, with media_time = seq / fps.
    `frames` limits their number; `seed` varies the motion; `photo` None means the bundled person.
    """

    def __init__(
        self,
        photo: Path | str | None = None,
        size: tuple[int, int] = (1280, 720),
        fps: float = 30.0,
        frames: int | None = None,
        live: bool = True,
        seed: int = 0,
        read_photo: Callable[[Path], Image] = load,
    ) -> None:
        if fps <= 0 or size[0] < 16 or size[1] < 16 or size[0] % 2 or size[1] % 2:
            request = f"{size[0]}x{size[1]} at {fps:g}"
            raise UsageError(f"the synthetic camera needs an even size of at least 16x16 and a rate above 0, not {request}")
        self._photo = None if photo is None else Path(photo)
        self._size, self._fps, self._frames, self._live, self._seed = size, fps, frames, live, seed
        self._load = read_photo
        self._stop = Stop()
        self._sway: Sway | None = None
        self._next = 0
        self._start: float | None = None

    def open(self) -> SourceInfo:
        picture = bundled_person() if self._photo is None else self._load(self._photo)
        self._sway = Sway(cover(picture, self._size), self._fps, self._seed)
        self._sway.prepare(0)
        name = "synthetic" if self._photo is None else f"synthetic:{self._photo.name}"
        return SourceInfo(name, *self._size, fps=self._fps, live=self._live)

    def read(self, timeout: float) -> Frame | None:
        if self._sway is None:
            raise RuntimeError("read before open")
        if self._stop:
            raise EndOfStream
        if self._live and not self._due(self._sway, timeout):
            return None
        if self._frames is not None and self._next >= self._frames:
            raise EndOfStream
        seq, captured_at = self._next, time.perf_counter()
        image = self._sway.picture(seq)
        self._next += 1
        return Frame(seq, captured_at, image, None if self._live else seq / self._fps)

    def close(self) -> None:
        self._stop.set()

    def _due(self, sway: Sway, timeout: float) -> bool:
        """Wait for the next frame's moment; False when it lies beyond the time limit. Raises EndOfStream when closed."""
        now = time.perf_counter()
        if self._start is None:
            self._start = now
        self._next = max(self._next, int((now - self._start) * self._fps))
        # Rendering, when it is needed at all, is done before the moment comes: it must not make the frame late.
        sway.prepare(self._next)
        moment = self._start + self._next / self._fps
        if self._stop.wait_until(min(moment, now + timeout)):
            raise EndOfStream
        return moment <= time.perf_counter()
