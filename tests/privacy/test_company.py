"""Two people and more: they cross, come in, leave, are mixed up; the detector misses, the picture is cut. The sink is watched."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.tracking import TrackerSettings
from realtime.types import State
from tests.privacy.actors import FPS, Play, improvised, watched, watched_all, watched_place
from tests.tracking.scene import HEIGHT, WIDTH, Person, at, between, either, seated, walk

RECOGNISER = pytest.mark.parametrize("identity", [True, False], ids=["with a recogniser", "without"])
EVERY = pytest.mark.parametrize("every", [1.0, 4.0], ids=["quality", "light"])


def rooms(count, seed=3):
    rng = np.random.default_rng(seed)
    return [cv2.resize(rng.integers(40, 130, (12, 16, 3)).astype(np.uint8), (WIDTH, HEIGHT)) for _ in range(count)]


def play(*paths, seconds=4.0, cuts=(), missed=None, marked=1):
    """The first one is the person: the detector sees them best. `missed`: frames by the number of who is not seen in them."""
    shown = rooms(len(cuts) + 1)
    people = [Person(path, who, score=0.95 if who == 1 else 0.75) for who, path in enumerate(paths, 1)]
    room = lambda seq: shown[sum(seq / FPS >= cut for cut in cuts)]  # noqa: E731
    return Play(people, seconds, room, lambda frame, n: frame in (missed or {}).get(n, ()), marked)


def after_cut(t, before, after):
    return either(between(0, t, before), between(t, 99, after))


ME = seated(320, 240, 120)
PASSES = walk(-60, 700, 240, 130, 1.0, 2.0)


def then(path, place, time):
    """The person stays there."""
    return either(path, between(time, 99, at(*place)))


STAYS = either(walk(-60, 320, 240, 125, 0.5, 1.2), between(1.7, 2.6, at(320, 240, 125)), walk(320, 700, 240, 125, 2.6, 1.0))
BEHIND = either(between(0, 1, at(150, 240, 110)), then(walk(150, 520, 240, 110, 1.0, 1.5), (520, 240, 110), 2.5))
CROSSINGS = {
    "somebody walks by": (ME, PASSES),
    "somebody walks by behind": (ME, walk(-60, 700, 240, 110, 1.0, 2.0)),
    "somebody runs by": (ME, walk(-60, 700, 240, 125, 1.0, 1.0)),
    "both walk": (then(walk(120, 520, 240, 120, 0.0, 2.0), (520, 240, 120), 2.0), walk(560, 80, 240, 120, 0.0, 2.0)),
    "somebody comes, stays on top and goes": (ME, STAYS),
    "two walk by": (ME, PASSES, walk(700, -60, 250, 115, 1.2, 2.0)),
    "the person goes behind somebody": (BEHIND, seated(340, 240, 115)),
}


@EVERY
@RECOGNISER
@pytest.mark.parametrize("name", CROSSINGS)
def test_nobody_is_uncovered_where_two_cross(name, identity, every):
    watch = watched(play(*CROSSINGS[name]), identity=identity, settings=TrackerSettings(detect_every=every))
    assert watch.leaks == []
    shown = [state is State.SWAPPED for state in watch.states]
    assert all(shown[:10]) and any(shown[-15:]), "it is swapped before, and again after"


@RECOGNISER
@pytest.mark.parametrize("late", [0, 2], ids=["seen at once", "seen late"])
def test_two_who_change_places_at_a_cut(identity, late):
    here, there = at(200, 240, 110), at(450, 240, 110)
    missed = {0: range(60, 60 + late)}
    watch = watched(play(after_cut(2, here, there), after_cut(2, there, here), cuts=(2.0,), missed=missed), identity=identity)
    assert watch.leaks == []


@RECOGNISER
def test_who_had_the_swap_is_not_seen_when_it_passes_on(identity):
    """To somebody nearer to the camera, for the main face it is; and to whoever stays when the person goes, who may come back."""
    nearer = play(at(200, 240, 90), between(1, 99, seated(440, 240, 190)), seconds=9.0)
    assert watched(nearer, identity=identity).leaks == []
    returns = either(between(0, 1.5, at(200, 240, 110)), between(8, 99, at(330, 240, 110)))
    assert watched(play(returns, seated(500, 240, 110), seconds=10.0), identity=identity).leaks == []


@RECOGNISER
def test_people_well_apart_change_nothing(identity):
    """Neither those who sit side by side, missed now and then, nor a passer-by at some distance make the swap blink."""
    missed = {0: (40, 41, 77), 1: (*range(50, 60), 90)}
    beside = watched(play(seated(200, 240, 120), seated(400, 240, 110), missed=missed), identity=identity)
    apart = watched(play(seated(320, 330, 110), walk(-50, 700, 150, 80, 1.0, 2.0)), identity=identity)
    for watch in (beside, apart):
        assert watch.leaks == [] and set(watch.states) == {State.SWAPPED}


@pytest.mark.parametrize("late", [1, 3])
def test_one_of_several_jumps_and_is_not_seen_at_once(late):
    """While the others are swapped; at a cut, and all by itself."""
    jumps = after_cut(2, at(120, 240, 100), at(330, 240, 100))
    others = seated(520, 240, 100), at(520, 100, 60)
    for cuts in ((), (2.0,)):
        watch = watched_all(play(jumps, *others, seconds=3.0, cuts=cuts, missed={0: range(60, 60 + late)}, marked=3))
        assert watch.leaks == []
        assert watch.states[-1] is State.SWAPPED and set(watch.states[:60]) == {State.SWAPPED}


def test_a_face_that_is_gone_after_a_cut_holds_the_others_up_for_a_second_only():
    watch = watched_all(play(at(200, 240, 100), between(0, 1, at(450, 240, 100)), seconds=2.5, cuts=(1.0,), marked=2))
    assert watch.leaks == []
    assert set(watch.states[31:58]) == {State.LOST} and set(watch.states[62:]) == {State.SWAPPED}


WITH = either(between(0, 0.5, at(60, 240, 105)), then(walk(60, 480, 240, 105, 0.5, 1.7), (480, 240, 105), 2.2))
BEHIND_ONE = {
    "who stays": (walk(-60, 700, 240, 110, 0.5, 2.5), seated(320, 245, 130)),
    "who walks along": (WITH, either(between(0, 0.5, at(200, 245, 130)), then(walk(200, 600, 245, 130, 0.5, 2.4), (600, 245, 130), 2.9))),
    "and stays there for a while": (
        either(walk(-60, 330, 240, 110, 0.5, 1.3), between(1.8, 3, at(330, 240, 110)), walk(330, 700, 240, 110, 3, 1.2)),
        seated(320, 245, 130),
    ),
}


@pytest.mark.parametrize("score", [0.95, 0.7], ids=["swapped", "only hidden"])
@pytest.mark.parametrize("name", BEHIND_ONE)
def test_one_of_several_who_comes_half_out_from_behind_another_is_not_seen(name, score):
    """The detector misses whoever is nearer than 0.6 face sizes to one in front of them, and for half a second after."""
    scene = play(*BEHIND_ONE[name], seconds=5.0, marked=2)
    scene.people[0].score, scene.people[1].score = score, 0.95
    apart = [_apart(scene.people, n / FPS) for n in range(scene.frames)]
    missed = {n for n, off in enumerate(apart) if min(apart[max(n - 15, 0) : n + 1]) < 0.6}
    scene = Play(scene.people, scene.seconds, scene.room, lambda frame, n: n == 0 and frame in missed, marked=2)
    watch = watched_all(scene, behind=True)
    assert watch.leaks == [] and missed
    assert watch.states[-1] is State.SWAPPED


def _apart(people, t):
    one, other = (person.path(t) for person in people)
    return 9.0 if one is None or other is None else float(np.hypot(one[0] - other[0], one[1] - other[1])) / other[2]


@pytest.mark.parametrize("seed", range(8))
def test_scenes_by_chance(seed):
    assert watched(improvised(300 + seed), settings=TrackerSettings(detect_every=2.0)).leaks == []
    assert watched(improvised(400 + seed, people=3), identity=False, settings=TrackerSettings(detect_every=4.0)).leaks == []
    assert watched_all(improvised(500 + seed, people=3, marked=3)).leaks == []


@RECOGNISER
@pytest.mark.parametrize("rule", ["left", "index:1", "largest"])
def test_who_had_the_swap_by_place_is_never_seen_after(rule, identity):
    """Somebody larger walks by in front, and stays on the other side: the place's choice by then, and the user is not."""
    passer = then(walk(700, 150, 240, 150, 1.0, 2.0), (150, 240, 150), 3.0)
    scene = play(seated(350, 240, 125), passer, seconds=5.0)
    scene.people[1].score = 0.95
    watch = watched_place(scene, rule, identity)
    assert watch.leaks == [] and set(watch.states[:25]) == {State.SWAPPED}
    assert watch.states[-1] is State.SWAPPED


@pytest.mark.parametrize("seed", [302, 308, 316])
def test_scenes_by_chance_with_a_place(seed):
    scene = improvised(seed)
    for person in scene.people:
        person.score = 0.95
    assert watched_place(scene, "left").leaks == []
    assert watched_place(scene, "left", identity=False).leaks == []


@pytest.mark.parametrize("seed", [318, 319, 325])
def test_scenes_by_chance_in_which_nobody_is_found_behind_another(seed):
    assert watched_all(improvised(seed, people=3, marked=3), behind=True).leaks == []
