"""Mirror, turn and resize what another source gives."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable

import cv2
import numpy as np

from realtime.buffers import ImagePool
from realtime.errors import UsageError
from realtime.sources.base import Source, SourceInfo
from realtime.sources.fit import even, letterbox, rotated
from realtime.sources.sync import Managed
from realtime.types import Frame, Image

log = logging.getLogger(__name__)


class Transformed(Managed):
    """Another source's frames, first turned clockwise by `rotate` degrees, then scaled to lie inside `size`, then mirrored, then enlarged.

    `size` = (width, height) in the output's direction, None to keep the source's. An odd last column or row is dropped: the output
    formats halve both. A frame that needs none of this passes untouched; otherwise it gets an array of its own.
    """

    def __init__(self, source: Source, mirror: bool = False, rotate: int = 0, size: tuple[int, int] | None = None) -> None:
        if rotate not in (0, 90, 180, 270):
            raise UsageError(f"a picture is turned by 0, 90, 180 or 270 degrees, not {rotate}")
        if size is not None and even(*size) != size:
            raise UsageError(f"a frame size must be even in both directions and at least 2x2, not {size[0]}x{size[1]}")
        self._source = source
        self._mirror = mirror
        self._rotate = rotate
        self._wanted = size
        self._size = size or (0, 0)
        self._turned, self._fitted, self._flipped = ImagePool(), ImagePool(), ImagePool()
        self._factor, self._enlarged = 1, ImagePool()
        self._enlarge: Callable[[Image, Image], object] = np.copyto

    @property
    def source(self) -> Source:
        """The source within."""
        return self._source

    @property
    def mirror(self) -> bool:
        return self._mirror

    def set_mirror(self, mirror: bool) -> None:
        """From the next frame on; may be called from any thread."""
        self._mirror = mirror

    def enlarge_by(self, factor: int, enlarge: Callable[[Image, Image], object]) -> None:
        """From the next `open` on, each frame of a file is last enlarged by `enlarge(image, out)`; live sources are left as they are."""
        self._factor, self._enlarge = factor, enlarge

    def begin(self, wait: float = 0.0) -> None:
        self._source.begin(wait)

    def open(self) -> SourceInfo:
        info = self._source.open()
        width, height = (info.height, info.width) if self._rotate in (90, 270) else (info.width, info.height)
        self._size = self._wanted or even(width, height)
        if self._wanted is None and self._size != (width, height):
            log.debug("%s: %dx%d loses its last column or row, which video cannot have: %dx%d", info.name, width, height, *self._size)
        if info.live:
            self._factor = 1
        return dataclasses.replace(info, width=self._size[0] * self._factor, height=self._size[1] * self._factor)

    def read(self, timeout: float) -> Frame | None:
        frame = self._source.read(timeout)
        if frame is None:
            return None
        image = self._apply(frame.image)
        return frame if image is frame.image else dataclasses.replace(frame, image=image)

    def close(self) -> None:
        self._source.close()

    def _apply(self, image: Image) -> Image:
        image = self._resized(self._upright(image))
        if self._mirror:
            image = cv2.flip(image, 1, dst=self._flipped.take(*image.shape[:2]))
        if self._factor == 1:
            return image
        out = self._enlarged.take(image.shape[0] * self._factor, image.shape[1] * self._factor)
        self._enlarge(image, out)
        return out

    def _upright(self, image: Image) -> Image:
        if self._rotate == 0:
            return image
        height, width = image.shape[:2]
        return rotated(image, self._rotate, self._turned.take(*((height, width) if self._rotate == 180 else (width, height))))

    def _resized(self, image: Image) -> Image:
        width, height = self._size
        if image.shape[:2] == (height, width):
            return image
        out = self._fitted.take(height, width)
        if even(image.shape[1], image.shape[0]) != self._size:
            return letterbox(image, self._size, out)
        np.copyto(out, image[:height, :width])
        return out
