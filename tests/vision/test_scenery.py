from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.types import Box
from realtime.vision.geometry import grow
from realtime.vision.scenery import COLUMNS, ROWS, changed, jumped, sample

SIZE = (1280, 720)
FACE = Box(500, 200, 740, 500)
COVER = grow(FACE, 0.35)


def room(seed=1):
    return cv2.resize(np.random.default_rng(seed).integers(40, 200, (9, 16, 3), np.uint8), SIZE, interpolation=cv2.INTER_LINEAR)


def tell(before, now):
    samples = np.zeros((2, ROWS, COLUMNS, 3), np.uint8)
    for image, out in zip((before, now), samples, strict=True):
        sample(image, out)
    return jumped(*samples, SIZE, FACE, [COVER])


def with_face(image, left, top):
    copy = image.copy()
    copy[top : top + 300, left : left + 240] = (120, 160, 220)
    return copy


def test_a_cut_is_a_jump_and_the_same_picture_again_is_none():
    assert tell(room(1), room(2))
    assert not tell(room(1), room(1))


def test_so_is_a_face_that_is_elsewhere_and_a_picture_that_is_mirrored():
    before = with_face(room(), 500, 200)
    assert tell(before, with_face(room(), 980, 200))
    assert tell(with_face(room(), 300, 200), np.ascontiguousarray(with_face(room(), 300, 200)[:, ::-1]))


def test_what_happens_under_the_cover_is_none():
    assert not tell(with_face(room(), 500, 200), room())


@pytest.mark.parametrize("change", [
    lambda image: np.clip(image.astype(int) + np.random.default_rng(3).normal(0, 6, image.shape), 0, 255).astype(np.uint8),
    lambda image: np.clip(image.astype(int) + 20, 0, 255).astype(np.uint8),
    lambda image: np.roll(image, 8, axis=1),
    lambda image: with_face(image, 900, 690),
], ids=["noise", "a change of light", "a slow pan", "something small"])  # fmt: skip
def test_nor_is_what_happens_from_frame_to_frame(change):
    assert not tell(room(), change(room()))


def test_a_face_of_a_few_pixels_is_no_reason():
    """Three samples that changed are no jump, however small the face that is looked for."""
    before = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    now = before.copy()
    now[0, :3] = 200
    tiny = Box(600, 300, 612, 314)
    assert not jumped(before, now, SIZE, tiny, [tiny])
    now[0, 3] = 200
    assert jumped(before, now, SIZE, tiny, [tiny])


def test_a_cover_that_reaches_out_of_the_picture_is_cut():
    before = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    assert not jumped(before, np.full_like(before, 255), SIZE, FACE, [Box(-500, -500, 2000, 2000)])
    assert jumped(before, np.full_like(before, 255), SIZE, FACE, [Box(-900, -900, -100, -100)])


@pytest.mark.parametrize("size", [(1280, 720), (641, 363), (1920, 1080), (64, 36), (37, 21), (2160, 3840)])
def test_the_sample_is_the_nearest_pixels(size):
    image = np.random.default_rng(4).integers(0, 256, (size[1], size[0], 3), np.uint8)
    out, turned = np.zeros((2, ROWS, COLUMNS, 3), np.uint8)
    sample(image, out)
    assert (out == cv2.resize(image, (COLUMNS, ROWS), interpolation=cv2.INTER_NEAREST)).all()
    sample(image[::-1, ::-1], turned)  # a view is as good
    assert (turned == cv2.resize(image[::-1, ::-1].copy(), (COLUMNS, ROWS), interpolation=cv2.INTER_NEAREST)).all()


def test_a_pixel_has_changed_when_any_of_its_channels_differs_by_more_than_thirty_levels():
    before = np.full((ROWS, COLUMNS, 3), 100, np.uint8)
    now = before.copy()
    now[0, 0], now[0, 1], now[0, 2] = (130, 70, 130), (100, 131, 100), (100, 100, 69)
    other = changed(before, now)
    assert other[0, :4].tolist() == [0, 255, 255, 0] and np.count_nonzero(other) == 2
