from __future__ import annotations

import threading

import pytest

from realtime.pipeline.slot import Rhythm, Slot, SlotClosed


def in_thread(call):
    """Start `call` in a thread; the returned join gives its result."""
    box: list[object] = []
    thread = threading.Thread(target=lambda: box.append(call()), daemon=True)
    thread.start()

    def join():
        thread.join(5)
        assert not thread.is_alive(), "the call never returned"
        return box[0]

    return join


def test_latest_replaces_and_counts():
    slot = Slot[int]("latest")
    assert all(slot.put(n) for n in (1, 2, 3))
    assert slot.get() == 3
    assert slot.dropped == 2


def test_lossless_waits_for_the_consumer():
    slot = Slot[int]("lossless")
    slot.put(1)
    join = in_thread(lambda: slot.put(2))
    assert slot.get() == 1
    assert join() is True
    assert slot.get() == 2
    assert slot.dropped == 0


def test_get_gives_none_when_nothing_comes():
    assert Slot[int]("latest").get(0.01) is None


@pytest.mark.parametrize("policy", ["latest", "lossless"])
def test_close_keeps_the_last_item_then_ends(policy):
    slot = Slot[int](policy)
    slot.put(7)
    slot.close()
    assert slot.put(8) is False
    assert slot.get() == 7
    with pytest.raises(SlotClosed):
        slot.get()


def test_close_can_discard():
    slot = Slot[int]("lossless")
    slot.put(7)
    slot.close(discard=True)
    with pytest.raises(SlotClosed):
        slot.get()


def test_close_wakes_a_waiting_producer():
    slot = Slot[int]("lossless")
    slot.put(1)
    join = in_thread(lambda: slot.put(2))
    slot.close()
    assert join() is False


def test_close_wakes_a_waiting_consumer():
    slot = Slot[int]("latest")

    def wait() -> str:
        try:
            slot.get()
        except SlotClosed:
            return "woken"
        return "got something"

    join = in_thread(wait)
    slot.close()
    assert join() == "woken"


def waited_for(slot: Slot[int], seconds: float) -> threading.Event:
    """Let the next item be worth waiting for; the event is set once somebody does."""
    asked = threading.Event()

    def worth(now: float, patience: float) -> float:
        asked.set()
        return seconds

    slot._rhythm.worth = worth
    return asked


def test_an_item_about_to_be_replaced_is_left_for_its_successor():
    slot = Slot[int]("latest")
    slot.put(1)
    asked = waited_for(slot, 60.0)
    join = in_thread(lambda: slot.get(patience=1.0))
    assert asked.wait(5)
    slot.put(2)
    assert join() == 2
    assert slot.dropped == 1


def test_what_is_there_is_taken_when_the_successor_does_not_come():
    slot = Slot[int]("latest")
    slot.put(1)
    asked = waited_for(slot, 0.01)
    assert slot.get(patience=1.0) == 1
    assert asked.is_set()


def test_nobody_waits_without_patience_or_for_a_file():
    for policy, patience in (("latest", 0.0), ("lossless", 1.0)):
        slot = Slot[int](policy)
        slot.put(1)
        asked = waited_for(slot, 60.0)
        assert slot.get(patience=patience) == 1
        assert not asked.is_set()


@pytest.mark.parametrize("discard", [True, False])
def test_close_wakes_one_who_waits_for_the_successor(discard):
    slot = Slot[int]("latest")
    slot.put(1)
    asked = waited_for(slot, 60.0)

    def wait() -> object:
        try:
            return slot.get(patience=1.0)
        except SlotClosed:
            return "closed"

    join = in_thread(wait)
    assert asked.wait(5)
    slot.close(discard)
    assert join() == ("closed" if discard else 1)


def rhythm(*times: float) -> Rhythm:
    found = Rhythm()
    for time in times:
        found.came(time)
    return found


@pytest.mark.parametrize(
    ("now", "patience", "waits"),
    [
        (2.75, 1.0, True),
        (2.75, 0.4, False),  # due later than in half of that
        (2.25, 9.0, False),  # the one at hand is younger than the wait is long
        (3.25, 9.0, False),  # overdue: nobody knows when it comes
    ],
)
def test_waits_only_for_what_is_due_soon(now, patience, waits):
    assert (rhythm(0.0, 1.0, 2.0).worth(now, patience) > 0) == waits


def test_waits_no_longer_than_a_quarter_of_a_gap_beyond_what_is_due_and_never_beyond_patience():
    assert rhythm(0.0, 1.0, 2.0).worth(2.75, 9.0) == pytest.approx(0.5)
    assert rhythm(0.0, 1.0, 2.0).worth(2.75, 0.5) == pytest.approx(0.5)
    assert rhythm(0.0, 1.0, 2.0).worth(2.875, 0.25) == pytest.approx(0.25)


@pytest.mark.parametrize("times", [(), (1.0,)])
def test_without_a_rhythm_nothing_is_waited_for(times):
    assert rhythm(*times).worth(1.0, 9.0) == 0.0


def test_the_rhythm_follows_a_camera_that_slows_down():
    slow = rhythm(*(0.1 * n for n in range(10)), *(1.0 + 0.5 * n for n in range(40)))
    assert slow.worth(1.0 + 0.5 * 39 + 0.4, 9.0) == pytest.approx(0.1 + 0.125, rel=0.05)
