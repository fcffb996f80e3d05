"""Pictures: the last frame of a run that shows something, and the still that the user asks for."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import cv2
import numpy as np

from realtime.errors import SinkError, UsageError
from realtime.sinks.files import Seal, Stopped, Target, fill, free, probe
from realtime.sinks.lifecycle import Closing
from realtime.types import Image, OutputFrame, StreamFormat

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
JPEG_QUALITY = 95


class ImageSink(Closing):
    """Writes the newest frame to `path` when it is closed: of a still input, its only frame.

    The placeholder is no result: a frame that is nothing else does not count, and without another no file is written. Holds one copy of a
    frame. The format follows the suffix, one of IMAGE_SUFFIXES.
    """

    steady = waits = False
    reads_image = True

    def __init__(self, path: Path, seal: Seal | None = None, *, replace: bool = False) -> None:
        """`seal` finishes the file when a frame of the run was swapped. `replace`: an older file of this name may go. Raises UsageError
        for a suffix that is no picture's.
        """
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            raise UsageError(f"cannot write {path} as a picture: use one of {' '.join(IMAGE_SUFFIXES)}")
        self.path = path
        self._seal = seal
        self._replace = replace
        self._target = Target(path, replace=replace)
        self._newest: Image | None = None
        self._written = self._swapped = False

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def remains(self) -> str:
        return str(self._target.part)

    def open(self, stream: StreamFormat) -> None:
        """Finds out now whether the file can be written, not at the end of the run."""
        probe(self.path, replace=self._replace)
        self._newest = np.zeros((stream.height, stream.width, 3), np.uint8)
        self._written = self._swapped = False

    def write(self, frame: OutputFrame) -> None:
        assert self._newest is not None
        if frame.card:
            return
        np.copyto(self._newest, frame.image)
        self._written = True
        self._swapped = self._swapped or frame.shows_swap

    def close(self) -> None:
        """Raises SinkError when the disk is full or the file could not be sealed."""
        newest, self._newest = self._newest, None
        if newest is not None and self._written:
            _write(self._target, newest, self._seal if self._swapped else None, self.headway.stopped)


def _write(target: Target, image: Image, seal: Seal | None, stopped: Stopped = lambda: False) -> None:
    """Encode by suffix and write atomically; any name works, also where OpenCV's own writer wants ASCII. Raises SinkError."""
    path = target.path
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if path.suffix.lower() in (".jpg", ".jpeg") else []
    try:
        done, data = cv2.imencode(path.suffix.lower(), image, options)
    except cv2.error as error:
        raise SinkError(f"cannot encode {path}: {error}") from error
    if not done:
        raise SinkError(f"cannot encode a picture of {image.shape[1]}x{image.shape[0]} as {path.suffix}; use .png")
    fill(target, data.tobytes(), seal, stopped)


def save_still(image: Image, folder: Path, seal: Seal | None = None) -> Path:
    """Save a picture under the time of day, never over another one; returns where. Raises SinkError."""
    path = free(folder / datetime.now().strftime("still-%Y%m%d-%H%M%S.png"))
    try:
        _write(Target(path), image, seal)
    except UsageError as error:  # the folder: no fault of the command line here
        raise SinkError(str(error)) from error
    return path
