"""A moment written into a picture, as blocks of black and white along its upper border: what a viewer's clock is compared with.

One row of 56 square blocks: 40 bits of microseconds, then 16 of CRC-CCITT over them. It survives 4:2:0, the watermark's single levels, JPEG
and a virtual camera; what was damaged is told by the check and not taken for a time.
"""

from __future__ import annotations

import binascii

import numpy as np
from numpy.typing import NDArray

from realtime.sources.base import Source, SourceInfo
from realtime.sources.sync import Managed
from realtime.types import Frame, Image

_TIME, _CHECK = 40, 16
_BLOCKS = _TIME + _CHECK
_ROUND = 1 << _TIME
"""Microseconds after which the stamps repeat: 12 days."""
_DARK, _LIGHT, _MIDDLE = 16, 235, 126
_ACROSS = 64
"""Blocks that would fill the picture's width."""


def side(width: int) -> int:
    """Of a block, in pixels of a picture of this width: even, for chroma has half the pixels."""
    return max(width // _ACROSS // 2 * 2, 4)


def paint(image: Image, seconds: float) -> None:
    """Write a moment into (height, width, 3) BGR, in place. Raises ValueError for a picture that is too narrow."""
    block = side(image.shape[1])
    if _BLOCKS * block > image.shape[1]:
        raise ValueError(f"expected a picture at least {_BLOCKS * 4} pixels wide, got {image.shape[1]}")
    row = np.where(np.repeat(_bits(round(seconds * 1e6) % _ROUND), block), _LIGHT, _DARK).astype(np.uint8)
    image[:block, : len(row)] = row[:, None]


def read(luma: NDArray[np.uint8]) -> int | None:
    """The stamp's microseconds from (at least the upper rows of) a luma plane; None when it is damaged or there is none."""
    block = side(luma.shape[1])
    if _BLOCKS * block > luma.shape[1]:
        return None
    inner = slice(block // 4, block - block // 4)
    means = luma[:block, : _BLOCKS * block].reshape(block, _BLOCKS, block)[inner, :, inner].mean((0, 2))
    packed = np.packbits(means > _MIDDLE).tobytes()
    time, check = packed[: _TIME // 8], int.from_bytes(packed[_TIME // 8 :])
    return int.from_bytes(time) if check == _check(time) else None


def age(luma: NDArray[np.uint8], now: float) -> float | None:
    """Seconds from the stamped moment to `now`, both of one clock."""
    stamped = read(luma)
    return None if stamped is None else ((round(now * 1e6) - stamped) % _ROUND) / 1e6


def _bits(microseconds: int) -> NDArray[np.uint8]:
    time = microseconds.to_bytes(_TIME // 8)
    return np.unpackbits(np.frombuffer(time + _check(time).to_bytes(_CHECK // 8), np.uint8))


def _check(time: bytes) -> int:
    return binascii.crc_hqx(time, 0xFFFF)


class Stamped(Managed):
    """A source whose pictures carry the moment of their capture; implements `Source`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def open(self) -> SourceInfo:
        return self._source.open()

    def read(self, timeout: float) -> Frame | None:
        frame = self._source.read(timeout)
        if frame is not None:
            paint(frame.image, frame.captured_at)
        return frame

    def close(self) -> None:
        self._source.close()
