"""Several faces at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.tracking import Everyone, SeveralTracked, TrackerSettings
from tests.tracking.scene import HEIGHT, WIDTH, Crowd, Path, Person, at, between, either, seated, walk

ANNA, BEN, CARL = 1, 2, 3
THREE = (Person(seated(120, 240, 100), ANNA), Person(seated(320, 240, 130), BEN), Person(seated(530, 240, 90), CARL))


def everyone(*people: Person, most: int = 8, **options: object) -> Crowd:
    return Crowd(Everyone(most), *people, **options)  # type: ignore[arg-type]


def test_everybody_is_followed_and_keeps_a_number():
    run = everyone(*THREE, noise=0.002)
    answers = run.until(5.0)
    assert set(run.ids(answers[-1])) == {ANNA, BEN, CARL}
    assert {chosen.face.track for answer in answers for chosen in answer.faces} == {1, 2, 3}


def test_nobody_is_ever_seen_as_they_are_while_three_are_followed():
    run = everyone(*THREE)
    assert all(run.raw(run.step(i / 30)) == set() for i in range(90))


def test_a_still_crowd_costs_one_mesh_a_face():
    run = everyone(*THREE)
    run.until(1.0)
    before = run.scene.meshes
    run.until(2.0, 1.0)
    assert run.scene.meshes - before == 3 * 30


def test_a_newcomer_is_swapped_in_the_frame_that_shows_them():
    run = everyone(THREE[0], Person(between(1.01, 99, seated(400, 240, 120)), BEN))
    for i in range(60):
        assert run.raw(run.step(i / 30)) == set()
    assert set(run.ids(run.step(2.0))) == {ANNA, BEN}


def test_more_than_the_cap_are_hidden():
    run = everyone(*THREE, most=2)
    answers = run.until(1.0)
    assert set(run.ids(answers[-1])) == {ANNA, BEN}
    assert len(answers[-1].others) == 1 and run.raw(answers[-1]) == set()


def test_one_too_small_to_swap_is_hidden():
    run = everyone(THREE[0], Person(seated(400, 100, 30), BEN), settings=TrackerSettings(min_face=40))
    answer = run.until(1.0)[-1]
    assert set(run.ids(answer)) == {ANNA} and run.raw(answer) == set()


def test_one_whom_the_mesh_does_not_fit_is_hidden():
    run = everyone(*THREE)
    run.scene.presence = 0.1
    answer = run.until(0.5)[-1]
    assert answer.faces == () and run.raw(answer) == set()


def test_a_short_miss_keeps_the_number_and_the_others():
    gone = either(between(0, 1, seated(120, 240, 100)), between(1.4, 99, seated(120, 240, 100)))
    run = everyone(Person(gone, ANNA), THREE[1])
    before = run.ids(run.until(1.0)[-1])
    away = run.until(1.4, 1.0)
    assert all(set(run.ids(answer)) == {BEN} and len(answer.lost) == 1 for answer in away[1:])
    assert run.ids(run.until(2.0, 1.4)[-1]) == before


def test_one_who_comes_back_later_is_another_number():
    gone = either(between(0, 1, seated(120, 240, 100)), between(4, 99, seated(160, 240, 100)))
    run = everyone(Person(gone, ANNA), THREE[1])
    run.until(4.0)
    answer = run.until(5.0, 4.0)[-1]
    assert set(run.ids(answer)) == {ANNA, BEN} and max(run.ids(answer).values()) == 3
    assert answer.lost == ()


@pytest.mark.parametrize(("path", "held"), [(between(0, 1, seated(120, 240, 100)), 9.5), (walk(120, -60, 240, 100, 0.0, 1.0), 0.5)])
def test_the_place_of_one_who_left_is_given_up_in_the_end(path, held):
    run = everyone(Person(path, ANNA), THREE[1])
    run.until(1.2)
    assert run.until(1.0 + held, 1.2)[-1].lost
    assert not run.until(13.0, 1.0 + held)[-1].lost


def test_people_who_cross_are_never_seen_and_both_followed_after():
    # Two walk past each other, the one behind not seen for a moment.
    def hidden_behind(t: float):
        x = 120 + 130 * t
        return None if abs(x - (540 - 130 * t)) < 50 else (x, 240.0, 100.0)

    run = everyone(Person(hidden_behind, ANNA), Person(lambda t: (540 - 130 * t, 250.0, 120.0), BEN))
    answers = []
    for i in range(96):
        answers.append(run.step(i / 30))
        assert run.raw(answers[-1]) == set()
    assert set(run.ids(answers[-1])) == {ANNA, BEN}


def test_two_meshes_on_one_face_are_parted():
    # Anna walks up to Ben and is gone: her mesh goes over to his face and stays there.
    run = everyone(Person(walk(140, 240, 240, 100, 0.0, 1.0), ANNA), Person(at(268, 240, 100), BEN))
    run.until(1.0)
    answers = run.until(1.3, 1.0)
    assert len(answers[0].faces) == 1 and "on another's face" in {answer.reason for answer in answers[:3]}
    assert all(len(answer.faces) == 1 for answer in answers)


def test_somebody_right_behind_a_followed_face_is_hidden_not_taken_for_it():
    run = everyone(Person(at(320, 240, 120), ANNA), Person(between(1, 99, at(348, 250, 115)), BEN))
    run.until(1.0)
    for i in range(10):
        answer = run.step(1.0 + i / 30)
        assert len(answer.faces) == 1 and run.raw(answer) == set()


def test_a_mesh_that_no_detection_bears_out_is_given_up():
    run = everyone(*THREE)
    run.until(0.5)
    run.scene.people = [replace(person, detectable=person.who != BEN) for person in run.scene.people]
    answer = run.until(2.0, 0.5)[-1]
    assert set(run.ids(answer)) == {ANNA, CARL}


def check_safe(tracked: SeveralTracked) -> None:
    tracks = [chosen.face.track for chosen in tracked.faces]
    assert len(set(tracks)) == len(tracks)
    for chosen in tracked.faces:
        assert np.isfinite(chosen.face.landmarks.points).all()
    for box in (*tracked.others, *(box for lost in tracked.lost for box in lost.boxes)):
        assert 0 <= box.x0 < box.x1 <= WIDTH and 0 <= box.y0 < box.y1 <= HEIGHT


PLACES = st.tuples(st.floats(-200, 900), st.floats(-200, 700), st.floats(2, 700))


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([Everyone(3), Everyone(1)]), st.lists(
    st.tuples(st.lists(PLACES, max_size=4), st.floats(0, 1), st.floats(-0.1, 0.5), st.booleans()), min_size=1, max_size=20))  # fmt: skip
def test_answers_are_safe_whatever_the_networks_say(choice, frames):
    choice.reset()
    run = Crowd(choice)
    t = 0.0
    for places, presence, dt, spoilt in frames:
        t += dt
        run.scene.people = [Person(at(*place), n) for n, place in enumerate(places)]
        run.scene.presence = presence
        run.scene.damage = (lambda mesh: replace(mesh, points=mesh.points * np.float32(np.nan))) if spoilt else (lambda mesh: mesh)
        check_safe(run.step(t))


def test_a_frame_of_another_size_and_a_reset_start_anew():
    run = everyone(*THREE)
    run.until(0.5)
    run.image = np.zeros((HEIGHT * 2, WIDTH * 2, 3), np.uint8)
    assert len(run.step(0.5).faces) >= 2
    run.tracker.reset()
    answers = run.until(1.0, 0.5)
    assert len(answers[-1].faces) == 3 and min(chosen.face.track for chosen in answers[-1].faces) > 3


def wandering(rng: np.random.Generator) -> Path:
    """Somebody who sways, comes, goes or walks by, at random."""
    x, y, size = rng.uniform(50, 590), rng.uniform(60, 420), rng.uniform(50, 160)
    swing, pace, phase = rng.uniform(0, 2) * size, rng.uniform(0.3, 3), rng.uniform(0, 6)

    def base(t: float) -> tuple[float, float, float]:
        return x + swing * np.sin(pace * t + phase), y + 0.2 * swing * np.sin(1.7 * pace * t), size

    start, end = sorted(rng.uniform(0, 4, 2))
    kinds = (base, between(start, end, base), either(between(0, start, base), between(end, 99, base)), walk(-60, 700, y, size, start, 2.0))
    return kinds[rng.integers(4)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("guarded", [{1, 2, 3, 4}, {1, 2}], ids=["all", "map"])
def test_in_random_scenes_nobody_is_seen_who_must_not_be(guarded, seed):
    rng = np.random.default_rng(seed)
    people = [Person(wandering(rng), n + 1, float(rng.choice([0.93, 0.97, 0.99]))) for n in range(rng.integers(2, 5))]
    run = everyone(*people, most=3, noise=0.002) if len(guarded) == 4 else Crowd.looking_for(*guarded, people=people)
    for i in range(120):
        assert not run.raw(run.step(i / 30)) & guarded
