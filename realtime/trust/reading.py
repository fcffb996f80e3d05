"""Looks for the mark of `watermark` in pictures that were compressed, scaled, cropped, mirrored, or all of it.

How large a chip is in the picture at hand, and where the tile begins, is unknown. Both are found by correlation: the picture is folded
onto one tile for each of some 200 chip sizes, and the tile of the mark that this program writes is laid over each fold at every place
at once, by Fourier transform. The best places are looked at again more finely and decoded. What decides is never the correlation but
the decoded payload: its magic, its zeros and its CRC are 48 bits that chance does not get right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.trust.payload import CODED_BITS, Payload, decode
from realtime.trust.watermark import CHIP, COLUMNS, KEY, LINES, ROWS, Marker, spread, tile
from realtime.types import Floats, Image

MIN_Z = 8.0
"""Standard deviations of the correlation peak above which something of the mark is there though it cannot be read; see `Reading.z`."""
SEEN_Z = 14.0
"""A peak from which the code recovers the payload in three of four cases; of 13 in two of five, of 16 in nineteen of twenty."""
_LEVELS = ((0.45, 0.9), (0.9, 1.8), (1.8, 3.6))
"""Chip sizes looked at, as multiples of what they are in an uncropped picture: from a picture within a larger one (a call in a screenshot)
to a crop to less than a third of the height."""
_STEP = 1.01
"""From one size to the next: 80 chips from the middle to the side, the error of half a step adds up to less than half a chip."""
_SMALLEST = 4.5
"""Pixels of the smallest chip of a level, to which the picture is scaled for it; the largest is then 9."""
_WIDEST = 4.0
"""Of a picture that is more times as wide as high only this much is read: a few lines must not become millions of columns."""
_COARSE, _FINE = 2, 4
"""Cells across a chip while searching and while reading."""
_CANDIDATES = 4
_WORTH_READING = 4.8
"""A coarse peak below this is not looked at again: a size that is off by half a step takes a fifth, not two thirds, of SEEN_Z."""
_OWN_LEVEL = 1
"""The level that an uncropped picture is read at."""
_TRIAL_KEY = b"realtime-faceswap trial mark"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a picture or a run of frames."""

    found: bool
    z: float
    """Height of the best correlation peak in standard deviations of all places. Chance reaches 6, the code needs about 14."""
    payload: Payload | None
    mirrored: bool = False
    scale: float = 1.0
    """Size of the mark's chips relative to those of an uncropped picture of this height."""
    legible: bool = True
    """Whether a fresh mark could be read in such a picture; if not, it says nothing that none was found."""

    @property
    def traces(self) -> bool:
        """Not found, but more like the mark than chance would make it."""
        return not self.found and self.z >= MIN_Z


class _Place(NamedTuple):
    z: float
    level: int
    size: float
    """Of a chip, in pixels of the level."""
    mirrored: bool


def read_mark(frames: Iterable[Image]) -> Reading:
    """Look for a mark in BGR frames of one size: in one picture, or surer in several of the same video.

    Takes some 50 ms for an uncropped picture that is marked, 0.2 s for one that is not, and 50 ms for each further frame of 1280x720.
    Raises ValueError without a frame.
    """
    reader = Reader()
    for frame in frames:
        reader.add(frame)
    return reader.read()


class Reader:
    """Gathers frames of one size and reads the mark that they have in common."""

    def __init__(self) -> None:
        self._levels: list[Floats] = []
        self._first: Image | None = None

    def add(self, frame: Image) -> None:
        """Take in a (height, width, 3) BGR frame. Raises ValueError when it is not of the size of those before."""
        luma = cv2.cvtColor(frame[:, : max(1, int(_WIDEST * frame.shape[0]))], cv2.COLOR_BGR2GRAY)
        if self._first is None:
            self._first = luma
            self._levels = [_residual(luma, low) for low, _ in _LEVELS]
        elif self._first.shape != luma.shape:
            raise ValueError(f"expected frames of one size, got {luma.shape} after {self._first.shape}")
        else:
            for total, (low, _) in zip(self._levels, _LEVELS, strict=True):
                total += _residual(luma, low)

    def read(self) -> Reading:
        """Raises ValueError before the first frame."""
        if self._first is None:
            raise ValueError("expected at least one frame")
        best = Reading(False, 0.0, None)
        for places in (self._places((1.0,)), self._search()):
            best_places = sorted(places, reverse=True)[:_CANDIDATES]
            for place in [each for each in best_places if each.z > _WORTH_READING] or best_places[:1]:
                reading = self._read(place)
                if reading.found:
                    return reading
                best = max(best, reading, key=lambda each: each.z)
        return replace(best, legible=_trial(self._first) >= SEEN_Z)

    def _places(self, scales: Iterable[float]) -> list[_Place]:
        found = []
        smooth = [cv2.blur(level, (3, 3)) for level in self._levels]  # a cell is 3 to 5 pixels: resize may then sample instead of averaging
        for scale in scales:
            level = next(n for n, (_, high) in enumerate(_LEVELS) if scale < high)
            size = _SMALLEST * scale / _LEVELS[level][0]
            spectrum = cv2.dft(_fold(smooth[level], size, _COARSE, cv2.INTER_LINEAR))
            found += [_Place(_match(spectrum, _COARSE, mirrored)[0], level, size, mirrored) for mirrored in (False, True)]
        return found

    def _search(self) -> list[_Place]:
        steps = int(np.log(_LEVELS[-1][1] / _LEVELS[0][0]) / np.log(_STEP))
        return self._places(_LEVELS[0][0] * _STEP ** np.arange(steps))

    def _read(self, place: _Place) -> Reading:
        """The same place with finer sizes and cells, decoded."""
        best: tuple[float, float, int, int, Floats] | None = None
        for factor in 1 + 0.002 * np.arange(-2, 3):
            folded = _fold(self._levels[place.level], place.size * factor, _FINE)
            folded = np.ascontiguousarray(folded[:, ::-1]) if place.mirrored else folded
            z, row, column = _match(cv2.dft(folded), _FINE, mirrored=False)
            if best is None or z > best[0]:
                best = z, place.size * factor, row, column, folded
        assert best is not None
        z, size, row, column, folded = best
        payload = _decode(np.roll(folded, (-row, -column), (0, 1)))
        return Reading(payload is not None, z, payload, place.mirrored, float(size / _SMALLEST * _LEVELS[place.level][0]))


