"""Faces that were in view and are gone."""

from __future__ import annotations

from realtime.tracking.absent import Absent
from realtime.types import Box


def face(x: float, size: float = 100.0) -> Box:
    return Box(x - size / 2, 200 - size / 2, x + size / 2, 200 + size / 2)


def seen(absent: Absent, *frames: list[Box], start: int = 0, guarded: bool = True) -> float:
    """Look at these frames, one after another; the time of the last."""
    for n, boxes in enumerate(frames, start):
        absent.look(n / 30, [(box, guarded) for box in boxes])
    return (start + len(frames) - 1) / 30


def covered(absent: Absent, x: float, at: float) -> bool:
    return any(box.x0 <= x < box.x1 for box in absent.places(at))


def test_nothing_is_covered_while_all_are_seen():
    absent = Absent()
    for n in range(60):
        absent.look(n / 30, [(face(100 + 5 * n), True), (face(600 - 5 * n), True)])
        assert list(absent.places(n / 30)) == []


def test_one_who_was_alone_is_covered_for_a_second_wherever_they_may_have_gone():
    absent = Absent()
    seen(absent, *[[face(300)]] * 5)
    half, late = seen(absent, *[[]] * 15, start=5), 4 / 30 + 1.1
    assert covered(absent, 300, half) and covered(absent, 420, half)
    seen(absent, *[[]] * 20, start=20)
    assert not covered(absent, 300, late)


def test_one_who_went_behind_another_is_covered_around_them_until_found():
    absent = Absent()
    seen(absent, *[[face(200 + 10 * n), face(320, 130)] for n in range(8)])
    at = seen(absent, *[[face(320 + 2 * n, 130)] for n in range(90)], start=8)
    assert covered(absent, 320 + 2 * 89 + 110, at) and covered(absent, 320 + 2 * 89 - 110, at)
    at = seen(absent, [face(498, 130), face(590)], start=98)
    assert list(absent.places(at)) == []


def test_what_was_seen_twice_is_no_face_to_be_missed():
    absent = Absent()
    at = seen(absent, [face(300)], [face(300)], [])
    assert list(absent.places(at)) == []


def test_nobody_is_covered_who_may_be_seen():
    absent = Absent()
    at = seen(absent, *[[face(300)]] * 5, [], guarded=False)
    assert list(absent.places(at)) == []


def test_a_clock_that_stands_still_makes_nobody_run():
    absent = Absent()
    for at, x in ((0.0, 300), (1e-5, 303), (0.03, 306), (0.06, 309), (0.09, 312)):
        absent.look(at, [(face(x), True)])
        assert list(absent.places(at)) == []
