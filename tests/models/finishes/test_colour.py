"""Colour and sharpness steps on a crop: what each brings, what it forgets, and what a second face has of its own."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.models.base import Crop
from realtime.models.finishes.colour import COLOURS, MotionBlur
from realtime.models.finishes.sharpen import Sharpen
from realtime.types import Array
from realtime.vision.sharpen import laplacian_energy
from tests.models.swappers import scene


def crop(tint: tuple[int, int, int] = (0, 0, 0), size: int = 128) -> Crop:
    """A real face; `swapped` is the same with a tint of BGR."""
    image, points = scene.picture("p006_studio")
    made = scene.crop(image, scene.face(points), size)
    made.swapped[...] = np.clip(made.swapped.astype(int) + tint, 0, 255)
    made.mask[...] = 0
    cv2.ellipse(made.mask, (size // 2, size // 2), (size // 3, size * 2 // 5), 0, 0, 360, 255, cv2.FILLED)
    return made


def means(image: Array, mask: Array) -> Array:
    return image[mask > 128].mean(0)


@pytest.mark.parametrize("name", ["lab", "histogram", "light", "poisson"])
def test_a_tint_goes(name: str) -> None:
    made = crop((40, -10, -30))
    wanted, off = means(made.before, made.mask), np.abs(means(made.swapped, made.mask) - means(made.before, made.mask)).max()
    COLOURS[name].make().finish(made)
    assert np.abs(means(made.swapped, made.mask) - wanted).max() < 0.2 * off


@pytest.mark.parametrize("name", COLOURS)
def test_what_matches_already_stays(name: str) -> None:
    made = crop()
    step = COLOURS[name].make()
    for _ in range(3):
        step.finish(made)
    changed = np.abs(made.swapped.astype(int) - made.before)[made.mask > 128]
    assert changed.mean() < (10 if name == "neck" else 4), "the neck's colour is not quite the face's"


def test_the_neck_sets_hue_and_saturation() -> None:
    made = crop((45, 0, -45))
    neck = COLOURS["neck"].make()
    before = made.swapped.copy()
    neck.finish(made)
    hue_off = [
        np.abs((cv2.cvtColor(each, cv2.COLOR_BGR2HSV)[..., 0][made.mask > 128].astype(int) - _hue(made) + 90) % 180 - 90).mean()
        for each in (before, made.swapped)
    ]
    assert hue_off[1] < 0.4 * hue_off[0]


def _hue(made: Crop) -> int:
    return int(np.median(cv2.cvtColor(made.before, cv2.COLOR_BGR2HSV)[..., 0][made.mask > 128]))


def test_a_neck_that_is_no_skin_changes_nothing() -> None:
    made = crop((45, 0, -45))
    frame = made.frame.copy()
    chin = int(made.face.landmarks.points[152, 1])
    frame[chin:] = (200, 40, 40)  # a blue scarf
    made.frame = frame
    before = made.swapped.copy()
    COLOURS["neck"].make().finish(made)
    np.testing.assert_array_equal(made.swapped, before)


def test_one_odd_frame_hardly_shows_and_a_lost_face_is_forgotten() -> None:
    step = COLOURS["lab"].make()
    for _ in range(4):
        step.finish(crop())
    odd = crop((60, 60, 60))
    step.finish(odd)
    kept = means(odd.swapped, odd.mask) - means(odd.before, odd.mask)
    assert kept.min() > 30, "three quarters of what was measured before is still in use"
    step.reset()
    anew = crop((60, 60, 60))
    step.finish(anew)
    assert np.abs(means(anew.swapped, anew.mask) - means(anew.before, anew.mask)).max() < 12


def test_a_second_face_has_measurements_of_its_own() -> None:
    step = COLOURS["lab"].make()
    for _ in range(4):
        step.finish(crop((60, 60, 60)))
    other = crop()
    step.fork().finish(other)
    assert np.abs(other.swapped.astype(int) - other.before)[other.mask > 128].mean() < 2


@pytest.mark.parametrize("name", COLOURS)
def test_where_nothing_is_masked_nothing_is_learnt(name: str) -> None:
    step, empty, made, alone = COLOURS[name].make(), crop((40, -10, -30)), crop(), crop()
    empty.mask[...] = 0
    step.finish(empty)
    step.finish(made)
    COLOURS[name].make().finish(alone)
    np.testing.assert_array_equal(made.swapped, alone.swapped)


def test_a_moving_face_is_blurred_along_its_way() -> None:
    step, made = MotionBlur(), crop()
    step.finish(made)
    still = made.swapped.copy()
    step.finish(made)
    np.testing.assert_array_equal(made.swapped, still)
    points = made.face.landmarks.points.copy()
    points[:, 0] += 24 / np.hypot(*made.transform[0, :2])  # 24 pixels of the crop to the right
    made.face = scene.face(points)
    step.finish(made)
    across, down = (np.abs(np.diff(made.swapped.astype(int), axis=axis)).mean() for axis in (1, 0))
    across_before, down_before = (np.abs(np.diff(still.astype(int), axis=axis)).mean() for axis in (1, 0))
    assert across < 0.6 * across_before
    assert down / down_before > 1.25 * across / across_before


def test_sharpening_reaches_the_frames_sharpness_and_no_more() -> None:
    made = crop(size=256)
    made.swapped[...] = cv2.GaussianBlur(made.swapped, (0, 0), 0.8)
    own, soft = (laplacian_energy(each, made.mask, 128) for each in (made.before, made.swapped))
    assert soft < 0.5 * own
    Sharpen().finish(made)
    after = laplacian_energy(made.swapped, made.mask, 128)
    assert 1.5 * soft < after < 1.6 * own
    sharp = crop(size=256)
    Sharpen().finish(sharp)
    np.testing.assert_array_equal(sharp.swapped, sharp.before)
