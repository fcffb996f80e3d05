"""The rules by which faces are chosen, when it is not the main one: what each has to answer, and the two that need no recogniser."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Protocol

from realtime.tracking.crew import RESUME, Crew, Member
from realtime.tracking.crowd import Crowd
from realtime.tracking.follow import Miss
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other
from realtime.types import Box

log = logging.getLogger(__name__)

_STARTS = 2
"""Newcomers started in one frame at most: each costs the mesh network two passes or more."""
_AGAIN = 0.15
"""Seconds after which a face is tried again in which the mesh network found none."""
_PATIENCE = 1.0
"""Seconds that the chosen face may be lost before the rule chooses among those left."""
_CHECKS = 3
"""Looks in a row in which another face must be the one to choose, `_BETWEEN` seconds apart."""
_BETWEEN = 0.2


class Choice(Protocol):
    """Decides whom the crew follows. One rule serves one tracker."""

    @property
    def always_looks(self) -> bool:
        """Whether the detector runs on every frame: a newcomer must not be seen as they are, not for one frame."""

    def choose(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        """After a look of the detector: take up, or drop. `seen`: who is in view and not followed, the main face first."""

    def check(self, moment: Moment, crew: Crew, crowd: Crowd) -> None:
        """Once a frame, after all else: a slow look, if one is due."""

    def shows(self, other: Other, crew: Crew) -> bool:
        """Whether somebody in view who is not swapped may be seen."""

    def reset(self) -> None:
        """Forget everybody."""


def start(moment: Moment, crew: Crew, crowd: Crowd, other: Other, back: Member | None) -> bool:
    """Take a face up, as the one who is back in place or as a newcomer; False when the mesh network finds none."""
    member = back or crew.newcomer()
    mesh = member.start(moment, other.detection)
    if isinstance(mesh, Miss):
        other.next_look = moment.at + _AGAIN
        return False
    crew.take_up(moment, member, mesh, crowd, other)
    return True


class Everyone:
    """Every face, up to a number: the main ones first. Whoever is not swapped is hidden."""

    always_looks = True

    def __init__(self, most: int, patient: bool = False) -> None:
        """`patient`: see `TrackerSettings`."""
        self._most = most
        self._starts = most if patient else _STARTS
        self._said = False

    def choose(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        ready = [other for other in seen if moment.at >= other.next_look and crowd.big(moment, other)]
        begun = 0
        for other in ready:
            if len(crew.members) >= self._most:
                self._say()
            elif begun < self._starts:
                begun += 1
                start(moment, crew, crowd, other, crew.back(moment, other, RESUME))

    def check(self, moment: Moment, crew: Crew, crowd: Crowd) -> None:
        """Who they are does not matter."""

    def shows(self, other: Other, crew: Crew) -> bool:
        return False

    def reset(self) -> None:
        """Nothing is remembered."""

    def _say(self) -> None:
        if not self._said:
            self._said = True
            log.warning("%d faces are swapped at most, the others are hidden", self._most)


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
    """The one face that a rank picks out of all in view. The others are seen as they are, except while that one is lost."""

    always_looks = False

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self.reset()

    def reset(self) -> None:
        self._rival: Other | None = None
        self._wins = 0

    def choose(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        big = [other for other in seen if crowd.big(moment, other)]
        if crew.members:
            self._challenge(moment, crew, crowd, big)
        else:
            self._search(moment, crew, crowd, big)

    def _search(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        for other in seen:
            back = crew.back(moment, other, _PATIENCE)
            if back is not None and start(moment, crew, crowd, other, back):
                return
        if any(moment.at - member.lost_at < _PATIENCE for member in crew.lost):
            return
        best = self._rank([other.detection.box for other in seen], None)
        if best is not None and start(moment, crew, crowd, seen[best], None):
            crew.lost = []

    def _challenge(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        member = crew.members[0]
        best = self._rank([*(other.detection.box for other in seen), *crew.boxes()], len(seen))
        if best == len(seen):
            self.reset()
            return
        rival = seen[best] if best is not None else None
        self._wins = self._wins + 1 if rival is self._rival else 1
        self._rival = rival
        crowd.next_look = moment.at + _BETWEEN
        if self._wins < _CHECKS:
            return
        self.reset()
        if rival is None:
            crew.lose(moment, member)
        elif start(moment, crew, crowd, rival, None):
            crew.drop(member)

    def check(self, moment: Moment, crew: Crew, crowd: Crowd) -> None:
        """Who it is does not matter."""

    def shows(self, other: Other, crew: Crew) -> bool:
        return bool(crew.members)
