"""A face is followed: what the mesh network says, and when it is believed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from realtime.tracking import Status
from realtime.types import Landmarks
from tests.tracking.scene import HEIGHT, USER, WIDTH, Person, Run, at, seated


def test_detects_once_then_follows():
    run = Run(Person(seated(320, 240, 120), USER))
    answers = run.until(0.9)
    assert answers[0].state is Status.DETECTED and answers[0].detected
    assert all(a.state is Status.FOLLOWED and not a.detected for a in answers[1:])
    assert run.scene.detections == 1
    assert {a.face.track for a in answers if a.face} == {1}


def test_refines_a_detection_with_a_second_mesh_pass():
    run = Run(Person(at(320, 240, 120), USER))
    run.step(0.0)
    assert run.scene.meshes == 2
    run.step(1 / 30)
    assert run.scene.meshes == 3


def test_follows_fast_moves_by_prediction():
    # Five face sizes a second at 30 fps: a sixth of the face a frame.
    run = Run(Person(lambda t: (320 + 200 * math.sin(3 * t), 240, 120), USER))
    answers, first = [], []
    for frame in range(120):
        looked = len(run.scene.regions)
        answers.append(run.step(frame / 30))
        first.append(run.scene.regions[looked].x)
    assert all(a.face is not None for a in answers)
    assert not any(a.state is Status.DETECTED for a in answers[1:])
    lead = [abs(x - (320 + 200 * math.sin(3 * frame / 30))) for frame, x in enumerate(first)][1:40]
    assert np.median(lead) < 6  # the face moves up to 20 pixels a frame


def test_a_quick_move_does_not_peel_the_mesh_off():
    # From rest to a quarter of the face a frame, and to rest again, with a network that follows by two thirds only.
    run = Run(Person(lambda t: (100 + 25 * min(max(round(30 * t) - 10, 0), 16), 240, 100), USER))
    run.scene.drag = 1 / 3
    for frame in range(40):
        answer = run.step(frame / 30)
        assert answer.face is not None
        off = answer.face.box.centre[0] - run.scene.people[0].path(frame / 30)[0]
        assert abs(off) < 3.5
    assert run.scene.meshes > 45


def test_a_still_face_needs_one_pass_a_frame():
    run = Run(Person(seated(320, 240, 120), USER), noise=0.003)
    run.scene.drag = 1 / 3
    run.until(0.2)
    before = run.scene.meshes
    run.until(0.9, 0.2)
    assert run.scene.meshes - before == 21


def test_a_mesh_that_never_stays_is_not_shown():
    run = Run(Person(seated(320, 240, 120), USER))
    run.until(0.5)
    side = iter(np.tile([12.0, -12.0], 50))
    run.scene.damage = lambda mesh: replace(mesh, points=mesh.points + np.float32((next(side), 0, 0)))
    answers = run.until(0.8, 0.5)
    assert all(a.face is None and a.reason == "unsettled" for a in answers)


def test_an_unsure_mesh_that_the_detector_does_not_see_is_lost_at_once():
    run = Run(Person(seated(320, 240, 120), USER))
    run.until(0.5)
    run.scene.presence, run.scene.people[0].detectable = 0.8, False
    answer = run.step(0.5)
    assert answer.face is None and answer.reason == "not on a face"


def test_another_picture_in_the_same_place_is_another_track():
    # What was learned of the face's colours must not be used on the next. The face fills the middle half of the detector's crop.
    run = Run(Person(at(160, 160, 160), USER, score=0.95))
    before = run.until(0.5)[-1]
    run.image[:] = 140
    looked = run.scene.looks
    after = run.step(0.5)
    run.step(0.53)
    assert run.scene.looks == looked + 1, "who is there now is looked at soon"
    assert before.face is not None and after.face is not None
    assert after.face.track == before.face.track + 1 and after.detected
    assert {a.face.track for a in run.until(0.9, 0.55) if a.face} == {after.face.track}


def test_presence_falls_detects_in_the_same_frame_and_keeps_the_track():
    run = Run(Person(seated(320, 240, 120), USER))
    run.until(0.5)
    low = iter([0.31])

    def dip(mesh: Landmarks) -> Landmarks:
        return replace(mesh, presence=next(low, 0.99))

    run.scene.damage = dip
    answer = run.step(0.5)
    assert answer.state is Status.DETECTED and answer.detected and answer.reason == "presence 0.31"
    assert answer.face is not None and answer.face.track == 1


def test_a_face_that_turns_aside_is_asked_about_now_and_then():
    run = Run(Person(seated(320, 240, 120), USER, score=0.95, yaw=lambda t: 35.0 if t >= 1 else 0.0))
    answers = run.until(2.0)
    assert all(answer.face is not None for answer in answers)
    assert [answer.detected for answer in answers[1:30]].count(True) == 0
    assert 3 <= [answer.detected for answer in answers[30:]].count(True) <= 5


@pytest.mark.parametrize(("top", "kept"), [(230, True), (0, False)], ids=["a hand over chin and mouth", "all of the face"])
def test_what_was_learned_of_a_face_is_kept_when_something_comes_before_a_part_of_it(top, kept):
    """Either way it may be somebody else, so the track is a new one."""
    run = Run(Person(at(320, 240, 300), USER))
    run.image = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
    before = run.until(1.0)[-1].face
    run.image = run.image.copy()
    run.image[top:, 170:470] = 220
    after = run.step(1.0).face
    assert before is not None and after is not None
    assert after.track != before.track
    assert (after.memory == before.memory) is kept
    assert after.memory == (before.track if kept else after.track)


def test_one_who_is_taken_up_anew_after_a_part_was_covered_is_not_remembered():
    run = Run(Person(at(320, 240, 300), USER))
    run.image = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
    run.until(1.0)
    run.image = run.image.copy()
    run.image[230:, 170:470] = 220
    covered = run.step(1.0).face
    run.scene.people[0] = Person(at(320, 240, 300), USER, detectable=False)
    run.scene.presence = 0.0
    assert run.step(1.1).face is None
    run.scene.people[0], run.scene.presence = Person(at(320, 240, 300), USER), None
    again = run.until(2.0, 1.2)[-1].face
    assert covered is not None and again is not None and again.memory == again.track > covered.track
