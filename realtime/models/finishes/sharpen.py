"""Classical sharpening: as much as the frame itself is sharp, and no more."""

from __future__ import annotations

import numpy as np

from realtime.models.base import Crop
from realtime.models.finishes.colour import Smoothed
from realtime.types import Floats
from realtime.vision.colour import SHOWN
from realtime.vision.sharpen import laplacian_energy, sharpen

_MOST = 1.2
"""Largest amount of the Laplacian that is taken off: more draws bright rims."""


class Sharpen:
    """Takes off some of the Laplacian (unsharp masking) so that the swapped face is as sharp as the frame's own; implements `Finish`.

    A swap network's output is softer than its input; the frame's own sharpness is the limit: a face sharper than its hair stands out.
    """

    def __init__(self, most: float = _MOST) -> None:
        self._most = most
        self._smoothed = Smoothed()
        self._copy = np.empty((0, 0, 3), np.uint8)

    @property
    def name(self) -> str:
        return "sharpen"

    def finish(self, crop: Crop) -> None:
        own, other = laplacian_energy(crop.before, crop.mask, SHOWN), laplacian_energy(crop.swapped, crop.mask, SHOWN)
        amount = self._smoothed(_amount(own, other, self._most))
        if amount is None or float(amount[0]) < 0.02:
            return
        if self._copy.shape != crop.swapped.shape:
            self._copy = np.empty_like(crop.swapped)
        np.copyto(self._copy, crop.swapped)
        sharpen(self._copy, float(amount[0]) / 4, crop.swapped)

    def reset(self) -> None:
        self._smoothed.reset()

    def fork(self) -> Sharpen:
        return Sharpen(self._most)


def _amount(own: float, other: float, most: float) -> Floats | None:
    """(1,): by how much the swapped face falls short of the frame's sharpness, 0..most; None when nothing could be measured."""
    if own < 0 or other < 0:
        return None
    return np.array([min(max(np.sqrt((own + 1) / (other + 1)) - 1, 0), most)], np.float32)
