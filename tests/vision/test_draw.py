from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.types import Box
from realtime.vision.draw import covers, hide, pixels, placeholder

numbers = st.floats(-300, 300, allow_nan=False)
boxes = st.builds(lambda x, y, w, h: Box(x, y, x + w, y + h), numbers, numbers, st.floats(0, 400), st.floats(0, 400))


@given(boxes)
def test_hiding_leaves_nothing_of_the_content_and_touches_nothing_else(box):
    image = np.random.default_rng(1).integers(0, 256, (60, 90, 3), np.uint8)
    before = image.copy()
    hide(image, box)
    x0, y0, x1, y1 = pixels(box, 90, 60)
    assert len(np.unique(image[y0:y1, x0:x1].reshape(-1, 3), axis=0)) <= 1
    before[y0:y1, x0:x1] = image[y0:y1, x0:x1]
    assert np.array_equal(image, before)


@given(boxes)
def test_pixels_take_in_every_pixel_the_box_touches(box):
    x0, y0, x1, y1 = pixels(box, 90, 60)
    assert 0 <= x0 <= x1 <= 90 and 0 <= y0 <= y1 <= 60
    assert x0 <= max(box.x0, 0) or x0 == 90
    assert x1 >= min(box.x1, 90) or x1 == 0


def test_covers_the_picture_or_not():
    assert covers(Box(-9, -9, 100, 100), 90, 60)
    assert not covers(Box(10, 10, 40, 40), 90, 60)


@pytest.mark.parametrize("size", [(64, 64), (640, 360), (1920, 1080)])
def test_placeholder_has_the_size_and_is_a_picture(size):
    card = placeholder(*size, "The face is hidden")
    assert card.shape == (size[1], size[0], 3)
    assert card.flags.c_contiguous
    assert card.std() > 3
