"""What is remembered of the faces in view beside the one that is followed, and what of it has to be hidden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from realtime.models.detectors.fake import FakeDetector
from realtime.tracking.moment import Moment
from realtime.tracking.others import GAP, Other, Others, main_score, near
from realtime.tracking.state import TrackerSettings
from realtime.tracking.surroundings import Surroundings, best_match, sane
from realtime.types import Box, Detection

IMAGE = np.zeros((480, 640, 3), np.uint8)
HERE, THERE = Box(100, 100, 180, 200), Box(400, 300, 480, 400)


def seen(box: Box, score: float = 0.9) -> Detection:
    return Detection(box, np.zeros((5, 2), np.float32), score)


def other(box: Box, last: float = 5.0, **known: bool) -> Other:
    return Other(seen(box), 0.5, 0.0, 0.0, last, box, box, **known)


def surroundings(*looks: list[Detection]) -> Surroundings:
    return Surroundings(FakeDetector(list(looks)), TrackerSettings())


@pytest.mark.parametrize(
    ("known", "hidden"),
    [
        ({}, True),
        ({"moved": True}, True),
        ({"moved": True, "stranger": True}, True),
        ({"stranger": True}, False),
    ],
    ids=["a face that was not looked at", "one that moved", "a stranger who moves", "a picture of somebody else"],
)
def test_a_lost_person_may_be_any_face_in_view_but_a_known_picture(known, hidden):
    view = surroundings([])
    view.others.faces = [other(THERE, **known)]
    assert view.around(HERE, 5.0) == (Box(100, 100, 480, 400) if hidden else HERE)
    assert view.around(HERE, 5.1) == HERE, "it is not in view any more"


def test_faces_in_view_are_hidden_the_small_and_not_the_unsure_ones_until_they_are_out_of_date():
    small = Box(10, 10, 14, 14)
    view = surroundings([seen(HERE), seen(small), seen(THERE, score=0.01)])
    found = view.look(Moment(IMAGE, 1.0))
    assert [face.detection.box for face in found] == [HERE]
    assert view.in_view(1.0) == (HERE, small)
    assert view.in_view(1.29) == (HERE, small)
    assert view.in_view(9.0) == ()


@pytest.mark.parametrize(("found", "why"), [([], "no detection"), ([Box(10, 10, 14, 14)], "too small")])
def test_why_nobody_was_found(found, why):
    view = surroundings([seen(box) for box in found])
    assert view.look(Moment(IMAGE, 1.0)) == [] and view.nobody == why


@pytest.mark.parametrize("box", [Box(math.nan, 0, 1, 1), Box(0, 0, math.inf, 1), Box(700, 500, 800, 600)])
def test_what_is_no_place_in_the_frame_is_no_face(box):
    assert not sane(seen(box), IMAGE)
    assert sane(seen(HERE), IMAGE) and not sane(seen(HERE, score=math.nan), IMAGE)


def test_the_followed_face_is_the_detection_over_its_mesh():
    near_it, far = seen(Box(105, 100, 185, 200)), seen(THERE)
    assert best_match([far, near_it], HERE) is near_it
    assert best_match([far], HERE) is None and best_match([], HERE) is None


def test_the_larger_the_more_central_and_the_surer_face_matters_more():
    centre = Box(280, 190, 360, 290)
    score = main_score(centre, 0.9, 480, 640)
    assert score > main_score(centre, 0.8, 480, 640)
    assert score > main_score(Box(0, 0, 80, 100), 0.9, 480, 640)
    assert main_score(Box(240, 140, 400, 340), 0.9, 480, 640) == pytest.approx(2 * score)


def test_boxes_of_one_face_a_moment_apart():
    assert near(HERE, Box(150, 100, 230, 200), 0.75)
    assert not near(HERE, Box(200, 100, 280, 200), 0.75), "too far"
    assert not near(HERE, Box(100, 100, 260, 300), 0.75), "twice as large"
    assert not near(HERE, Box(100, 100, 100, 100), 0.75)


@pytest.mark.parametrize(("gap", "since"), [(GAP - 0.1, 0.0), (GAP + 0.1, GAP + 0.1)])
def test_a_face_missed_for_a_moment_stays_in_view_and_one_gone_for_longer_comes_anew(gap, since):
    others = Others()
    others.update([(seen(HERE), 0.5)], 0.0, 640)
    (face,) = others.update([(seen(HERE), 0.5)], gap, 640)
    assert face.since == since and face.first == 0.0 and face.last == gap


def test_a_face_that_moves_has_moved_for_good_and_one_that_wanders_by_pixels_has_not():
    others = Others()
    for step in range(40):
        (still,) = others.update([(seen(Box(100 + step % 3, 100, 180 + step % 3, 200)), 0.5)], 0.1 * step, 640)
    assert not still.moved
    for step in range(20):
        (face,) = others.update([(seen(Box(100 + 2 * step, 100, 180 + 2 * step, 200)), 0.5)], 4 + 0.1 * step, 640)
    assert face is still and face.moved
    (face,) = others.update([(seen(Box(100, 100, 180, 200)), 0.5)], 6.1, 640)
    assert face is still and face.moved


def test_the_best_come_first_and_those_unseen_for_long_are_forgotten():
    others = Others()
    others.update([(seen(HERE), 0.2), (seen(THERE), 0.7)], 0.0, 640)
    assert [face.score for face in others.update([(seen(HERE), 0.2), (seen(THERE), 0.7)], 1.0, 640)] == [0.7, 0.2]
    others.update([(seen(HERE), 0.2)], 31.0, 640)
    assert len(others.faces) == 2, "the other was seen 30 s ago"
    others.update([(seen(HERE), 0.2)], 31.1, 640)
    assert len(others.faces) == 1


def test_a_crowd_is_remembered_up_to_its_limit_the_newest_first():
    others = Others()
    for step in range(12):
        others.update([(seen(Box(50 * step, 0, 50 * step + 20, 20)), 0.5)], 0.1 * step, 640)
    assert len(others.faces) == others.most
    assert [face.detection.box.x0 for face in others.faces] == [50 * step for step in range(11, 3, -1)]


def test_looks_at_a_stranger_become_rarer_and_doubt_asks_again():
    face = other(HERE)
    waits = []
    for _ in range(4):
        face.looked(10.0, same=False)
        waits.append(face.next_look - 10.0)
    assert waits == pytest.approx([0.4, 0.8, 1.2, 1.2]) and face.stranger
    face.doubt(11.0)
    assert not face.stranger and face.looks == 0 and face.next_look == 11.0
    face.looked(12.0, same=True)
    face.doubt(13.0)
    assert not face.stranger and face.looks == 1 and face.next_look == pytest.approx(12.4), "who is known is not doubted"
