from __future__ import annotations

import pytest

from realtime.pipeline.pace import Pace


def test_due_at_once_when_nothing_was_sent():
    assert Pace(30).remaining(5.0) == 0.0


def test_a_source_at_the_nominal_rate_is_never_doubled():
    pace = Pace(25)
    for n in range(50):
        now = n * 0.04
        assert n == 0 or pace.remaining(now) > 0
        pace.sent(now, repeated=False)


def test_a_slow_source_is_filled_up_to_the_nominal_rate():
    """A source at 5 fps into a 25 fps stream: over ten seconds the reader gets 25 frames a second within two per cent."""
    pace, now, sent, next_frame = Pace(25), 0.0, 0, 0.0
    while now < 10:
        fresh = now >= next_frame
        next_frame += 0.2 * fresh
        pace.sent(now, repeated=not fresh)
        sent += 1
        now = min(now + pace.remaining(now), max(next_frame, now))
    assert 215 <= sent <= 255


def test_repeats_do_not_drift_when_each_is_a_little_late():
    pace = Pace(10)
    pace.sent(0.0, repeated=False)
    now = 0.0
    for _ in range(20):
        now += pace.remaining(now) + 0.01
        pace.sent(now, repeated=True)
    assert now == pytest.approx(0.15 + 19 * 0.1 + 0.01, abs=0.02)


def test_refuses_a_rate_that_is_not_positive():
    with pytest.raises(ValueError, match="positive rate"):
        Pace(0)
