"""How long the present piece of work has been going on."""

from __future__ import annotations

from time import perf_counter
from typing import Protocol

_LONGEST_LOOK = 1.0
"""Seconds that one look counts for at most: a computer that slept for the night has not been at work for the night."""


class Noted(Protocol):
    """Work whose pieces are told from one another by when they began."""

    @property
    def since(self) -> float | None:
        """When the present piece began; None between two."""


class Work:
    """Noted by the thread that works, looked at by others: one attribute, so neither needs a lock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def begin(self) -> None:
        self._since = perf_counter()

    def end(self) -> float:
        """Seconds that the piece took."""
        seconds = self.lasting(perf_counter())
        self._since = None
        return seconds

    @property
    def since(self) -> float | None:
        """When the present piece began; None between two."""
        return self._since

    def lasting(self, now: float) -> float:
        """Seconds of the present piece; 0 between two."""
        since = self._since
        return 0.0 if since is None else now - since


class Watchdog:
    """Adds up, over looks that its owner takes now and then, for how long work has been at one and the same piece."""

    def __init__(self, work: Noted) -> None:
        self._work = work
        self._piece: float | None = None
        self._looked = 0.0
        self._seconds = 0.0

    def look(self, now: float) -> float:
        """Seconds of the present piece, in which the computer was awake."""
        piece = self._work.since
        if piece is None or piece != self._piece:
            self._piece, self._seconds = piece, 0.0
        else:
            self._seconds += min(now - self._looked, _LONGEST_LOOK)
        self._looked = now
        return self._seconds
