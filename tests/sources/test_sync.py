"""The newest-item slot and the deferred release."""

from __future__ import annotations

import threading

import pytest

from realtime.sources.base import EndOfStream
from realtime.sources.sync import Lease, Newest, Stop


def test_the_newest_item_replaces_the_one_before() -> None:
    slot: Newest[int] = Newest()
    slot.put(1)
    slot.put(2)
    slot.put_if_empty(3)
    assert slot.take(0.0) == 2
    assert slot.take(0.0) is None
    slot.put_if_empty(4)
    assert slot.take(0.0) == 4


def test_the_last_item_is_given_before_the_end() -> None:
    slot: Newest[int] = Newest()
    slot.put(1)
    slot.end()
    assert slot.take(0.0) == 1
    with pytest.raises(EndOfStream):
        slot.take(3600.0)


def test_failures_are_raised_and_closing_beats_them() -> None:
    slot: Newest[int] = Newest()
    slot.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        slot.take(3600.0)
    slot.close()
    with pytest.raises(EndOfStream):
        slot.take(3600.0)


def test_a_waiting_take_gets_what_is_put() -> None:
    slot: Newest[int] = Newest()
    threading.Timer(0.05, slot.put, (7,)).start()
    assert slot.take(30.0) == 7


def test_a_lease_is_released_by_its_user_when_closed_meanwhile() -> None:
    released: list[bool] = []
    lease = Lease(lambda: released.append(True))
    with lease.use():
        lease.close()
        assert released == []
    assert released == [True]
    with pytest.raises(EndOfStream), lease.use():
        pass


def test_a_lease_is_released_at_once_when_nobody_uses_it() -> None:
    released: list[bool] = []
    Lease(lambda: released.append(True)).close()
    assert released == [True]


def test_a_stop_ends_waits() -> None:
    stop = Stop()
    assert not stop and not stop.wait(0.0)
    threading.Timer(0.05, stop.set).start()
    assert stop.wait(3600.0) and stop.wait_until(1e12) and stop
