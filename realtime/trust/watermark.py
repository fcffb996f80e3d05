"""An invisible mark in the luma of every frame that says: modified by AI.

A spread-spectrum mark: the picture is tiled with a fixed pattern of chips, each raised or lowered by one level of 255. A quarter of the
chips is the same in every mark and finds the tile's place in a cropped picture; the others repeat the coded payload some eleven times.
The pattern is the same for everyone: the mark informs, it proves nothing. It survives compression and scaling because chips are large
(8 pixels in 720 lines) and the picture's own content averages out over all the tiles. The method is that of Cox, Kilian, Leighton and
Shamoon, "Secure spread spectrum watermarking for multimedia" (1997), in the pixel domain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.trust.payload import CODED_BITS, Payload, decode, encode
from realtime.types import Floats, Image

LINES = 720
"""Picture height that chips are defined at; they scale with it."""
CHIP = 8
"""Side of a chip in pixels of a picture of LINES lines."""
ROWS, COLUMNS = 32, 64
"""Chips of a tile."""
KEY = b"realtime-faceswap public mark 1"
MIN_Z = 6.0
"""Standard deviations that the synchronisation peak must stand above the rest: with a right CRC, never reached by an unmarked picture."""


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


class Marker:
    """Marks frames of one size, in place, saturating at black and white.

    `strength` is the levels of 255 that a chip is raised or lowered by; 1 cannot be seen (48 dB PSNR) and is read back from one frame after
    JPEG of quality 50 or x264 at CRF 23. Two passes of saturating byte arithmetic over the luma plane: about 0.1 ms at 1280x720.
    """

    def __init__(self, width: int, height: int, strength: int = 1, payload: Payload | None = None) -> None:
        if not 1 <= strength <= 16:
            raise ValueError(f"expected a strength of 1 to 16 levels, got {strength}")
        chips = tile(payload or Payload(), spread())
        size = CHIP * height / LINES
        rows, columns = (((np.arange(count) + 0.5) / size).astype(int) for count in (height, width))
        pattern = chips[np.ix_(rows % ROWS, columns % COLUMNS)]
        self._up = np.where(pattern > 0, strength, 0).astype(np.uint8)
        self._down = np.where(pattern < 0, strength, 0).astype(np.uint8)
        self._bgr: tuple[Image, Image] | None = None

    def mark_i420(self, i420: NDArray[np.uint8]) -> None:
        """Mark the Y plane of (height * 3 / 2, width) uint8 planes."""
        luma = i420[: self._up.shape[0]]
        cv2.add(luma, self._up, dst=luma)
        cv2.subtract(luma, self._down, dst=luma)

    def mark_bgr(self, image: Image) -> None:
        """Give (height, width, 3) BGR the same mark, by raising or lowering all three channels."""
        if self._bgr is None:
            self._bgr = cv2.merge([self._up] * 3), cv2.merge([self._down] * 3)
        up, down = self._bgr
        cv2.add(image, up, dst=image)
        cv2.subtract(image, down, dst=image)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a picture or a run of frames."""

    found: bool
    z: float
    """Height of the synchronisation peak in standard deviations; below MIN_Z there is no mark."""
    payload: Payload | None
    mirrored: bool = False


def read_mark(frames: Iterable[Image]) -> Reading:
    """Look for a mark in BGR frames of one size: in one picture, or surer in several of the same video.

    Finds it at any offset (cropped left or top, at the original scale), also mirrored. Raises ValueError without a frame.
    """
    layout = spread()
    residual = _average(frames)
    readings = [_read(picture, layout, mirrored) for mirrored, picture in ((False, residual), (True, residual[:, ::-1]))]
    return max(readings, key=lambda reading: (reading.found, reading.z))


def _average(frames: Iterable[Image]) -> Floats:
    total: Floats | None = None
    for frame in frames:
        residual = _residual(frame)
        total = residual if total is None else total + residual
    if total is None:
        raise ValueError("expected at least one frame")
    return total


def _residual(frame: Image) -> Floats:
    """The luma without the picture: high-passed, a chip's size kept, and each place weighted by how quiet it is."""
    luma = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    height, width = luma.shape
    size = (max(CHIP, round(width * LINES / height)), LINES)
    scaled = cv2.resize(luma, size, interpolation=cv2.INTER_AREA if height > LINES else cv2.INTER_LINEAR).astype(np.float32)
    detail = scaled - cv2.GaussianBlur(scaled, (0, 0), 10)
    detail = cv2.GaussianBlur(detail, (0, 0), 1.5)
    power = cv2.GaussianBlur(detail * detail, (0, 0), 12) + 0.3
    limit = 3 * np.sqrt(power)
    quiet: Floats = np.clip(detail, -limit, limit) / power
    return quiet


def _read(residual: Floats, layout: Spread, mirrored: bool) -> Reading:
    folded = _fold(residual)
    z, row, column = _synchronise(folded, layout)
    chips = np.roll(folded, (-row, -column), (0, 1)).reshape(ROWS, 2, COLUMNS, 2).sum((1, 3)).ravel()
    soft = np.bincount(layout.slots, chips[layout.data] * layout.signs[layout.data], CODED_BITS)
    value = decode(soft)
    payload = Payload.from_int(value) if value is not None and z >= MIN_Z else None
    return Reading(payload is not None, z, payload, mirrored)


def _fold(residual: Floats) -> Floats:
    """All tiles on top of one another, in cells of half a chip: (2 * ROWS, 2 * COLUMNS)."""
    cell = CHIP // 2
    height, width = (size // cell * cell for size in residual.shape)
    cells = residual[:height, :width].reshape(height // cell, cell, width // cell, cell).mean((1, 3))
    down, across = -(-cells.shape[0] // (2 * ROWS)), -(-cells.shape[1] // (2 * COLUMNS))
    padded = np.zeros((down * 2 * ROWS, across * 2 * COLUMNS), np.float32)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    folded: Floats = padded.reshape(down, 2 * ROWS, across, 2 * COLUMNS).sum((0, 2))
    return folded


def _synchronise(folded: Floats, layout: Spread) -> tuple[float, int, int]:
    """Height of the peak of the circular correlation with the data-free chips, and where it is in cells."""
    chips = np.zeros(ROWS * COLUMNS, np.float32)
    chips[layout.sync] = layout.signs[layout.sync]
    template = np.kron(chips.reshape(ROWS, COLUMNS), np.ones((2, 2), np.float32))
    match = np.fft.irfft2(np.fft.rfft2(folded) * np.conj(np.fft.rfft2(template)), folded.shape)
    row, column = np.unravel_index(int(match.argmax()), match.shape)
    return float((match.max() - match.mean()) / (match.std() + 1e-12)), int(row), int(column)
