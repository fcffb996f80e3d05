"""The visible mark: a small "AI" label in a corner."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.types import Image
from realtime.vision.blend import paste

CORNERS = ("top-left", "top-right", "bottom-left", "bottom-right")
HEIGHT = 0.05
"""Of the frame's height; 36 pixels at 720 lines, legible in a thumbnail of a video call."""
MIN_HEIGHT = 14
_FINE = 8
"""Drawn this much larger and averaged down: smooth edges at any size."""
_INK, _PLATE, _PLATE_OPACITY = 255, 24, 0.72

# The letters as strokes in a plate of 1.5 x 1: drawn, because fonts and text functions differ between platforms and OpenCV versions.
_STROKES = (((0.36, 0.78), (0.60, 0.22)), ((0.60, 0.22), (0.84, 0.78)), ((0.45, 0.60), (0.75, 0.60)), ((1.10, 0.22), (1.10, 0.78)))
_ASPECT = 1.5
_STROKE_WIDTH = 0.11


class Badge:
    """Stamps the label on frames of one size, in place, before the I420 conversion.

    The label is drawn once; a stamp touches its few hundred to few thousand pixels only.
    """

    def __init__(self, width: int, height: int, corner: str = "bottom-right") -> None:
        """Raises ValueError for a corner not in CORNERS."""
        if corner not in CORNERS:
            raise ValueError(f"expected one of {', '.join(CORNERS)}, got {corner!r}")
        lines = max(MIN_HEIGHT, round(height * HEIGHT))
        ink, opacity = _draw(lines)
        columns, margin = ink.shape[1], lines // 2
        self._left = margin if corner.endswith("left") else max(0, width - columns - margin)
        self._top = margin if corner.startswith("top") else max(0, height - lines - margin)
        inside = np.s_[: max(0, height - self._top), : max(0, width - self._left)]  # of a picture smaller than the label
        self._colour = np.repeat(ink[inside].round().astype(np.uint8)[..., None], 3, axis=2)
        self._alpha = np.ascontiguousarray((255 * opacity[inside]).round().astype(np.uint8))

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom in pixels, the last two exclusive."""
        lines, columns = self._alpha.shape
        return self._left, self._top, self._left + columns, self._top + lines

    def stamp(self, image: Image) -> None:
        """Blend the label into (height, width, 3) BGR."""
        paste(image, self._left, self._top, self._colour, self._alpha)


def _draw(lines: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Ink (0..255) and opacity (0..1) of the label, each (lines, lines * 1.5) float32."""
    size = lines * _FINE
    shape = (size, round(lines * _ASPECT) * _FINE)
    plate, letters = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    _fill_rounded(plate, size // 5)
    for start, end in _STROKES:
        (x0, y0), (x1, y1) = ((round(x * size), round(y * size)) for x, y in (start, end))
        cv2.line(letters, (x0, y0), (x1, y1), 255, round(_STROKE_WIDTH * size))  # round ends
    plate, letters = (cv2.resize(drawn, (shape[1] // _FINE, lines), interpolation=cv2.INTER_AREA) for drawn in (plate, letters))
    ink = letters.astype(np.float32) / 255
    opacity = np.maximum(plate.astype(np.float32) / 255 * _PLATE_OPACITY, ink)
    return _PLATE + (_INK - _PLATE) * ink, opacity


def _fill_rounded(plane: NDArray[np.uint8], radius: int) -> None:
    height, width = plane.shape
    plane[radius : height - radius] = 255
    plane[:, radius : width - radius] = 255
    for x in (radius, width - radius - 1):
        for y in (radius, height - radius - 1):
            cv2.circle(plane, (x, y), radius, 255, -1)
