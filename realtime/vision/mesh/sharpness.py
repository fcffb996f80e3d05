"""How sharp a face is in a picture, so that the painted face can be made as soft as its surroundings."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel

FEATURES: Final = np.array((33, 263, 70, 300, 105, 334, 61, 291, 0, 17, 2), np.int32)
"""Eye corners, brows, mouth and nose: the box around them holds the strong edges of a face."""
COLUMNS: Final = 64
"""About how many columns of that box are looked at."""


@kernel
def edge_blur(image: Array, points: Array, size: np.float32) -> Any:
    """Standard deviation, in pixels, of the blur of the strong edges in a face's inner part.

    After Zhuo and Sim (2011): blurring once more, here by a binomial filter of deviation s down the columns, weakens the slope of an
    edge of blur b by sqrt(b^2 / (b^2 + s^2)). Slopes of the blurred picture weigh the mean, so noise and skin hardly count. The
    difference over two pixels that stands for the slope has a blur of its own of 1/3 pixel squared, which is taken off.
    image: BGR, of which green is used; points: (V, 3) landmarks; size: height of the face in pixels.
    """
    spacing = max(1, int(size / np.float32(150.0) + np.float32(0.5)))
    left, right, top, bottom = np.float32(1e9), np.float32(-1e9), np.float32(1e9), np.float32(-1e9)
    for v in FEATURES:
        left, right = min(left, points[v, 0]), max(right, points[v, 0])
        top, bottom = min(top, points[v, 1]), max(bottom, points[v, 1])
    margin = 2 * spacing + 1
    x0, x1 = max(int(left), 0), min(int(right), image.shape[1])
    y0, y1 = max(int(top), margin), min(int(bottom), image.shape[0] - margin)
    sharp, soft = 1e-3, 1e-3
    for x in range(x0, x1, max(1, (x1 - x0) // COLUMNS)):
        for y in range(y0, y1):
            slope = np.float32(_slope(image, y, x))
            near = _slope(image, y - spacing, x) + _slope(image, y + spacing, x)
            far = _slope(image, y - 2 * spacing, x) + _slope(image, y + 2 * spacing, x)
            blurred = (np.float32(6.0) * slope + np.float32(4.0) * near + far) / np.float32(16.0)
            squared = blurred * blurred
            sharp += slope * slope * squared
            soft += squared * squared
    excess = max(sharp / soft - 1.0, 1e-3)
    return np.float32(np.sqrt(max(spacing * spacing / excess - 1.0 / 3.0, 0.05)))


@helper
def _slope(image: Array, y: int, x: int) -> Any:
    return np.int32(image[y + 1, x, 1]) - np.int32(image[y - 1, x, 1])
