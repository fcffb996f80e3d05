"""Bring a picture to the size that was announced, without distorting it."""

from __future__ import annotations

import cv2
import numpy as np

from realtime.types import Image


def even(width: int, height: int) -> tuple[int, int]:
    """The size without its last odd column or row: I420 halves both."""
    return max(width & ~1, 2), max(height & ~1, 2)


def fitted(width: int, height: int, into: tuple[int, int]) -> tuple[int, int, int, int]:
    """(x, y, width, height) of a picture of this size, scaled to lie centred inside `into` = (width, height)."""
    scale = min(into[0] / width, into[1] / height)
    w, h = (min(max(round(side * scale), 1), limit) for side, limit in zip((width, height), into, strict=True))
    return (into[0] - w) // 2, (into[1] - h) // 2, w, h


def letterbox(image: Image, size: tuple[int, int], out: Image | None = None) -> Image:
    """The picture scaled to fit inside `size` = (width, height), black bars around it; in `out` of that size, else in a new array."""
    x, y, w, h = fitted(image.shape[1], image.shape[0], size)
    canvas = np.empty((size[1], size[0], 3), np.uint8) if out is None else out
    for bar in (canvas[:y], canvas[y + h :], canvas[:, :x], canvas[:, x + w :]):
        bar[:] = 0
    shrink = w < image.shape[1]
    cv2.resize(image, (w, h), dst=canvas[y : y + h, x : x + w], interpolation=cv2.INTER_AREA if shrink else cv2.INTER_LINEAR)
    return canvas


def rotated(image: Image, degrees: int, out: Image | None = None) -> Image:
    """The picture turned clockwise by 0, 90, 180 or 270 degrees; in `out` of the turned size, else in a new array, unless 0."""
    turns = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}
    if degrees == 0:
        return image
    return np.asarray(cv2.rotate(image, turns[degrees], dst=out))
