"""Pixels to network input: one pass from interleaved bytes to planes of floats."""

from __future__ import annotations

from realtime.types import Floats, Image
from realtime.vision.compiled import compiled


@compiled("void(u1[:,:,::1], f4[:,:,::1], f4, b1)", fastmath=True)
def fill_planes(image: Image, planes: Floats, scale: float, reverse: bool) -> None:
    """Write `image` (h, w, 3) uint8 times `scale` to the top-left of `planes` (3, H, W) float32, H >= h and W >= w.

    `reverse` turns BGR to RGB. cv2.split and astype would take three passes and two temporary pictures.
    """
    height, width, _ = image.shape
    first, last = (2, 0) if reverse else (0, 2)
    for y in range(height):
        for x in range(width):
            planes[0, y, x] = image[y, x, first] * scale
            planes[1, y, x] = image[y, x, 1] * scale
            planes[2, y, x] = image[y, x, last] * scale


@compiled("void(u1[:,:,::1], f4[:,:,::1], f4[::1], f4[::1], b1)", fastmath=True)
def fill_normalised(image: Image, planes: Floats, scale: Floats, shift: Floats, reverse: bool) -> None:
    """As `fill_planes`, with a factor and then a summand for each plane: `scale` and `shift` (3,) float32 in the order of the planes.

    For pixels of mean m and deviation s, scale = 1 / s and shift = -m / s.
    """
    height, width, _ = image.shape
    first, last = (2, 0) if reverse else (0, 2)
    for y in range(height):
        for x in range(width):
            planes[0, y, x] = image[y, x, first] * scale[0] + shift[0]
            planes[1, y, x] = image[y, x, 1] * scale[1] + shift[1]
            planes[2, y, x] = image[y, x, last] * scale[2] + shift[2]
