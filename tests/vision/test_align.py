"""Aligned crops, and pixels to planes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision import geometry
from realtime.vision.align import ARCFACE_112, align, crop
from realtime.vision.planes import fill_normalised, fill_planes


def dotted(points: np.ndarray, radius: int) -> np.ndarray:
    image = np.zeros((600, 800, 3), np.uint8)
    for x, y in points:
        cv2.circle(image, (round(x * 16), round(y * 16)), radius * 16, (255, 255, 255), -1, cv2.LINE_AA, 4)
    return image


@settings(max_examples=20, deadline=None)
@given(st.floats(1, 5), st.floats(-0.6, 0.6), st.floats(-15, 15), st.floats(-15, 15))
def test_five_points_come_to_lie_on_the_template(scale: float, turn: float, x: float, y: float) -> None:
    cos, sin = scale * np.cos(turn), scale * np.sin(turn)
    out = np.array([[cos, -sin, 0], [sin, cos, 0]])
    out[:, 2] = np.array([400 + x, 300 + y]) - out[:, :2] @ (56, 56)
    points = geometry.apply(out, ARCFACE_112)
    face, transform = align(dotted(points, round(3 * scale)), points, ARCFACE_112, 112)
    np.testing.assert_allclose(geometry.apply(transform, points), ARCFACE_112, atol=0.01)
    grey = face[:, :, 0].astype(np.float64)
    rows, columns = np.mgrid[:112, :112]
    for px, py in ARCFACE_112:
        near = (np.hypot(columns - px, rows - py) < 6) * grey
        assert near.sum() > 0
        assert (near * columns).sum() / near.sum() == pytest.approx(px, abs=0.35)
        assert (near * rows).sum() / near.sum() == pytest.approx(py, abs=0.35)


def test_a_much_finer_image_is_averaged_instead_of_skipped() -> None:
    checks = np.kron(np.indices((400, 400)).sum(0) % 2, np.ones((2, 2))).astype(np.uint8) * 255
    shrink = np.array([[0.1, 0, 10], [0, 0.1, 10]])
    face = crop(np.dstack([checks] * 3), shrink, 100)
    inner = face[20:80, 20:80]
    assert abs(float(inner.mean()) - 127.5) < 3
    assert float(inner.std()) < 30


def test_a_crop_outside_the_image_is_black() -> None:
    image = np.full((50, 50, 3), 200, np.uint8)
    far = np.array([[0.1, 0, -500], [0, 0.1, -500]])
    assert not crop(image, far, 64).any()


@pytest.mark.parametrize("reverse", [False, True])
def test_planes_hold_the_scaled_pixels_and_nothing_else_is_touched(reverse: bool) -> None:
    image = np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8)
    planes = np.full((3, 8, 9), -1, np.float32)
    fill_planes(image, planes, 0.5, reverse)
    expected = image[:, :, ::-1] if reverse else image
    np.testing.assert_array_equal(planes[:, :5, :7], expected.transpose(2, 0, 1) * np.float32(0.5))
    assert (planes[:, 5:] == -1).all()
    assert (planes[:, :, 7:] == -1).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_planes_are_scaled_and_shifted_each_by_its_own(reverse: bool) -> None:
    image = np.random.default_rng(2).integers(0, 256, (5, 7, 3), np.uint8)
    planes = np.full((3, 8, 9), -9, np.float32)
    scale, shift = np.array([0.5, 0.25, 2], np.float32), np.array([1, -2, 3], np.float32)
    fill_normalised(image, planes, scale, shift, reverse)
    expected = (image[:, :, ::-1] if reverse else image).transpose(2, 0, 1) * scale[:, None, None] + shift[:, None, None]
    np.testing.assert_allclose(planes[:, :5, :7], expected, rtol=1e-6)
    assert (planes[:, 5:] == -9).all()
    assert (planes[:, :, 7:] == -9).all()
