"""Pasting: exact arithmetic, and nothing outside the patch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision.blend import paste


def _noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.integers(0, 9), st.integers(1, 20), st.integers(1, 11))
def test_every_pixel_is_the_rounded_mix_and_the_rest_is_untouched(seed: int, x: int, y: int, width: int, height: int) -> None:
    image, colour, alpha = _noise(seed, 20, 40, 3), _noise(seed + 1, height, width, 3), _noise(seed + 2, height, width)
    alpha[alpha < 60] = 0
    expected = image.copy()
    a = alpha[..., None].astype(float)
    inside = image[y : y + height, x : x + width]
    expected[y : y + height, x : x + width] = np.floor((inside * (255 - a) + colour * a) / 255 + 0.5)
    paste(image, x, y, colour, alpha)
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize(("alpha", "kept"), [(0, True), (255, False)])
def test_the_ends_of_the_scale_are_exact(alpha: int, kept: bool) -> None:
    image, colour = _noise(1, 16, 16, 3), _noise(2, 16, 16, 3)
    before = image.copy()
    paste(image, 0, 0, colour, np.full((16, 16), alpha, np.uint8))
    np.testing.assert_array_equal(image, before if kept else colour)
