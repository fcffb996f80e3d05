"""Frames for the sinks' tests."""

from __future__ import annotations

import cv2
import numpy as np

from realtime.types import Image, OutputFrame, State, StreamFormat

BGR = ((30, 60, 200), (40, 180, 50), (220, 90, 20), (128, 128, 128))


def stream(width: int = 160, height: int = 120, fps: float = 30.0, live: bool = False) -> StreamFormat:
    return StreamFormat(width, height, fps, live)


def picture(width: int, height: int, number: int = 0) -> Image:
    """Four coloured quadrants, and `number` in binary as eight black or white blocks along the top."""
    image = np.empty((height, width, 3), np.uint8)
    image[: height // 2, : width // 2], image[: height // 2, width // 2 :] = BGR[:2]
    image[height // 2 :, : width // 2], image[height // 2 :, width // 2 :] = BGR[2:]
    block = width // 8
    for bit in range(8):
        image[: height // 6, bit * block : (bit + 1) * block] = 255 * (number >> bit & 1)
    return image


def number_of(image: Image) -> int:
    height, width = image.shape[:2]
    block = width // 8
    return sum(int(image[height // 12, bit * block + block // 2, 1] > 127) << bit for bit in range(8))


def colours_wrong_by(image: Image) -> int:
    """The largest difference of a quadrant's centre from its colour, in levels."""
    height, width = image.shape[:2]
    centres = [image[y, x].astype(int) for y in (height * 3 // 8, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
    return max(int(np.abs(centre - np.array(colour)).max()) for centre, colour in zip(centres, BGR, strict=True))


def frame(number: int, width: int = 160, height: int = 120, *, media_time: float | None = None, at: float | None = None) -> OutputFrame:
    image = picture(width, height, number)
    even = image[: height // 2 * 2, : width // 2 * 2]
    i420 = cv2.cvtColor(even, cv2.COLOR_BGR2YUV_I420)
    return OutputFrame(number, 100 + number / 30 if at is None else at, State.SWAPPED, image, i420, media_time)
