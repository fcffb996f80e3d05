"""The tracker as a whole: any frame rate, any size, any nonsense from the networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.tracking import Status, Tracked, TrackerSettings
from realtime.types import Landmarks
from tests.tracking.scene import HEIGHT, STRANGER, USER, WIDTH, Person, Run, at, between, seated, walk


def check_safe(tracked: Tracked) -> None:
    """What every answer must hold, whatever the networks said."""
    followed = tracked.state in (Status.FOLLOWED, Status.DETECTED)
    assert followed == (tracked.face is not None)
    if tracked.face is not None:
        assert np.isfinite(tracked.face.landmarks.points).all()
        x, y = tracked.face.box.centre
        assert 0 <= x < WIDTH and 0 <= y < HEIGHT
    if tracked.state is not Status.NONE:
        box = tracked.last_box
        assert box is not None
        assert 0 <= box.x0 < box.x1 <= WIDTH and 0 <= box.y0 < box.y1 <= HEIGHT


def test_nobody_in_view():
    answers = Run().until(0.5)
    assert all(a.state is Status.NONE and a.last_box is None and a.reason == "no detection" for a in answers)


def test_looks_at_the_main_face_not_the_leftmost():
    run = Run(Person(at(60, 60, 70), STRANGER, score=0.95), Person(at(330, 240, 140), USER))
    assert run.on(run.step(0.0)) == USER


@pytest.mark.parametrize("fps", [5, 12.5, 30, 60, 144])
def test_any_frame_rate(fps):
    run = Run(Person(seated(320, 240, 120), USER), noise=0.002)
    answers = run.until(6.0, fps=fps)
    assert all(a.face is not None for a in answers)
    assert sum(a.detected for a in answers) <= 8


def test_a_varying_frame_rate_and_a_stall():
    run = Run(Person(seated(320, 240, 120), USER))
    times = np.cumsum(np.random.default_rng(3).uniform(0.005, 0.12, 120))
    answers = [run.step(float(t)) for t in times]
    assert all(a.face is not None for a in answers)
    late = run.step(float(times[-1]) + 8.0)
    assert late.detected and late.face is not None


def test_time_that_goes_back_does_not_stop_the_tracker():
    run = Run(Person(lambda t: None if 0.5 < t < 1 else (320.0, 240.0, 120.0), USER))
    run.until(100.2, 100.0)
    assert run.until(0.3, 0.0)[-1].face is not None
    run.until(1.0, 0.3)
    assert run.until(1.5, 1.0)[-1].face is not None


@pytest.mark.parametrize("size", [30, 460])
def test_small_and_huge_faces(size):
    run = Run(Person(seated(320, 240, size), USER))
    assert all(a.face is not None for a in run.until(2.0))


def test_a_face_below_the_limit_is_not_taken_up():
    answers = Run(Person(seated(320, 240, 30), USER), settings=TrackerSettings(min_face=0.1)).until(0.5)
    assert all(a.state is Status.NONE and a.reason == "too small" for a in answers)


def test_a_face_that_shrinks_below_the_limit_is_lost():
    run = Run(Person(lambda t: (320, 240, 100 * 0.7**t), USER), settings=TrackerSettings(min_face=60))
    answers = run.until(3.0)
    assert answers[0].face is not None
    assert answers[-1].state is Status.LOST
    assert answers[-1].reason == "too small"


def test_a_face_that_leaves_the_frame_is_lost():
    run = Run(Person(lambda t: (320 + 200 * t, 240, 120), USER))
    answers = run.until(2.5)
    for answer in answers:
        check_safe(answer)
    assert answers[-1].state is Status.LOST


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_from_the_network_are_a_loss(bad):
    run = Run(Person(seated(320, 240, 120), USER))
    run.until(0.5)

    def spoil(mesh: Landmarks) -> Landmarks:
        points = mesh.points.copy()
        points[17, 1] = bad
        return replace(mesh, points=points)

    run.scene.damage = spoil
    answer = run.step(0.5)
    assert answer.state is Status.LOST and answer.reason == "not a number" and answer.face is None
    run.scene.damage = lambda mesh: mesh
    assert run.step(0.55).face is not None


def test_bad_numbers_from_the_first_frame():
    run = Run(Person(seated(320, 240, 120), USER))
    run.scene.damage = lambda mesh: replace(mesh, presence=float("nan"))
    assert all(a.state is Status.NONE and a.reason == "not a number" for a in run.until(0.2))


def test_a_frame_of_another_size_starts_anew():
    run = Run(Person(seated(320, 240, 120), USER))
    run.until(0.5)
    run.image = np.zeros((HEIGHT * 2, WIDTH * 2, 3), np.uint8)
    answer = run.step(0.5)
    assert answer.state is Status.DETECTED and answer.face is not None and answer.face.track == 2


def test_reset_forgets_the_person_but_not_the_count():
    run = Run(Person(between(0, 2, seated(320, 240, 120)), USER), Person(between(2, 9, at(320, 240, 120)), STRANGER))
    run.until(2.0)
    run.tracker.reset()
    answer = run.step(2.0)
    assert answer.face is not None and answer.face.track == 2


def test_the_same_input_gives_the_same_answers():
    def faces() -> list[np.ndarray]:
        run = Run(Person(seated(320, 240, 120), USER), Person(walk(-60, 700, 230, 190, 1.0, 2.0), STRANGER), noise=0.003)
        return [a.face.landmarks.points for a in run.until(4.0) if a.face is not None]

    assert all(np.array_equal(a, b) for a, b in zip(faces(), faces(), strict=True))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-200, 900), st.floats(-200, 700), st.floats(2, 900), st.floats(0, 1), st.floats(0.0, 0.5), st.booleans()),
        min_size=1,
        max_size=25,
    )
)
def test_answers_are_safe_whatever_the_networks_say(frames):
    run = Run(Person(at(320, 240, 120), USER))
    t = 0.0
    for x, y, size, presence, dt, spoilt in frames:
        t += dt
        run.scene.people = [Person(at(x, y, size), USER)]
        run.scene.presence = presence
        run.scene.damage = (lambda mesh: replace(mesh, points=mesh.points * np.float32(np.nan))) if spoilt else (lambda mesh: mesh)
        check_safe(run.step(t))


@pytest.mark.parametrize(
    "wrong", [{"score": 0}, {"presence": 1.5}, {"challenge_ratio": 1}, {"challenge_checks": 0}, {"takeover": -1}, {"identify_every": 0}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match="expected"):
        TrackerSettings(**wrong)
