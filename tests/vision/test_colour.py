"""Colour measurements and what is made of them, against hand-computed cases."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.vision import colour
from realtime.vision.sharpen import laplacian_energy, sharpen

FULL = np.full((64, 64), 255, np.uint8)


def noise(mean: tuple[int, int, int], spread: float, seed: int = 0, size: int = 64) -> np.ndarray:
    values = np.random.default_rng(seed).normal(mean, spread, (size, size, 3))
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def test_mean_and_deviation_are_taken_under_the_mask() -> None:
    image, mask = noise((60, 120, 200), 10), np.zeros((64, 64), np.uint8)
    image[:, 32:] = 0
    mask[:, :32] = 200
    measured = colour.mean_and_deviation(image, mask)
    assert measured is not None
    shown = image[:, :32].reshape(-1, 3).astype(float)
    np.testing.assert_allclose(measured, [shown.mean(0), shown.std(0)], rtol=1e-5)
    assert colour.mean_and_deviation(image, np.zeros_like(mask)) is None


def test_transfer_takes_mean_and_deviation_over() -> None:
    of, to = noise((90, 110, 130), 12), noise((120, 100, 160), 10, 1)
    levels = colour.transfer(*(colour.mean_and_deviation(each, FULL) for each in (of, to)))  # type: ignore[arg-type]
    colour.apply_levels(of, levels)
    made, wanted = (colour.mean_and_deviation(each, FULL) for each in (of, to))
    np.testing.assert_allclose(made, wanted, atol=0.6)


def test_transfer_gives_no_contrast_that_was_not_there() -> None:
    flat, wild = np.array([[100] * 3, [2] * 3], np.float32), np.array([[100] * 3, [60] * 3], np.float32)
    levels = colour.transfer(flat, wild)
    np.testing.assert_allclose(np.diff(levels[:, 0]), 1.5, rtol=1e-5)


def test_histograms_match() -> None:
    of, to = noise((90, 110, 130), 12), noise((120, 60, 160), 25, 1)
    levels = colour.matched(colour.histograms(of, FULL), colour.histograms(to, FULL))  # type: ignore[arg-type]
    colour.apply_levels(of, levels)
    for k in range(3):
        np.testing.assert_allclose(np.percentile(of[..., k], [5, 25, 50, 75, 95]), np.percentile(to[..., k], [5, 25, 50, 75, 95]), atol=4)


@given(st.integers(0, 1000))
def test_matching_with_itself_changes_nothing_much(seed: int) -> None:
    image = noise((90, 110, 130), 20, seed, 32)
    own = colour.histograms(image, FULL[:32, :32])
    copy = image.copy()
    colour.apply_levels(copy, colour.matched(own, own))  # type: ignore[arg-type]
    np.testing.assert_array_equal(copy, image)


def test_low_frequencies_bring_light_and_leave_detail() -> None:
    ramp = np.linspace(-40, 40, 128, dtype=np.float32)[None, :, None]
    detail = noise((120, 120, 120), 8, size=128)
    before = np.clip(detail.astype(np.float32)[::-1] + ramp, 0, 255).astype(np.uint8)
    swapped = detail.copy()
    mask = np.full((128, 128), 255, np.uint8)
    colour.add_small(swapped, colour.low_frequencies(before, swapped, mask, 0.1))
    added = swapped.astype(np.float32) - detail
    np.testing.assert_allclose(added[:, 16:-16].mean(0), np.broadcast_to(ramp[0, 16:-16], (96, 3)), atol=7)
    assert added[:, 60:68].std() < 3, "no detail of the other picture comes over"


def test_low_frequencies_ask_only_what_the_mask_shows() -> None:
    before, swapped, mask = (np.full((128, 128, 3), level, np.uint8) for level in (140, 100, 255))
    before[:, 64:] = 255
    shown = mask[..., 0].copy()
    shown[:, 64:] = 0
    offsets = colour.low_frequencies(before, swapped, shown, 0.14)
    np.testing.assert_allclose(offsets[:, :14], 40, atol=3)


def test_small_offsets_are_enlarged_bilinearly() -> None:
    offsets = np.random.default_rng(0).uniform(-50, 50, (32, 32, 3)).astype(np.float32)
    image = np.full((96, 96, 3), 120, np.uint8)
    colour.add_small(image, offsets)
    expected = np.rint(120 + cv2.resize(offsets, (96, 96), interpolation=cv2.INTER_LINEAR))
    assert np.abs(image - expected).max() <= 1


def test_hues_run_round() -> None:
    reds = np.zeros((16, 16, 3), np.uint8)
    hsv = np.stack([np.where(np.indices((16, 16))[1] % 2, 178, 4), np.full((16, 16), 120), np.full((16, 16), 180)], -1).astype(np.uint8)
    reds = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
    measured = colour.hue_and_saturation(reds)
    assert measured is not None
    assert abs((measured[0] - 1 + 90) % 180 - 90) < 1.5
    assert measured[1] == pytest.approx(120, abs=3)
    assert colour.hue_and_saturation(np.zeros((16, 16, 3), np.uint8)) is None


@given(st.floats(0, 179), st.floats(60, 140), st.floats(-30, 30), st.floats(0.7, 1.4))
def test_colours_are_turned_to_another_hue_and_saturation(hue: float, saturation: float, turn: float, gain: float) -> None:
    of, to = (np.array(each, np.float32) for each in ((hue, saturation), ((hue + turn) % 180, saturation * gain)))
    hsv = np.full((16, 16, 3), (round(hue), round(saturation), 150), np.uint8)
    image = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
    colour.apply_matrix(image, colour.towards(of, to))
    made = colour.hue_and_saturation(image)
    assert made is not None
    assert abs((made[0] - to[0] + 90) % 180 - 90) < 6, "hexagon and circle differ by some degrees"
    assert made[1] / saturation == pytest.approx(gain, abs=0.3), "it is measured on a cone and scaled on a circle"


def test_greys_stay_grey() -> None:
    image = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, 2)
    before = image.copy()
    colour.apply_matrix(image, colour.towards(np.array([10, 100], np.float32), np.array([40, 140], np.float32)))
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize(
    ("other", "same"), [((10, 120), True), ((178, 100), True), ((30, 120), False), ((110, 90), False), ((8, 20), False), ((8, 250), True)]
)
def test_a_collar_is_no_skin(other: tuple[float, float], same: bool) -> None:
    assert colour.is_same_skin(np.array([8, 120], np.float32), np.array(other, np.float32)) is same


def test_clone_keeps_the_place_and_takes_the_light() -> None:
    before, swapped = np.full((64, 64, 3), 160, np.uint8), np.full((64, 64, 3), 100, np.uint8)
    swapped[30:34, 30:34] = 60
    mask = np.zeros((64, 64), np.uint8)
    mask[10:54, 12:50] = 255
    made = colour.clone(before, swapped, mask)
    assert abs(int(made[20, 20, 0]) - 160) <= 3
    assert made[32, 32, 0] < 130, "the spot is where it was"
    assert made[32, 24, 0] > 150
    np.testing.assert_array_equal(colour.clone(before, swapped, np.zeros_like(mask)), swapped)


@given(st.floats(-9, 9), st.floats(-9, 9))
def test_a_streak_is_as_long_as_the_move(x: float, y: float) -> None:
    kernel = colour.streak(np.array([x, y], np.float32))
    assert kernel.sum() == pytest.approx(1, abs=1e-4)
    size = kernel.shape[0]
    assert size % 2 == 1 and kernel.shape == (size, size)
    at = np.arange(size) - size // 2
    across, down = kernel.sum(0), kernel.sum(1)
    assert (across * at).sum() == pytest.approx(0, abs=1e-3)
    assert (down * at**2).sum() == pytest.approx(y * y / 12, abs=0.3), "the variance of an even spread over the move"
    assert (across * at**2).sum() == pytest.approx(x * x / 12, abs=0.3)


def test_sharpening_adds_the_laplacian() -> None:
    image = noise((120, 120, 120), 20)
    out = image.copy()
    sharpen(image, 0.25, out)
    kernel = np.array([[0, -1, 0], [-1, 4, -1], [0, -1, 0]], np.float32)
    expected = np.clip(image + 0.25 * cv2.filter2D(image.astype(np.float32), -1, kernel), 0, 255)
    assert np.abs(out[1:-1, 1:-1] - expected[1:-1, 1:-1]).max() <= 0.5001
    np.testing.assert_array_equal(out[0], image[0])
    inner = cv2.filter2D(image[..., 1].astype(np.float64), -1, kernel)[1:-1, 1:-1]
    assert laplacian_energy(image, FULL, 128) == pytest.approx((inner**2).mean(), rel=1e-6)
    assert laplacian_energy(image, np.zeros_like(FULL), 128) == -1
