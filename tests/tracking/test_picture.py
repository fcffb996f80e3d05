"""What a few hundred pixels tell: a cut, and that somebody came into the picture."""

from __future__ import annotations

import numpy as np

from realtime.tracking.picture import Picture
from realtime.types import Box

FACE = Box(280, 180, 380, 280)


def room(level: int = 90) -> np.ndarray:
    return np.full((480, 640, 3), level, np.uint8)


def test_another_picture_is_a_cut_and_a_face_that_comes_is_none():
    picture, came = Picture(), room()
    came[180:280, 20:120] = 200
    assert [picture.cut(image) for image in (room(), room(), came, room(200), room(200))] == [False, False, False, True, False]


def test_who_comes_in_is_noticed_and_the_face_itself_and_hands_below_are_not():
    picture, moved, came = Picture(), room(), room()
    moved[170:300, 270:400] = 200
    moved[300:, 200:460] = 200
    came[150:250, 20:120] = 200
    for at, image, found in ((0.0, room(), False), (0.2, moved, False), (0.4, came, True)):
        picture.cut(image)
        assert picture.came(image, at, FACE, []) is found
    picture.looked(0.4, FACE, found=True)
    assert not picture.came(came, 0.9, FACE, []), "it was looked at"
    assert not picture.came(room(), 0.9, FACE, [Box(20, 150, 120, 250)])
