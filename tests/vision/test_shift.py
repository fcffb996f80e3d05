from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision.shift import alike, shift

WIDTHS = [1, 31, 32, 33, 64, 95, 1280]


def noise(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_plane_is_shifted_as_by_saturating_sums_of_whole_planes(width: int) -> None:
    plane, up, down = noise(1, 20, width), noise(2, 3, width), noise(3, 3, width)
    rows = (np.arange(20) * 7 % 3).astype(np.int32)
    expected = cv2.subtract(cv2.add(plane, up[rows]), down[rows])
    shift(plane, up, down, rows)
    assert (plane == expected).all()


@settings(max_examples=30)
@given(st.sampled_from(WIDTHS), st.integers(1, 9), st.integers(1, 40), st.integers(0, 255), st.integers(0, 99))
def test_places_are_counted_one_by_one(width: int, every: int, reach: int, most: int, seed: int) -> None:
    plane = noise(seed, 20, width)
    rows = plane[::every].astype(int)
    apart = np.abs(rows[:, reach:] - rows[:, :-reach])
    assert alike(plane, every, reach, most) == int((apart <= most).sum())
