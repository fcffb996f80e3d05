"""Whom the tracker of one face prefers: the main face, or the one that a place picks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from realtime.tracking.others import Other, main_score
from realtime.tracking.state import TrackerSettings
from realtime.types import Box

_CHECKS = 3
"""Looks in a row in which another face must be the one to choose, `_BETWEEN` seconds apart."""
_BETWEEN = 0.2
_PATIENCE = 1.0
"""Seconds that the chosen face may be lost before the place chooses among those left."""


class Preference(Protocol):
    """One serves one tracker."""

    patience: float
    """Seconds after a loss in which nobody is taken up anew who was not lost there."""
    again: float
    """Seconds until the detector has to look again, as far as it depends on this."""
    nobody: bool
    """After `rivals`: none of those in view is the one, the followed face neither."""

    def best(self, seen: Sequence[Other]) -> Other | None:
        """Which of these to take up, None when none of them; they come by their main-face scores."""

    def allows(self, other: Other, seen: Sequence[Other]) -> bool:
        """Whether somebody may be taken up who is not known to be the person followed before."""

    def rivals(self, at: float, own: Box, sure: float, seen: Sequence[Other], shape: Sequence[int]) -> list[Other]:
        """After a look of the detector: who gets the swap instead of the followed face. `sure`: how sure that one is, 0..1; `shape`: of the
        frame, its height and width first."""

    def reset(self) -> None:
        """Forget who was ahead."""


class MainFace:
    """The largest, most central and surest face. Another one must beat it clearly; a picture, which never moves, cannot."""

    patience, again, nobody = 0.0, math.inf, False

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings

    def best(self, seen: Sequence[Other]) -> Other | None:
        return seen[0] if seen else None

    def allows(self, other: Other, seen: Sequence[Other]) -> bool:
        return True

    def rivals(self, at: float, own: Box, sure: float, seen: Sequence[Other], shape: Sequence[int]) -> list[Other]:
        limit = self._settings.challenge_ratio * main_score(own, sure, shape[0], shape[1])
        due = [other for other in seen if at >= other.next_check]
        for other in due:
            other.next_check = at + self._settings.detect_every
            other.wins = other.wins + 1 if other.moved and other.score > limit else 0
        return [other for other in due if other.wins >= self._settings.challenge_checks]

    def reset(self) -> None:
        """Each face keeps its own wins."""


Rank = Callable[[Sequence[Box], int | None], int | None]
"""Which of the boxes is to be chosen, None when none is. The second argument is the number of the one followed, if any: between faces that
are nearly alike it is to stay."""


def largest(boxes: Sequence[Box], followed: int | None) -> int | None:
    sizes = [math.sqrt(box.area) * (1.15 if n == followed else 1.0) for n, box in enumerate(boxes)]
    return max(range(len(boxes)), key=sizes.__getitem__, default=None)


def left(boxes: Sequence[Box], followed: int | None) -> int | None:
    places = [box.centre[0] - (0.25 * box.width if n == followed else 0.0) for n, box in enumerate(boxes)]
    return min(range(len(boxes)), key=places.__getitem__, default=None)


def right(boxes: Sequence[Box], followed: int | None) -> int | None:
    places = [box.centre[0] + (0.25 * box.width if n == followed else 0.0) for n, box in enumerate(boxes)]
    return max(range(len(boxes)), key=places.__getitem__, default=None)


def nth(number: int) -> Rank:
    """The n-th from the left, counted from 1."""

    def rank(boxes: Sequence[Box], followed: int | None) -> int | None:
        order = sorted(range(len(boxes)), key=lambda n: boxes[n].centre[0])
        return order[number - 1] if len(order) >= number else None

    return rank


class Ranked:
    """The face that a rank picks out of all in view."""

    patience = _PATIENCE

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self.reset()

    def reset(self) -> None:
        self._rival: Other | None = None
        self._wins = 0
        self._next = -math.inf
        self.again = math.inf
        self.nobody = False

    def best(self, seen: Sequence[Other]) -> Other | None:
        best = self._rank([other.detection.box for other in seen], None)
        return None if best is None else seen[best]

    def allows(self, other: Other, seen: Sequence[Other]) -> bool:
        return self.best(seen) is other

    def rivals(self, at: float, own: Box, sure: float, seen: Sequence[Other], shape: Sequence[int]) -> list[Other]:
        if 0 < self._next - at <= _BETWEEN:
            return []
        best = self._rank([*(other.detection.box for other in seen), own], len(seen))
        if best == len(seen):
            self.reset()
            return []
        rival = seen[best] if best is not None else None
        self._wins = self._wins + 1 if self._wins and rival is self._rival else 1
        self._rival, self._next, self.again = rival, at + _BETWEEN, _BETWEEN
        if self._wins < _CHECKS:
            return []
        self.reset()
        self.nobody = rival is None
        return [rival] if rival is not None else []
