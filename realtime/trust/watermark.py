"""An invisible mark in the luma of every frame that says: modified by AI.

A spread-spectrum mark: the picture is tiled with a fixed pattern of chips, each raised or lowered by one level of 255, or by two where the
picture is busy. A quarter of the chips is the same in every mark; the others repeat the coded payload some eleven times. The pattern is
the same for everyone: the mark informs, it proves nothing. It survives compression and scaling because chips are large (8 pixels in 720
lines) and the picture's own content averages out over all the tiles. `reading` finds it again. The method is that of Cox, Kilian,
Leighton and Shamoon, "Secure spread spectrum watermarking for multimedia" (1997), in the pixel domain.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.trust.payload import CODED_BITS, Payload, encode
from realtime.types import Image
from realtime.vision.shift import alike, shift

LINES = 720
"""Picture height that chips are defined at; they scale with it."""
CHIP = 8
"""Side of a chip in pixels of a picture of LINES lines."""
ROWS, COLUMNS = 32, 64
"""Chips of a tile."""
KEY = b"realtime-faceswap public mark 1"
STRENGTHS = (1, 2)
"""Levels of 255 that a chip is raised or lowered by, in plain pictures and in busy ones."""
_BUSY, _PLAIN = 0.40, 0.48
"""Share of quiet places below which a picture becomes busy, and above which it is plain again. Of 40 photographs, all those whose mark of
strength 1 was weak (z below 18) after JPEG of quality 50 have a share below 0.34; portraits before a wall have 0.6 to 0.9."""
_QUIET = 5
"""Levels of luma between places half a chip apart: at most that much is quiet."""
_ROW_STEP = 8
"""One line in so many is looked at for it: 10 microseconds at 1280x720."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where each bit lies in the tile. Flat indices count chips row by row."""

    signs: NDArray[np.int8]
    """(ROWS * COLUMNS,) of -1 and +1."""
    sync: NDArray[np.int64]
    """Flat indices of the chips that carry no data."""
    data: NDArray[np.int64]
    slots: NDArray[np.int64]
    """For each of `data`: which coded bit it carries."""


def spread(key: bytes = KEY) -> Spread:
    """The layout that belongs to a key. Drawn from SHAKE-256 and not from numpy's generators, so that it is the same for ever."""
    count = ROWS * COLUMNS
    stream = hashlib.shake_256(key).digest(5 * count)
    order = np.argsort(np.frombuffer(stream[: 4 * count], "<u4"), kind="stable")
    signs = (np.frombuffer(stream[4 * count :], np.uint8) & 1).astype(np.int8) * 2 - 1
    data = order[count // 4 :]
    return Spread(signs, order[: count // 4], data, np.arange(len(data)) % CODED_BITS)


def tile(payload: Payload, layout: Spread) -> NDArray[np.int8]:
    """(ROWS, COLUMNS) of -1 and +1."""
    chips = layout.signs.copy()
    chips[layout.data] *= encode(payload.to_int())[layout.slots]
    return chips.reshape(ROWS, COLUMNS)


class _Pattern(NamedTuple):
    """What is added and what is then taken away, for each row of a tile over the picture's width: (ROWS, width) uint8."""

    up: NDArray[np.uint8]
    down: NDArray[np.uint8]


class Marker:
    """Marks frames of one size, in place, saturating at black and white.

    `strength` is the levels of 255 that a chip is raised or lowered by; None chooses for each frame: 1, which cannot be seen (48 dB
    PSNR) and is read back from one frame after JPEG of quality 50 or x264 at CRF 23, or 2 (42 dB) where a busy picture would drown that.
    One pass of saturating byte arithmetic over the luma plane: less than 0.1 ms at 1280x720.
    """

    def __init__(
        self, width: int, height: int, strength: int | None = None, payload: Payload | None = None, layout: Spread | None = None
    ) -> None:
        if strength is not None and not 1 <= strength <= 16:
            raise ValueError(f"expected a strength of 1 to 16 levels, got {strength}")
        chips = tile(payload or Payload(), layout or spread())
        size = CHIP * height / LINES
        rows, columns = (((np.arange(count) + 0.5) / size).astype(np.int32) for count in (height, width))
        self._rows = rows % ROWS
        self._raised = np.take(chips, columns % COLUMNS, axis=1) > 0
        self._texture = Texture(width, height) if strength is None else None
        self._planes: dict[int, _Pattern] = {}
        self._images: dict[int, _Pattern] = {}
        self.strength = STRENGTHS[0] if strength is None else strength
        for each in STRENGTHS if strength is None else (strength,):  # now, not in the middle of a run
            self._planes[each] = self._pattern(each)

    def mark_i420(self, i420: NDArray[np.uint8]) -> None:
        """Mark the Y plane of (height * 3 / 2, width) uint8 planes."""
        luma = i420[: len(self._rows)]
        if self._texture is not None:
            self.strength = STRENGTHS[self._texture.busy(luma)]
        shift(luma, *self._planes[self.strength], self._rows)

    def mark_bgr(self, image: Image) -> None:
        """Give (height, width, 3) BGR the same mark as the planes that were marked last, by raising or lowering all three channels."""
        if self.strength not in self._images:
            whole = (plane[self._rows] for plane in self._planes[self.strength])
            self._images[self.strength] = _Pattern(*(cv2.merge([plane] * 3) for plane in whole))
        up, down = self._images[self.strength]
        cv2.add(image, up, dst=image)
        cv2.subtract(image, down, dst=image)

    def _pattern(self, strength: int) -> _Pattern:
        levels = np.uint8(strength), np.uint8(0)
        return _Pattern(np.where(self._raised, *levels), np.where(self._raised, *levels[::-1]))


class Texture:
    """Whether pictures of one size are busy, with hysteresis: a picture near the limit does not change its mind from frame to frame."""

    def __init__(self, width: int, height: int) -> None:
        self._reach = max(1, round(CHIP / 2 * height / LINES))
        self._places = -(-height // _ROW_STEP) * max(0, width - self._reach)
        self._busy = False

    def busy(self, luma: NDArray[np.uint8]) -> bool:
        """Take in the next (height, width) luma plane."""
        if not self._places:
            return False
        share = alike(luma, _ROW_STEP, self._reach, _QUIET) / self._places
        self._busy = share < (_PLAIN if self._busy else _BUSY)
        return self._busy
