"""The hand-over between two stages: room for one item, so that latency never builds up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
Policy = Literal["latest", "lossless"]


class SlotClosed(Exception):  # noqa: N818 - it ends a loop, like StopIteration
    """The slot was closed and holds nothing any more."""


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
            self._item = item
            self._changed.notify_all()
            return True

    def get(self, timeout: float | None = None) -> T | None:
        """Take the item, waiting up to `timeout` seconds (None: for ever); None when there was none in time.

        Raises SlotClosed when the slot was closed and is empty.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed, timeout)
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
