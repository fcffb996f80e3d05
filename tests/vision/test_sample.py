"""Crops straight into planes, against OpenCV's warp."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.types import Region
from realtime.vision import align, geometry
from realtime.vision.sample import colours_change, sample_planes

SIZE = 48
ONE, ZERO = np.ones(3, np.float32), np.zeros(3, np.float32)


def noise(height: int, width: int) -> np.ndarray:
    return cv2.GaussianBlur(np.random.default_rng(3).integers(0, 256, (height, width, 3), np.uint8), (0, 0), 1.5)


def expected(image: np.ndarray, transform: np.ndarray) -> np.ndarray:
    """Exact bilinear sampling, black outside; OpenCV's on bytes rounds positions to a 32nd of a pixel."""
    warped = cv2.warpAffine(image.astype(np.float32), transform, (SIZE, SIZE), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return warped.transpose(2, 0, 1)


@settings(max_examples=60, deadline=None)
@given(st.floats(-30, 130), st.floats(-30, 110), st.floats(20, 180), st.floats(-180, 180))
def test_a_crop_is_that_of_opencv_wherever_it_lies(x: float, y: float, size: float, angle: float) -> None:
    image = noise(80, 100)
    transform = geometry.crop_transform(Region(x, y, size, angle), SIZE)
    planes = np.full((3, SIZE, SIZE), np.nan, np.float32)
    sample_planes(image, geometry.invert(transform), planes, ONE, ZERO, False)
    np.testing.assert_allclose(planes, expected(image, transform), atol=3.0)
    assert np.abs(planes - expected(image, transform)).mean() < 0.3


def test_whole_pixels_are_taken_as_they_are_up_to_the_last_row_and_column() -> None:
    image = np.random.default_rng(4).integers(0, 256, (20, 30, 3), np.uint8)
    planes = np.empty((3, 22, 32), np.float32)
    sample_planes(image, np.array([[1.0, 0, -1], [0, 1, -1]]), planes, ONE, ZERO, False)
    np.testing.assert_array_equal(planes[:, 1:21, 1:31], image.transpose(2, 0, 1))
    planes[:, 1:21, 1:31] = 0
    assert not planes.any()


@pytest.mark.parametrize("across", [0, 32_700, 40_000])
def test_a_picture_too_wide_for_positions_of_32_bits(across: int) -> None:
    part = np.random.default_rng(6).integers(0, 256, (20, 64, 3), np.uint8)
    image = np.pad(part, ((0, 0), (across, 0), (0, 0)))
    planes = np.empty((3, 16, 40), np.float32)
    sample_planes(image, np.array([[1.2, 0.1, across + 2.3], [-0.05, 1, 3.4]]), planes, ONE, ZERO, False)
    alone = np.empty_like(planes)
    sample_planes(part, np.array([[1.2, 0.1, 2.3], [-0.05, 1, 3.4]]), alone, ONE, ZERO, False)
    np.testing.assert_allclose(planes, alone, atol=0.02)


@pytest.mark.parametrize("reverse", [False, True])
def test_planes_are_scaled_and_shifted_each_by_its_own_and_rows_may_be_apart(reverse: bool) -> None:
    image = np.random.default_rng(5).integers(0, 256, (20, 30, 3), np.uint8)
    whole = np.full((3, 21, 40), -7, np.float32)
    planes = whole[:, :20, :32]
    scale, shift = np.array([0.5, 0.25, 2], np.float32), np.array([1, -2, 3], np.float32)
    sample_planes(image, np.array([[1.0, 0, 0], [0, 1, 0]]), planes, scale, shift, reverse)
    colours = (image[:, :, ::-1] if reverse else image).transpose(2, 0, 1)
    np.testing.assert_allclose(planes[:, :, :30], colours * scale[:, None, None] + shift[:, None, None], rtol=1e-6)
    np.testing.assert_array_equal(planes[:, :, 31], np.tile(shift[:, None], 20))  # black
    assert (whole[:, 20:] == -7).all()
    assert (whole[:, :, 32:] == -7).all()


def test_a_filled_input_is_the_crop_also_where_the_image_is_halved_first() -> None:
    image = noise(400, 400)
    transform = geometry.crop_transform(Region(200, 190, 380, 10), SIZE)
    planes = np.empty((3, SIZE, SIZE), np.float32)
    align.fill(image, transform, planes, ONE, ZERO, reverse=False)
    assert np.abs(planes - align.crop(image, transform, SIZE).transpose(2, 0, 1)).max() <= 1.5


def test_colours_at_points_are_remembered_and_their_change_is_told() -> None:
    image = np.full((10, 12, 3), 100, np.uint8)
    points = np.array([[2, 3, 0], [5, 5, 0], [50, -9, 0], [7, 1, 0]], np.float32)  # the third, looked at too, lies outside
    colours = np.zeros((2, 3), np.float32)
    assert colours_change(image, points, 2, 1.0, 12.0, colours) == (pytest.approx(100), 0)
    np.testing.assert_array_equal(colours, 100)
    image[3, 2] = 130
    assert colours_change(image, points, 2, 0.5, 12.0, colours) == (pytest.approx(15), 0.5)
    np.testing.assert_allclose(colours, [[115] * 3, [100] * 3])
