"""The hand-over between two stages: room for one item, so that latency never builds up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Final, Generic, Literal, TypeVar

T = TypeVar("T")
Policy = Literal["latest", "lossless"]
_NEWS: Final = 0.2
"""Share of the newest gap in the usual gap between two items."""
_LATE: Final = 0.25
"""Share of the usual gap by which an item may be late before it is not waited for any more."""


class SlotClosed(Exception):  # noqa: N818 - it ends a loop, like StopIteration
    """The slot was closed and holds nothing any more."""


class Rhythm:
    """When items come, and whether the next one is worth waiting for. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._gap: float | None = None
        """The usual one."""

    def came(self, now: float) -> None:
        if self._last is not None:
            gap = now - self._last
            self._gap = gap if self._gap is None else self._gap + _NEWS * (gap - self._gap)
        self._last = now

    def worth(self, now: float, patience: float) -> float:
        """Seconds to wait for the next item instead of taking the last one; 0: not worth it.

        It is expected within half of `patience`, so that it may be a little late, and in less time than the last one has lain there:
        what is then begun is younger by more than it is begun later.
        """
        if self._last is None or self._gap is None:
            return 0.0
        lain = now - self._last
        left = self._gap - lain
        return min(patience, left + _LATE * self._gap) if 0 <= left <= min(patience / 2, lain) else 0.0


class Slot(Generic[T]):
    """One item from one producer to one consumer.

    latest: `put` never waits; an item nobody took is replaced and counted in `dropped`.
    lossless: `put` waits until the previous item was taken.
    """

    def __init__(self, policy: Policy, counts: Callable[[T], bool] = lambda item: True) -> None:
        """`counts`: whether an item that is replaced is one that counts as dropped."""
        self._policy = policy
        self._counts = counts
        self._changed = threading.Condition()
        self._item: T | None = None
        self._rhythm = Rhythm()
        self._closed = False
        self.dropped = 0

    def put(self, item: T) -> bool:
        """Hand an item over; False when the slot is closed and the item was not taken in."""
        with self._changed:
            while self._policy == "lossless" and self._item is not None and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            if self._item is not None:
                self.dropped += self._counts(self._item)
            self._rhythm.came(perf_counter())
            self._item = item
            self._changed.notify_all()
            return True

    def get(self, timeout: float | None = None, patience: float = 0.0) -> T | None:
        """Take the item, waiting up to `timeout` seconds (None: for ever); None when there was none in time.

        latest: an item that is about to be replaced is not taken but its successor, if that comes within `patience` seconds.
        Raises SlotClosed when the slot was closed and is empty.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed, timeout)
            if self._policy == "latest" and self._item is not None and patience:
                old = self._item
                self._changed.wait_for(lambda: self._item is not old or self._closed, self._rhythm.worth(perf_counter(), patience))
            item, self._item = self._item, None
            if item is None and self._closed:
                raise SlotClosed
            self._changed.notify_all()
            return item

    def peek(self) -> T | None:
        """What waits inside, left there; somebody else may take or replace it at any time."""
        return self._item

    def close(self, discard: bool = False) -> None:
        """Wake everyone; an item still inside may be taken unless `discard`. Closing twice is harmless."""
        with self._changed:
            self._closed = True
            if discard:
                self._item = None
            self._changed.notify_all()
