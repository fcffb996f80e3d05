"""A watch on the sink: it judges every picture that comes out, in both forms, and knows nothing of what happens inside."""

from __future__ import annotations

import threading
from collections.abc import Callable

import cv2
import numpy as np

from realtime.sinks.lifecycle import Closing
from realtime.types import Box, Image, OutputFrame, State, StreamFormat

GREEN, YELLOW = (0, 255, 0), (0, 255, 255)
CHECK = 4
"""Pixels: large enough to survive the halved colour planes of I420."""


def paint(image: Image, box: Box, fields: int | None = None) -> None:
    """The mark of a raw face: checks of two colours that no room, swap, cover or placeholder has. With `fields`, so many across, which
    move along with the face as its colours do; else of `CHECK` pixels."""
    height, width = image.shape[:2]
    x0, x1 = (min(max(round(value), 0), width) for value in (box.x0, box.x1))
    y0, y1 = (min(max(round(value), 0), height) for value in (box.y0, box.y1))
    rows, columns = np.mgrid[y0:y1, x0:x1]
    if fields is None:
        odd = ((rows // CHECK + columns // CHECK) % 2).astype(bool)
    else:
        odd = (((rows - box.y0) * fields // box.height + (columns - box.x0) * fields // box.width) % 2).astype(bool)
    image[rows[odd], columns[odd]] = GREEN
    image[rows[~odd], columns[~odd]] = YELLOW


def shows_mark(image: Image) -> bool:
    """Whether any pixel is nearly of one of the mark's colours."""
    return bool(cv2.inRange(image, (0, 141, 0), (109, 255, 255)).any())


def shows_checks(image: Image) -> bool:
    """Whether both of the mark's colours are there. A cover has one colour, the mean of what is around it, which may be greenish where that
    is a marked face."""
    return all(cv2.inRange(image, low, high).any() for low, high in (((0, 141, 0), (109, 255, 100)), ((0, 141, 160), (109, 255, 255))))


class Watch(Closing):
    """A sink that keeps the verdicts: the numbers and states of the frames that showed the mark."""

    name = "watch"
    reads_image = True
    waits = True

    def __init__(
        self,
        *,
        steady: bool = False,
        on_write: Callable[[OutputFrame], None] = lambda frame: None,
        shows: Callable[[Image], bool] = shows_mark,
    ) -> None:
        self.steady = steady
        self._shows = shows
        self.count = 0
        self.leaks: list[tuple[int, State]] = []
        self.states: list[State] = []
        self._on_write = on_write
        self._lock = threading.Lock()

    def open(self, stream: StreamFormat) -> None:
        pass

    def write(self, frame: OutputFrame) -> None:
        with self._lock:
            self.count += 1
            self.states.append(frame.state)
            sent = np.asarray(cv2.cvtColor(frame.i420, cv2.COLOR_YUV2BGR_I420))
            if self._shows(frame.image) or self._shows(sent):
                self.leaks.append((frame.seq, frame.state))
        self._on_write(frame)

    def close(self) -> None:
        pass
