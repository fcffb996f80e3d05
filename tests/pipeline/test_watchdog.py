from __future__ import annotations

from time import perf_counter

from realtime.pipeline.watchdog import Watchdog, Work


def test_counts_only_while_one_piece_lasts():
    work = Work()
    watchdog = Watchdog(work)
    start = perf_counter()
    assert watchdog.look(start) == 0.0
    work.begin()
    assert watchdog.look(start + 5.0) == 0.0, "the first look at a piece begins to count"
    assert watchdog.look(start + 5.5) == 0.5
    assert watchdog.look(start + 6.0) == 1.0
    work.end()
    assert watchdog.look(start + 6.5) == 0.0
    work.begin()
    assert watchdog.look(start + 7.0) == 0.0


def test_a_night_asleep_is_no_work():
    work = Work()
    watchdog = Watchdog(work)
    work.begin()
    watchdog.look(10.0)
    assert watchdog.look(10.0 + 8 * 3600) <= 1.0


def test_another_piece_begins_anew():
    work = Work()
    watchdog = Watchdog(work)
    work.begin()
    watchdog.look(10.0)
    watchdog.look(10.9)
    work.end()
    work.begin()
    assert watchdog.look(11.0) == 0.0


def test_how_long_the_present_piece_lasts():
    work = Work()
    assert work.lasting(perf_counter()) == 0.0
    work.begin()
    assert work.since is not None
    assert work.lasting(work.since + 2.5) == 2.5
    work.end()
    assert work.lasting(perf_counter()) == 0.0


def test_tells_how_long_a_piece_took():
    work = Work()
    work.begin()
    begun = work.since
    assert begun is not None
    assert 0.0 <= work.end() <= perf_counter() - begun
    assert work.end() == 0.0
