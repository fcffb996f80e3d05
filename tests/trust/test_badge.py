from __future__ import annotations

import numpy as np
import pytest

from realtime.trust.badge import CORNERS, Badge, _draw


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("size", [(640, 480), (1280, 720), (1920, 1080)])
def test_it_is_in_its_corner_and_touches_nothing_else(size: tuple[int, int], corner: str) -> None:
    width, height = size
    image = np.full((height, width, 3), 128, np.uint8)
    badge = Badge(width, height, corner)
    badge.stamp(image)
    left, top, right, bottom = badge.box
    assert (right + left < width) == corner.endswith("left") and (top + bottom < height) == corner.startswith("top")
    assert 0.03 < (bottom - top) / height < 0.07
    outside = np.ones((height, width), bool)
    outside[top:bottom, left:right] = False
    assert (image[outside] == 128).all()


@pytest.mark.parametrize("level", [0, 128, 255])
def test_the_letters_stand_out_from_their_plate_on_any_background(level: int) -> None:
    image = np.full((720, 1280, 3), level, np.uint8)
    badge = Badge(1280, 720)
    badge.stamp(image)
    left, top, right, bottom = badge.box
    label = image[top:bottom, left:right, 1].astype(int)
    plate = label[-4, label.shape[1] // 2]  # below the letters
    assert label.max() == 255 and plate <= 100
    assert 0.08 < (label > 230).mean() < 0.4 or level == 255


def test_two_strokes_and_a_bar_are_drawn() -> None:
    image = np.zeros((720, 1280, 3), np.uint8)
    badge = Badge(1280, 720)
    badge.stamp(image)
    left, top, right, bottom = badge.box
    row = image[top + round((bottom - top) * 0.72), left:right, 0] > 140
    assert np.count_nonzero(np.diff(row.astype(int)) == 1) == 3, "both legs of the A, and the I"


def test_it_is_legible_small_and_safe_in_tiny_pictures() -> None:
    assert Badge(320, 180).box[3] - Badge(320, 180).box[1] >= 14
    for width, height in ((16, 8), (2, 2), (30, 16)):
        image = np.zeros((height, width, 3), np.uint8)
        for corner in CORNERS:
            Badge(width, height, corner).stamp(image)
        assert image.any() or height < 8


def test_unknown_corners_are_refused() -> None:
    with pytest.raises(ValueError, match="top-left"):
        Badge(64, 48, "middle")


def test_it_is_laid_over_the_picture_as_opaque_as_it_was_drawn() -> None:
    image = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)
    badge, before = Badge(1280, 720), image.astype(float)
    badge.stamp(image)
    left, top, right, bottom = badge.box
    ink, opacity = (plane[..., None] for plane in _draw(bottom - top))
    expected = before[top:bottom, left:right] * (1 - opacity) + ink * opacity
    assert np.abs(image[top:bottom, left:right] - expected).max() <= 1.5
