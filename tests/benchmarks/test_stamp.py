"""The moment painted into a picture: read back after everything that the path does to it, or not at all."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import stamp
from realtime.trust.watermark import Marker

SIZES = ((640, 480), (854, 480), (1280, 720), (1920, 1080))
RNG = np.random.default_rng(3)


def noisy(size):
    return RNG.integers(0, 256, (size[1], size[0], 3), np.uint8)


def luma(image):
    return cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)[: image.shape[0]]


@pytest.mark.parametrize("size", SIZES)
def test_it_comes_back_from_i420_the_mark_and_jpeg(size):
    image = noisy(size)
    stamp.paint(image, 1234.567891)
    planes = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)
    Marker(*size, 2).mark_i420(planes)
    assert stamp.read(planes) == 1234567891
    again = cv2.imdecode(cv2.imencode(".jpg", cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420), [cv2.IMWRITE_JPEG_QUALITY, 60])[1], 1)
    assert stamp.read(luma(again)) == 1234567891


@given(st.integers(0, (1 << 40) - 1))
def test_every_moment_comes_back(microseconds):
    image = np.zeros((16, 640, 3), np.uint8)
    stamp.paint(image, microseconds / 1e6)
    assert stamp.read(image[..., 0]) == microseconds


@given(st.integers(0, 55))
def test_a_damaged_block_is_no_time(block):
    image = np.zeros((16, 640, 3), np.uint8)
    stamp.paint(image, 98765.4321)
    side = stamp.side(640)
    place = image[:side, block * side : (block + 1) * side]
    place[...] = 255 - place
    assert stamp.read(image[..., 0]) is None


def test_pictures_without_a_stamp_have_none():
    assert stamp.read(np.zeros((16, 640), np.uint8)) is None
    assert sum(stamp.read(luma(noisy((640, 480)))) is not None for _ in range(20)) == 0
    assert stamp.read(np.zeros((16, 100), np.uint8)) is None


def test_an_age_is_the_time_since_also_where_the_stamp_goes_round():
    image = np.zeros((16, 640, 3), np.uint8)
    stamp.paint(image, (1 << 40) / 1e6 - 0.01)
    assert stamp.age(image[..., 0], (1 << 40) / 1e6 + 0.02) == pytest.approx(0.03)
    assert stamp.age(np.zeros((16, 640), np.uint8), 1.0) is None


def test_nothing_below_the_border_is_touched_and_a_narrow_picture_is_refused():
    image = noisy((640, 480))
    before = image.copy()
    stamp.paint(image, 1.0)
    assert (image[stamp.side(640) :] == before[stamp.side(640) :]).all()
    with pytest.raises(ValueError, match="224 pixels wide, got 200"):
        stamp.paint(np.zeros((100, 200, 3), np.uint8), 1.0)
