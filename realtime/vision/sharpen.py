"""How sharp a picture is under a mask, and making one sharper."""

from __future__ import annotations

import numpy as np

from realtime.compiled import compiled
from realtime.types import Image
from realtime.vision.masks import Mask


@compiled("f8(u1[:,:,::1], u1[:,::1], u1)", fastmath=True)
def laplacian_energy(image: Image, mask: Mask, least: int) -> float:
    """Mean square of the green channel's Laplacian (4 neighbours) where the mask is at least `least`; -1 when that is hardly anywhere."""
    height, width, _ = image.shape
    total, count = 0.0, 0
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if mask[y, x] >= least:
                around = np.int32(image[y - 1, x, 1]) + image[y + 1, x, 1] + image[y, x - 1, 1] + image[y, x + 1, 1]
                value = np.float64(np.int32(4) * image[y, x, 1] - around)
                total += value * value
                count += 1
    return total / count if count >= 16 else -1.0


@compiled("void(u1[:,:,::1], f4, u1[:,:,::1])", fastmath=True)
def sharpen(image: Image, amount: float, out: Image) -> None:
    """out = image + amount * (4 image - its 4 neighbours), limited; the outermost pixels stay."""
    height, width, _ = image.shape
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            for k in range(3):
                around = np.int32(image[y - 1, x, k]) + image[y + 1, x, k] + image[y, x - 1, k] + image[y, x + 1, k]
                value = np.float32(image[y, x, k]) + amount * np.float32(np.int32(4) * image[y, x, k] - around)
                out[y, x, k] = np.uint8(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5))
