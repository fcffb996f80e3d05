"""What is hidden, and what only seems to be."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.vision.mesh.occlusion import DOUBTS, YOUNG, uncovered
from realtime.vision.mesh.shade import new_history

COUNT = 100


def asked(hidden, inside, outside, times=1, hairline=0.0, watched=0):
    """The answers when the first `hidden` of a hundred vertices count as hidden, with this likeness there and elsewhere."""
    history, one = new_history(COUNT), np.ones(COUNT, np.float32)
    history.hidden[:hidden], history.watched[0] = 1, watched
    likeness = np.where(history.hidden > 0, inside, outside).astype(np.float32)
    return [bool(uncovered(one, np.full(COUNT, hairline, np.float32), one, likeness, history)) for _ in range(times)]


def test_what_looks_like_the_visible_part_is_the_face():
    assert asked(40, 0.6, 0.6) == [True]
    assert asked(40, 0.9, 0.6) == [True]


@pytest.mark.parametrize("hand", [0.3, 0.5, 0.65])
def test_a_hand_never_is(hand):
    assert not any(asked(40, hand, 0.9, times=20))


def test_what_looks_a_little_like_it_is_after_some_frames():
    answers = asked(40, 0.85, 1.0, times=6)
    assert answers.index(True) == DOUBTS - 1


def test_a_small_place_and_hair_are_not_asked_about():
    assert asked(8, 0.6, 0.6) == [False]
    assert asked(40, 0.6, 0.6, hairline=1.0) == [False]


def test_what_is_going_away_is_not_asked_about_until_it_stays():
    history, one = new_history(COUNT), np.ones(COUNT, np.float32)
    likeness, answers = np.full(COUNT, 0.6, np.float32), []
    history.doubt[1] = 0.6
    for hidden in (0.5, 0.4, 0.3, 0.3):
        history.hidden[:60] = hidden
        answers.append(bool(uncovered(one, np.zeros(COUNT, np.float32), one, likeness, history)))
    assert answers == [False, False, False, True]


def test_all_hidden_is_no_reason():
    assert asked(COUNT, 0.6, 0.6) == [False]


def test_a_face_that_is_new_is_begun_anew_whatever_it_looks_like():
    assert asked(8, 0.1, 0.9, watched=YOUNG) == [True]
    assert asked(1, 0.1, 0.9, watched=YOUNG) == [False]
