"""The rules by which several faces are chosen: what each has to answer, and the one that needs no recogniser."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from realtime.tracking.crew import RESUME, Crew, Member
from realtime.tracking.crowd import Crowd
from realtime.tracking.follow import Miss
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other

log = logging.getLogger(__name__)

_STARTS = 2
"""Newcomers started in one frame at most: each costs the mesh network two passes or more."""
_AGAIN = 0.15
"""Seconds after which a face is tried again in which the mesh network found none."""


class Choice(Protocol):
    """Decides whom the crew follows. One rule serves one tracker."""

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
