"""Masks without a network, and the drawing below them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.models.masks.base import View, lay
from realtime.models.masks.shapes import BoxMask, HullMask, MouthMask
from realtime.types import Face, Floats
from realtime.vision import masks
from tests.models.swappers import scene

FRAME = np.zeros((480, 640, 3), np.uint8)


def looked(mask: HullMask | MouthMask, face: Face, shape: tuple[int, int]) -> np.ndarray:
    shown = np.empty(shape, np.uint8)
    lay(mask.look(FRAME, face), np.eye(2, 3), shown)
    return shown


def test_box_has_its_padding_and_blur() -> None:
    box = np.empty((100, 100), np.uint8)
    masks.fill_box(box, (0.1, 0.2, 0.3, 0.4), 0.05)
    assert box[:11].max() == box[:, 80:].max() == box[70:].max() == box[:, :40].max() == 0
    assert box[16:64, 46:74].min() == 255
    assert 0 < box[40, 42] < 255


def test_box_without_padding_or_blur_reaches_to_the_last_pixel_but_one() -> None:
    box = np.empty((64, 64), np.uint8)
    masks.fill_box(box, (0, 0, 0, 0), 0)
    assert box[1:-1, 1:-1].min() == 255
    assert box[0].max() == box[-1].max() == box[:, 0].max() == box[:, -1].max() == 0


@given(st.lists(st.floats(0, 0.6), min_size=4, max_size=4), st.floats(0, 1), st.integers(16, 64))
def test_box_is_dark_along_its_sides(padding: list[float], blur: float, size: int) -> None:
    box = np.empty((size, size), np.uint8)
    masks.fill_box(box, (padding[0], padding[1], padding[2], padding[3]), blur)
    assert box[0].max() == box[-1].max() == box[:, 0].max() == box[:, -1].max() == 0


def test_box_step_lowers_the_crops_mask() -> None:
    image, points = scene.picture("p006_studio")
    crop = scene.crop(image, scene.face(points))
    crop.mask[:] = 100
    BoxMask((0.5, 0, 0, 0), 0).finish(crop)
    assert crop.mask[:64].max() == 0
    assert crop.mask[66:120, 2:120].min() == 100


def test_hull_follows_the_landmarks() -> None:
    image, points = scene.picture("p006_studio")
    face, flat = scene.face(points), points[:, :2]
    shown = looked(HullMask(0, 0.02), face, image.shape[:2])
    centre = flat.mean(0)
    for vertex in (10, 152, 234, 454):
        x, y = (0.9 * flat[vertex] + 0.1 * centre).astype(int)
        assert shown[y, x] > 200
        x, y = (1.12 * flat[vertex] - 0.12 * centre).astype(int)
        assert shown[y, x] < 30


def test_hull_grows_with_its_padding_and_fades_with_its_blur() -> None:
    image, points = scene.picture("p006_studio")
    face = scene.face(points)
    bare, padded, blurred = (looked(HullMask(*each), face, image.shape[:2]) for each in ((0, 0.01), (0.1, 0.01), (0, 0.15)))
    assert 1.35 < (padded > 127).sum() / (bare > 127).sum() < 1.55
    assert ((blurred > 10) & (blurred < 245)).sum() > 4 * ((bare > 10) & (bare < 245)).sum()


def _with_lips(gap: float) -> tuple[Face, Floats]:
    """A face whose lips are `gap` pixels apart."""
    _, points = scene.picture("p006_studio")
    points = points.copy()
    inner = [78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95]
    across = np.linspace(0, 1, 11)
    line = points[78, :2] + across[:, None] * (points[308, :2] - points[78, :2])
    arch = gap / 2 * np.sin(np.pi * across)
    points[inner[:11], :2] = line - np.stack([0 * arch, arch], 1)
    points[[*inner[10:], inner[0]], :2] = line[::-1] + np.stack([0 * arch, arch], 1)
    return scene.face(points), points


def test_an_open_mouth_stays_live_and_a_closed_one_is_swapped() -> None:
    image, _ = scene.picture("p006_studio")
    face, points = _with_lips(40)
    x, y = points[[13, 14], :2].mean(0).astype(int)
    shown = looked(MouthMask(), face, image.shape[:2])
    assert shown[y, x] == 0
    assert shown[int(points[1, 1]), int(points[1, 0])] == 255
    closed, _ = _with_lips(0)
    assert looked(MouthMask(), closed, image.shape[:2]).min() == 255


def test_views_hold_beyond_what_was_seen() -> None:
    out = np.empty((20, 20), np.uint8)
    lay(View(np.full((4, 4), 9, np.uint8), np.array([[1.0, 0, -5], [0, 1, -5]]), 77), np.eye(2, 3), out)
    assert out[0, 0] == out[15, 15] == 77
    assert out[5:9, 5:9].max() == 9


@pytest.mark.parametrize(("level", "kept"), [(0, 0), (127, 0), (128, 1), (191, 127), (255, 255)])
def test_half_sure_is_not_shown(level: int, kept: int) -> None:
    mask = np.full((2, 2), level, np.uint8)
    masks.sharpen_edge(mask)
    assert mask[0, 0] == kept


def test_lowering_multiplies() -> None:
    mask = np.array([[255, 255, 100, 0]], np.uint8)
    masks.lower(mask, np.array([[255, 128, 128, 128]], np.uint8))
    np.testing.assert_array_equal(mask, [[255, 128, 50, 0]])


def test_shares_are_limited() -> None:
    mask = np.empty((1, 4), np.uint8)
    masks.fill_share(np.array([[-3, 0.5, 1, 7]], np.float32), mask)
    np.testing.assert_array_equal(mask, [[0, 128, 255, 255]])
