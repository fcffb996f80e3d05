"""Hiding faces beside those that are swapped."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.types import Box, Image, Patch
from realtime.vision.cover import hide_beside, reaches
from realtime.vision.draw import hide


def noise() -> Image:
    return np.random.default_rng(5).integers(0, 256, (120, 160, 3), dtype=np.uint8)


def ring(x: int = 40, y: int = 30) -> Patch:
    """A round face of 40 pixels, open in the middle as at the eyes."""
    alpha = np.zeros((60, 60), np.uint8)
    cv2.circle(alpha, (30, 30), 20, 255, cv2.FILLED)
    cv2.circle(alpha, (30, 30), 8, 0, cv2.FILLED)
    return Patch(x, y, np.zeros((60, 60, 3), np.uint8), alpha)


def test_without_patches_it_is_hiding():
    image, wanted = noise(), noise()
    box = Box(10, 10, 70, 80)
    hide_beside(image, [box], [])
    hide(wanted, box)
    np.testing.assert_array_equal(image, wanted)


def test_what_lies_inside_a_swapped_face_stays_and_all_around_it_is_hidden():
    before = noise()
    image, hidden = before.copy(), before.copy()
    box = Box(20, 10, 130, 110)
    hide_beside(image, [box], [ring()])
    hide(hidden, box)
    inside = np.zeros(image.shape[:2], np.uint8)
    cv2.circle(inside, (70, 60), 19, 1, cv2.FILLED)
    np.testing.assert_array_equal(image[inside == 1], before[inside == 1])
    outside = np.ones(image.shape[:2], np.uint8)
    cv2.circle(outside, (70, 60), 22, 0, cv2.FILLED)
    np.testing.assert_array_equal(image[outside == 1], hidden[outside == 1])


def test_a_face_that_no_box_reaches_is_not_even_read():
    image, wanted = noise(), noise()
    box = Box(110, 90, 150, 115)
    hide_beside(image, [box], [Patch(40, 30, ring().colour, np.zeros((60, 60), np.uint8)), ring(0, 0)])
    hide(wanted, box)
    np.testing.assert_array_equal(image, wanted)


@pytest.mark.parametrize("alpha", [0, 100])
def test_a_patch_that_shows_little_spares_nothing(alpha):
    image, wanted = noise(), noise()
    box = Box(20, 10, 130, 110)
    faint = Patch(40, 30, ring().colour, np.full((60, 60), alpha, np.uint8))
    hide_beside(image, [box], [faint])
    hide(wanted, box)
    np.testing.assert_array_equal(image, wanted)


def test_a_patch_at_the_odd_edge_that_was_cut_off_is_no_obstacle():
    image, before = noise()[:90, :], noise()
    hide_beside(image, [Box(20, 10, 130, 90)], [ring(40, 35)])
    np.testing.assert_array_equal(image[75:84, 65:75], before[75:84, 65:75])
    assert (image[80:, 100:120] != before[80:90, 100:120]).any()


def test_values_of_a_level_are_counted_until_they_are_enough() -> None:
    alpha = np.zeros((8, 8), np.uint8)
    alpha[1, :3], alpha[6, 5] = 128, 127
    assert reaches(alpha, 128, 3.0) and not reaches(alpha, 128, 3.5) and reaches(alpha, 127, 4.0)
    assert reaches(alpha[::2, ::2], 127, 1.0) is False and reaches(alpha[1::2, ::2], 128, 2.0)
