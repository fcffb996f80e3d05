"""The person in view a second time: in a mirror, on a screen, in two shots that dissolve into each other."""

from __future__ import annotations

import pytest

from realtime.tracking import Tracked
from tests.tracking.scene import STRANGER, USER, Person, Run, SceneRecogniser, at, between, seated

SELF = Person(seated(200, 240, 130), USER)
X, Y, SIZE = 520, 200, 80
SURE = SceneRecogniser.same_person + 0.3 * (1 - SceneRecogniser.same_person)


def second(**changed: object) -> Person:
    return Person(at(X, Y, SIZE), **{"who": USER, **changed})  # type: ignore[arg-type]


def seen(answer: Tracked) -> bool:
    """Whether the second face shows."""
    return not answer.anywhere and not any(box.x0 <= X < box.x1 and box.y0 <= Y < box.y1 for box in answer.hidden)


def test_a_mirror_image_is_never_seen():
    run = Run(SELF, second())
    answers = run.until(6.0)
    assert {run.on(answer) for answer in answers} == {USER}
    assert not any(seen(answer) for answer in answers[1:])  # in the first frame the detector has only been asked for the one


def test_an_image_of_the_person_that_comes_into_view_is_hidden_from_the_look_that_finds_it():
    late = Person(between(2.0, 99, at(X, Y, SIZE)), USER)
    run = Run(SELF, late)
    run.until(2.0)
    answers = run.until(8.0, 2.0)
    found = next(i for i, answer in enumerate(answers) if answer.detected)
    assert not any(seen(answer) for answer in answers[found:])


def test_somebody_else_is_seen_once_a_look_has_told():
    run = Run(SELF, second(who=STRANGER))
    answers = run.until(6.0)
    assert all(seen(answer) for answer in answers[45:])
    assert run.scene.looks <= 6


@pytest.mark.parametrize(("cosine", "shown"), [(SURE - 0.1, False), (SceneRecogniser.same_person - 0.05, True)])
def test_one_who_is_alike_again_and_again_stays_hidden(cosine, shown):
    run = Run(SELF, second(cosine=cosine))
    assert all(seen(answer) is shown for answer in run.until(8.0)[120:])


def test_one_who_never_faces_the_camera_is_seen_after_a_while():
    run = Run(SELF, second(who=STRANGER, turned=1.0))
    answers = run.until(8.0)
    assert not seen(answers[30]) and all(seen(answer) for answer in answers[150:])


def test_without_a_recogniser_nobody_waits_for_a_look():
    run = Run(SELF, second(who=STRANGER), identity=False)
    assert all(seen(answer) for answer in run.until(2.0))
