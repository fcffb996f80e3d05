from __future__ import annotations

import threading

import pytest

from realtime.pipeline.slot import Slot, SlotClosed


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
