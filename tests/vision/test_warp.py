"""Pictures through an affine map: within a 64th of a pixel of what the formula says, at the borders too."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from realtime.types import Array
from realtime.vision import geometry
from realtime.vision.crops import join
from realtime.vision.warp import cut_out, draw_patch


def bilinear(picture: Array, back: Array, height: int, width: int) -> Array:
    """The formula, in float64; 0 outside of the picture."""
    padded = np.pad(picture.astype(float), ((1, 1), (1, 1), (0, 0)))
    y, x = np.mgrid[:height, :width]
    u, v = (back[n, 0] * x + back[n, 1] * y + back[n, 2] + 1 for n in (0, 1))
    inside = (u >= 0) & (v >= 0) & (u < padded.shape[1] - 1) & (v < padded.shape[0] - 1)
    u, v = np.where(inside, u, 0), np.where(inside, v, 0)
    left, top = u.astype(int), v.astype(int)
    fx, fy = (u - left)[..., None], (v - top)[..., None]
    upper = padded[top, left] * (1 - fx) + padded[top, left + 1] * fx
    lower = padded[top + 1, left] * (1 - fx) + padded[top + 1, left + 1] * fx
    return np.where(inside[..., None], upper * (1 - fy) + lower * fy, 0)


def smooth(seed: int, height: int, width: int, channels: int) -> Array:
    """Neighbours differ by few levels, so that a 64th of a pixel is little."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, channels), np.uint8)
    return np.ascontiguousarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC))


def inside(back: Array, height: int, width: int) -> NDArray[np.bool_]:
    """(height, width): where a pixel is made of the picture's own, not of its border."""
    y, x = np.mgrid[:height, :width]
    places = back @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    return np.asarray(((places > 0.5) & (places < np.array([[98.5], [78.5]]))).all(axis=0).reshape(height, width))


maps = st.builds(
    lambda angle, scale, x, y: geometry.invert(geometry.crop_transform(geometry.Region(x, y, 40 * scale, angle), 40)),
    st.floats(-180, 180),
    st.floats(0.2, 3),
    st.floats(-30, 130),
    st.floats(-30, 110),
)


@settings(max_examples=60, deadline=None)
@given(maps, st.integers(0, 99), st.integers(3, 90), st.integers(1, 70))
def test_a_crop_is_what_the_formula_says(back: Array, seed: int, height: int, width: int) -> None:
    picture = smooth(seed, 80, 100, 3)
    out = np.full((height, width, 3), 77, np.uint8)
    cut_out(picture, back, out)
    off = np.abs(out - bilinear(picture, back, height, width))
    assert off.max() <= 6  # the border is an edge: a 64th of a pixel there is four levels
    within = off[inside(back, height, width)]
    assert within.size < 1000 or within.mean() < 0.7  # of a few pixels, all of them may be where the picture is steep


@settings(max_examples=60, deadline=None)
@given(maps, st.integers(0, 99), st.integers(1, 90), st.integers(1, 70))
def test_a_patch_is_what_the_formula_says(back: Array, seed: int, height: int, width: int) -> None:
    picture = np.zeros((82, 102, 4), np.uint8)
    join(smooth(seed, 80, 100, 3), smooth(seed + 1, 80, 100, 1).reshape(80, 100), -1, -1, picture)
    colour, alpha = np.full((height, width, 3), 77, np.uint8), np.full((height, width), 77, np.uint8)
    draw_patch(picture, back, colour, alpha)
    off = np.abs(np.dstack([colour, alpha]) - bilinear(picture, back, height, width))
    assert off.max() <= 6  # the border is an edge: a 64th of a pixel there is four levels
    within = off[inside(back, height, width)]
    assert within.size < 1000 or within.mean() < 0.7  # of a few pixels, all of them may be where the picture is steep


def test_whole_steps_copy_levels_and_nothing_is_written_beside() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    room = np.full((3, 10, 30, 3), 77, np.uint8)
    cut_out(picture, np.array([[1.0, 0, -2], [0, 1, 15]]), room[1])
    expected = np.zeros((10, 30, 3), np.uint8)
    expected[:5, 2:] = picture[15:, :28]
    np.testing.assert_array_equal(room[1], expected)
    assert (room[[0, 2]] == 77).all()


@pytest.mark.parametrize(("left", "top"), [(3, 2), (-1, -1), (-40, 0), (0, 50), (25, 15)])
def test_a_window_is_the_crop_and_nothing_beyond(left: int, top: int) -> None:
    colour = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    alpha = np.random.default_rng(2).integers(0, 256, (20, 30), np.uint8)
    out = np.full((8, 12, 4), 77, np.uint8)
    join(colour, alpha, left, top, out)
    padded = np.pad(np.dstack([colour, alpha]), ((60, 60), (60, 60), (0, 0)))
    np.testing.assert_array_equal(out, padded[60 + top : 68 + top, 60 + left : 72 + left])
