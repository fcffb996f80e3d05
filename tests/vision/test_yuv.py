"""Conversion to and from video's planes, against exact arithmetic and against OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision.yuv import BT601, BT709, convertible, from_i420, from_planes, to_i420

LEVELS = 1.5
"""How far a level may lie from the exact value."""
LIGHT = {"601": (0.299, 0.114), "709": (0.2126, 0.0722)}
"""Shares of red and blue in luma: ITU-R BT.601, BT.709."""
SIZES = st.tuples(st.integers(16, 70), st.integers(1, 12)).map(lambda size: (2 * size[0], 2 * size[1]))


def noise(width: int, height: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def planes_of(image: np.ndarray) -> np.ndarray:
    planes = np.zeros((image.shape[0] * 3 // 2, image.shape[1]), np.uint8)
    to_i420(image, planes)
    return planes


def exact_planes(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Y of each pixel; U and V of the mean of four."""
    kr, kb = LIGHT["601"]
    blue, green, red = np.moveaxis(image.astype(float) / 255, 2, 0)
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    u, v = 128 + 112 * (blue - luma) / (1 - kb), 128 + 112 * (red - luma) / (1 - kr)
    half = (image.shape[0] // 2, 2, image.shape[1] // 2, 2)
    return 16 + 219 * luma, u.reshape(half).mean((1, 3)), v.reshape(half).mean((1, 3))


def exact_image(luma: np.ndarray, u: np.ndarray, v: np.ndarray, standard: str) -> np.ndarray:
    kr, kb = LIGHT[standard]
    y = (luma.astype(float) - 16) / 219
    u, v = ((plane.astype(float).repeat(2, 0).repeat(2, 1) - 128) / 224 for plane in (u, v))
    red, blue = y + 2 * (1 - kr) * v, y + 2 * (1 - kb) * u
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(255 * np.dstack([blue, green, red]), 0, 255)


@given(SIZES, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_planes_are_those_of_bt601(size: tuple[int, int], seed: int) -> None:
    image = noise(*size, seed)
    height, width = image.shape[:2]
    planes = planes_of(image)
    luma, u, v = exact_planes(image)
    flat = planes[height:].reshape(2, height // 2, width // 2)
    assert np.abs(planes[:height] - luma).max() <= LEVELS
    assert np.abs(flat[0] - u).max() <= LEVELS
    assert np.abs(flat[1] - v).max() <= LEVELS


@given(SIZES, st.integers(0, 99), st.sampled_from(["601", "709"]))
@settings(max_examples=40, deadline=None)
def test_pictures_are_those_of_the_matrix(size: tuple[int, int], seed: int, standard: str) -> None:
    width, height = size
    rng = np.random.default_rng(seed)
    luma = rng.integers(0, 256, (height, width + 6), np.uint8)
    u, v = (rng.integers(0, 256, (height // 2, width // 2 + 10), np.uint8) for _ in range(2))
    image = np.zeros((height, width, 3), np.uint8)
    matrix = {"601": BT601, "709": BT709}[standard]
    from_planes(luma.ravel(), u.ravel(), v.ravel(), (luma.shape[1], u.shape[1]), matrix, image)
    wanted = exact_image(luma[:, :width], u[:, : width // 2], v[:, : width // 2], standard)
    assert np.abs(image - wanted).max() <= 2  # 64ths of a factor times 127


@pytest.mark.parametrize("level", [0, 1, 127, 128, 254, 255])
def test_greys_come_back(level: int) -> None:
    image = np.full((4, 64, 3), level, np.uint8)
    back = np.zeros_like(image)
    planes = planes_of(image)
    from_i420(planes, back)
    assert (planes[4:] == 128).all()
    assert np.abs(back.astype(int) - level).max() <= 1


@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 255, 255), (255, 255, 0), (255, 0, 255)])
def test_full_colours_do_not_wrap(colour: tuple[int, int, int]) -> None:
    image = np.full((4, 64, 3), colour, np.uint8)
    back = np.zeros_like(image)
    from_i420(planes_of(image), back)
    assert np.abs(back.astype(int) - image).max() <= 3


def test_smooth_pictures_agree_with_opencv() -> None:
    image = cv2.resize(noise(8, 6), (200, 120), interpolation=cv2.INTER_CUBIC)
    planes = planes_of(image)
    luma = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)[:120]  # OpenCV's colour is that of one pixel in four
    assert np.abs(planes[:120].astype(int) - luma).max() <= 1
    back = np.zeros_like(image)
    from_i420(planes, back)
    assert np.abs(back.astype(int) - cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420)).max() <= 2


def test_nothing_beyond_the_planes_is_written() -> None:
    image, room = noise(70, 4), np.full(70 * 6 + 64, 7, np.uint8)
    to_i420(image, room[32:-32].reshape(6, 70))
    assert (room[:32] == 7).all() and (room[-32:] == 7).all()
    pixels = np.full(70 * 4 * 3 + 64, 7, np.uint8)
    from_i420(planes_of(image), pixels[32:-32].reshape(4, 70, 3))
    assert (pixels[:32] == 7).all() and (pixels[-32:] == 7).all()


@pytest.mark.parametrize("width", [2, 16, 30])
def test_pictures_narrower_than_a_block(width: int) -> None:
    image = np.full((4, width, 3), (40, 90, 200), np.uint8)
    back = np.zeros_like(image)
    from_i420(planes_of(image), back)
    assert np.abs(back.astype(int) - image).max() <= 3
    assert not convertible(width, 4)


@pytest.mark.parametrize(("width", "height", "fits"), [(32, 2, True), (33, 2, False), (32, 3, False), (1920, 1080, True)])
def test_sizes_that_can_be_converted(width: int, height: int, fits: bool) -> None:
    assert convertible(width, height) is fits
