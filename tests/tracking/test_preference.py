"""The one face that is chosen by where it is."""

from __future__ import annotations

import pytest

from realtime.tracking import Ranked, Tracked, Tracker, TrackerSettings, largest, left, nth, right
from realtime.tracking.preference import Rank
from tests.tracking.scene import Person, Run, SceneDetector, SceneLandmarker, SceneRecogniser, at, between, either, seated

ANNA, BEN, CARL = 1, 2, 3
THREE = (Person(seated(120, 240, 100), ANNA), Person(seated(320, 240, 130), BEN), Person(seated(530, 240, 90), CARL))
RECOGNISER = pytest.mark.parametrize("identity", [True, False], ids=["with a recogniser", "without"])
RANKS = {"largest": (largest, BEN), "left": (left, ANNA), "right": (right, CARL), "index 2": (nth(2), BEN), "index 3": (nth(3), CARL)}


def chosen(rank: Rank, *people: Person, identity: bool = True, noise: float = 0.0, detect_every: float = 1.0) -> Run:
    run = Run(*people, noise=noise)
    settings = TrackerSettings(takeover=1.0, detect_every=detect_every)
    recogniser = SceneRecogniser(run.scene) if identity else None
    run.tracker = Tracker(SceneDetector(run.scene), SceneLandmarker(run.scene), recogniser, settings, Ranked(rank))
    return run


def hides(answer: Tracked, x: float) -> bool:
    boxes = (*answer.hidden, *((answer.last_box,) if answer.face is None and answer.last_box is not None else ()))
    return answer.anywhere or any(box.x0 <= x < box.x1 for box in boxes)


@RECOGNISER
@pytest.mark.parametrize(("rank", "who"), RANKS.values(), ids=RANKS)
def test_a_rank_chooses_one_and_leaves_the_others_alone(rank, who, identity):
    run = chosen(rank, *THREE, identity=identity, noise=0.002)
    answers = run.until(4.0)
    assert {run.on(answer) for answer in answers} == {who} and not any(answer.closed for answer in answers)
    assert all(answer.hidden == () for answer in (answers[60:] if identity else answers))  # at first they may be mirror images


def test_a_chosen_face_costs_few_detections():
    run = chosen(left, Person(seated(90, 240, 80), ANNA), Person(seated(560, 240, 80), BEN))
    run.until(4.0)
    assert run.scene.detections <= 8


def test_an_index_that_nobody_has_follows_nobody():
    assert all(answer.face is None and answer.last_box is None for answer in chosen(nth(4), *THREE).until(1.0))


@RECOGNISER
def test_one_who_is_the_nth_no_longer_is_hidden_until_they_are_again(identity):
    other = Person(either(between(0, 1, seated(120, 240, 100)), between(4, 99, seated(120, 240, 100))), ANNA)
    run = chosen(nth(2), other, THREE[1], identity=identity)
    assert run.on(run.until(1.0)[-1]) == BEN
    alone = run.until(4.0, 1.0)
    assert alone[-1].face is None and hides(alone[-1], 320)
    assert run.on(run.until(7.0, 4.0)[-1]) == BEN


@RECOGNISER
def test_while_the_chosen_face_is_lost_the_next_is_not_chosen_at_once(identity):
    # Behind a hand for half a second: the one on the right is not the leftmost meanwhile.
    gone = either(between(0, 1, seated(120, 240, 100)), between(1.5, 99, seated(120, 240, 100)))
    run = chosen(left, Person(gone, ANNA), THREE[2], identity=identity)
    run.until(1.0)
    for answer in run.until(1.5, 1.0):
        assert answer.face is None and hides(answer, 530)
    assert run.on(run.until(2.0, 1.5)[-1]) == ANNA


@RECOGNISER
def test_the_rule_goes_on_to_the_next_when_the_chosen_face_has_left(identity):
    run = chosen(left, Person(between(0, 1, seated(120, 240, 100)), ANNA), THREE[2], identity=identity)
    run.until(1.0)
    answers = run.until(4.0, 1.0)
    first = next(i for i, answer in enumerate(answers) if answer.face is not None) / 30
    assert 0.9 < first < 2.1 and run.on(answers[-1]) == CARL


@pytest.mark.parametrize(("seconds", "who"), [(99.0, ANNA), (0.3, BEN)])
def test_another_face_must_be_the_leftmost_for_a_while(seconds, who):
    run = chosen(left, Person(between(2, 2 + seconds, seated(100, 240, 100)), ANNA), THREE[1], detect_every=0.1)
    run.until(2.0)
    answers = run.until(6.0, 2.0)
    assert run.on(answers[-1]) == who
    assert {answer.face.track for answer in answers if answer.face is not None} == ({1, 2} if who == ANNA else {1})


@pytest.mark.parametrize(("size", "who"), [(108, ANNA), (130, BEN)])
def test_another_face_must_be_clearly_the_largest(size, who):
    run = chosen(largest, Person(seated(160, 240, 100), ANNA), Person(between(1, 99, seated(450, 240, size)), BEN), noise=0.003)
    assert run.on(run.until(6.0)[-1]) == who


@RECOGNISER
def test_who_had_the_swap_is_hidden_once_it_has_passed_on(identity):
    run = chosen(left, THREE[1], Person(between(1, 99, at(100, 240, 100)), ANNA), identity=identity, detect_every=0.2)
    answers = run.until(5.0)
    assert run.on(answers[0]) == BEN and run.on(answers[-1]) == ANNA
    passed = next(n for n, answer in enumerate(answers) if run.on(answer) == ANNA)
    assert all(hides(answer, 320) for answer in answers[passed:])