def _residual(luma: NDArray[np.uint8], low: float) -> Floats:
    """The luma without the picture: scaled to the level, high-passed, a chip's size kept, each place weighted by how quiet it is."""
    height, width = luma.shape
    lines = round(_SMALLEST / low * LINES / CHIP)
    size = (max(2 * CHIP, round(width * lines / height)), lines)
    scaled = cv2.resize(luma, size, interpolation=cv2.INTER_AREA if height > lines else cv2.INTER_LINEAR).astype(np.float32)
    detail = scaled - cv2.GaussianBlur(scaled, (0, 0), 2.5)
    detail = cv2.GaussianBlur(detail, (0, 0), 0.7)
    power = cv2.GaussianBlur(detail * detail, (0, 0), 4) + 0.3
    limit = 2 * np.sqrt(power)
    quiet: Floats = np.clip(detail, -limit, limit) / power
    return quiet


def _fold(residual: Floats, size: float, parts: int, sampling: int = cv2.INTER_AREA) -> Floats:
    """All tiles on top of one another, in cells of a `parts`-th of a chip: (parts * ROWS, parts * COLUMNS)."""
    cell = size / parts
    height, width = (int(side / cell) for side in residual.shape)
    source = residual[: round(height * cell), : round(width * cell)]
    cells = cv2.resize(source, (width, height), interpolation=sampling)
    rows, columns = parts * ROWS, parts * COLUMNS
    padded = np.zeros((-(-height // rows) * rows, -(-width // columns) * columns), np.float32)
    padded[:height, :width] = cells
    folded: Floats = padded.reshape(-1, rows, padded.shape[1] // columns, columns).sum((0, 2))
    return folded


@cache
def _spectrum(parts: int, mirrored: bool, key: bytes) -> Floats:
    """Of the tile that this program writes, or of its mirror image; packed as cv2.dft does."""
    template = np.kron(tile(Payload(), spread(key)), np.ones((parts, parts), np.float32))
    spectrum: Floats = cv2.dft(np.ascontiguousarray(template[:, ::-1] if mirrored else template))
    return spectrum


def _match(spectrum: Floats, parts: int, mirrored: bool, key: bytes = KEY) -> tuple[float, int, int]:
    """Peak of the circular correlation with the tile: height in standard deviations, row and column in cells."""
    product = cv2.mulSpectrums(spectrum, _spectrum(parts, mirrored, key), 0, conjB=True)
    match = cv2.dft(product, flags=cv2.DFT_INVERSE | cv2.DFT_SCALE)
    mean, deviation = cv2.meanStdDev(match)
    _, highest, _, (column, row) = cv2.minMaxLoc(match)
    return (highest - float(mean[0, 0])) / (float(deviation[0, 0]) + 1e-12), row, column


def _decode(folded: Floats) -> Payload | None:
    layout = spread()
    parts = folded.shape[0] // ROWS
    chips = folded.reshape(ROWS, parts, COLUMNS, parts).sum((1, 3)).ravel()
    soft = np.bincount(layout.slots, chips[layout.data] * layout.signs[layout.data], CODED_BITS)
    value = decode(soft)
    return None if value is None else Payload.from_int(value)


def _trial(luma: NDArray[np.uint8]) -> float:
    """Height of the peak that another mark has, put into a copy of this picture with the strength that the marker chooses for it."""
    height, width = luma.shape
    copy = luma.copy()
    Marker(width, height, layout=spread(_TRIAL_KEY)).mark_i420(copy)
    low = _LEVELS[_OWN_LEVEL][0]
    folded = _fold(_residual(copy, low), _SMALLEST / low, _FINE)
    return _match(cv2.dft(folded), _FINE, False, _TRIAL_KEY)[0]
