"""The faster way to a crop gives what the plain one gives."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.models.swappers.cut import cut
from realtime.vision import geometry
from realtime.vision.align import crop
from tests.models.swappers import scene


@pytest.mark.parametrize("size", [128, 160, 256, 512])
@pytest.mark.parametrize(
    ("scale", "angle", "x", "y"), [(1.0, 0, 256, 256), (2.1, 40, 256, 256), (0.3, -170, 256, 256), (1.0, 10, 20, 490), (6.0, 5, 256, 256)]
)
def test_crops_are_equal(size: int, scale: float, angle: float, x: float, y: float) -> None:
    image = scene.picture("p006_studio")[0]
    transform = geometry.crop_transform(geometry.Region(x, y, size * scale, angle), size)
    out = np.full((size, size, 3), 77, np.uint8)
    cut(image, transform, out)
    off = np.abs(out.astype(int) - crop(image, transform, size))
    assert off.mean() < 0.15 and off.max() <= 3  # each rounds in its own way


@pytest.mark.parametrize("size", [128, 256])
def test_out_of_sight_is_black(size: int) -> None:
    image = scene.picture("p006_studio")[0]
    out = np.full((size, size, 3), 77, np.uint8)
    cut(image, geometry.crop_transform(geometry.Region(5000, 300, 300, 0), size), out)
    assert not out.any()


def test_a_picture_wider_than_positions_reach() -> None:
    image = np.zeros((40, 40000, 3), np.uint8)
    image[:, 39000:] = 90
    out = np.full((32, 32, 3), 77, np.uint8)
    cut(image, np.array([[1.0, 0, -38984], [0, 1, 0]]), out)
    assert not out[:, :16].any() and (out[:, 16:] == 90).all()
