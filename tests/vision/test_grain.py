"""Grain of the frame on the painted face: known noise is measured and laid on, skin and edges are not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.vision.mesh.grain import add_grain, grain, match_grain
from realtime.vision.mesh.topology import load_topology

SIDE, X, Y = 240, 60, 40
WHOLE = np.full((150, 150), 255, np.uint8)


def _noisy(deviation: float, level: float = 128.0, side: int = SIDE) -> np.ndarray:
    noise = np.random.default_rng(5).normal(level, deviation, (side, side, 3))
    return np.clip(noise.round(), 0, 255).astype(np.uint8)


def _points() -> tuple[np.ndarray, np.ndarray]:
    topology = load_topology()
    points = topology.xyz * np.array([7, -7, 7], np.float32) + np.array([X + 75, Y + 75, 0], np.float32)
    return np.ascontiguousarray(points, np.float32), topology.skin


def _clean(level: int = 128) -> np.ndarray:
    return np.full((150, 150, 3), level, np.uint8)


def _matched(image: np.ndarray, patch: np.ndarray) -> np.ndarray:
    points, skin = _points()
    out = patch.copy()
    match_grain(image, points, skin, X, Y, out, WHOLE, True, np.full(2, -1, np.float32))
    return out


@pytest.mark.parametrize("deviation", [4.0, 8.0, 14.0])
def test_noise_is_measured_and_laid_on(deviation: float) -> None:
    points, skin = _points()
    seen, own = grain(_noisy(deviation), points, skin, X, Y, _clean(), WHOLE)
    assert seen == pytest.approx(deviation, rel=0.15) and own == 0
    out = _matched(_noisy(deviation), _clean())
    assert out.std() == pytest.approx(deviation, rel=0.2)
    assert out.mean() == pytest.approx(128, abs=0.3)
    inner = out.astype(float)[1:-1, 1:-1], _noisy(deviation)[Y + 1 : Y + 149, X + 1 : X + 149].astype(float)
    assert np.corrcoef(inner[0].ravel(), inner[1].ravel())[0, 1] > 0.8, "the very noise of the frame"


def test_a_patch_that_is_as_noisy_is_left_alone() -> None:
    patch = np.ascontiguousarray(_noisy(6.0, side=300)[150:, 150:])
    np.testing.assert_array_equal(_matched(_noisy(6.0), patch), patch)


def test_detail_that_is_coarser_than_noise_is_not_taken_for_grain() -> None:
    texture = cv2.GaussianBlur(np.random.default_rng(2).normal(0, 60, (SIDE, SIDE)), (0, 0), 2.0) + 128
    image = np.repeat(np.clip(texture, 0, 255).astype(np.uint8)[..., None], 3, axis=2)
    np.testing.assert_array_equal(_matched(image, _clean()), _clean())


def test_edges_of_the_hidden_face_do_not_show() -> None:
    image = _noisy(5.0)
    image[Y + 70 : Y + 74] = 20
    out = _matched(image, _clean()).astype(float)
    assert np.abs(out[68:76].mean((1, 2)) - 128).max() < 1.5
    assert out[10:60].std() > 3


def test_what_is_hidden_is_not_looked_at() -> None:
    points, skin = _points()
    assert grain(_noisy(8.0), points, skin, X, Y, _clean(), np.zeros_like(WHOLE)) == (0, 0)


@pytest.mark.parametrize("x, y", [(0, 0), (SIDE - 150, SIDE - 150), (1, SIDE - 150)])
def test_a_patch_at_the_border_of_the_frame(x: int, y: int) -> None:
    image, out = _noisy(6.0), _clean()
    add_grain(image, x, y, np.float32(0.8), np.float32(20), out, WHOLE)
    assert out.std() > 3
    if x == 0:
        np.testing.assert_array_equal(out[:, 0], 128)


def test_levels_stay_within_bounds() -> None:
    for level in (0, 255):
        out = _clean(level)
        add_grain(_noisy(12.0), X, Y, np.float32(0.8), np.float32(40), out, WHOLE)
        assert np.abs(out.astype(int) - level).max() < 100


def test_what_is_transparent_at_the_ends_of_a_row_is_left() -> None:
    alpha, out = np.zeros_like(WHOLE), _clean()
    alpha[:, 40:90], alpha[20] = 200, 0
    add_grain(_noisy(6.0), X, Y, np.float32(0.8), np.float32(20), out, alpha)
    changed = (out != 128).any(2)
    assert not changed[:, :40].any() and not changed[:, 90:].any() and not changed[20].any()
    assert changed[30:, 40:90].mean() > 0.8
