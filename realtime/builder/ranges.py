"""How far an activation's 8 bits should reach: as far as costs least on the calibration pictures, which is less far than its largest value.

The threshold that minimises the mean square error, searched over a histogram, as in Sung et al., "Resiliency of Deep Neural Networks under
Quantization" (2015), and in most quantisers since (NNCF and TensorRT's "mse", PyTorch's HistogramObserver).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realtime.types import Array

LEVELS = 127
_BINS = 4096
"""To the largest value: several within each step of 8 bits at the shortest threshold that is tried."""
_TRIED = np.linspace(0.1, 1, 181)
"""Thresholds as shares of the largest value."""


class Magnitudes:
    """A histogram of absolute values that widens as larger ones come."""

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)
        self._end = 0.0

    def add(self, values: Array) -> None:
        """Those that are not finite are left out."""
        sizes = np.abs(values, dtype=np.float32).ravel()
        largest = float(sizes.max(initial=0.0))
        if not np.isfinite(largest):
            sizes = sizes[np.isfinite(sizes)]
            largest = float(sizes.max(initial=0.0))
        self._reach(largest)
        if self._end > 0:
            places = np.minimum((sizes * np.float32(_BINS / self._end)).astype(np.int32), _BINS - 1)
            self._counts += np.bincount(places, minlength=_BINS)

    def _reach(self, largest: float) -> None:
        """Twice as wide bins, as often as it takes."""
        if self._end == 0:
            self._end = largest
        while self._end < largest:
            pairs = self._counts.reshape(-1, 2).sum(axis=1)
            self._counts = np.concatenate([pairs, np.zeros_like(pairs)])
            self._end *= 2

    def threshold(self) -> float:
        """The largest value that is told from smaller ones; 0 when there were none but zeros."""
        used = np.flatnonzero(self._counts)
        if self._end == 0 or used.size == 0:
            return 0.0
        sizes = np.where(used == 0, 0.0, (used + 0.5) * (self._end / _BINS))  # most of the smallest are zeros
        tried = _TRIED * float(sizes[-1])
        return float(tried[np.argmin([_error(sizes, self._counts[used], each) for each in tried])])


def _error(sizes: NDArray[np.float64], counts: NDArray[np.int64], threshold: float) -> float:
    """Sum of squares of what rounding to, and cutting off at, the threshold changes."""
    step = threshold / LEVELS
    return float(counts @ (sizes - np.minimum(np.rint(sizes / step), LEVELS) * step) ** 2)


def symmetric(values: Iterable[Mapping[str, Array]]) -> dict[str, Any]:
    """For ONNX Runtime's quantiser: the range of each tensor, of which every mapping holds the values of one picture."""
    found: dict[str, Magnitudes] = {}
    for each in values:
        for name, array in each.items():
            found.setdefault(name, Magnitudes()).add(array)
    reach = {name: np.float32(magnitudes.threshold()) for name, magnitudes in found.items()}
    return {name: [{"rmin": -most, "rmax": most}] for name, most in reach.items() if most > 0}
