"""Pasting a patch into a frame."""

from __future__ import annotations

from realtime.types import Array, Image
from realtime.vision.mesh.maths import kernel


@kernel
def paste(image: Image, x: int, y: int, colour: Image, alpha: Array) -> None:
    """image = image + (colour - image) * alpha / 255, rounded to the nearest level, in place, within the patch's rectangle only.

    image: (H, W, 3) uint8; colour: (h, w, 3) uint8; alpha: (h, w) uint8; (x, y): the rectangle's top-left pixel. The rectangle must
    lie inside the image. Pixels of alpha 0 are neither read nor written; alpha 255 copies the colour.
    """
    for i in range(alpha.shape[0]):
        for j in range(alpha.shape[1]):
            a = int(alpha[i, j])
            if a == 0:
                continue
            for c in range(3):
                # n / 255 rounded is (n + 128 + (n + 128 >> 8)) >> 8 for every n up to 255 * 255 (Blinn 1995)
                n = int(image[y + i, x + j, c]) * (255 - a) + int(colour[i, j, c]) * a + 128
                image[y + i, x + j, c] = (n + (n >> 8)) >> 8
