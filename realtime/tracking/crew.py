"""Several faces followed at once, and those just lost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from realtime.models.base import Landmarker
from realtime.tracking.confirm import Confirmation
from realtime.tracking.crowd import Crowd
from realtime.tracking.follow import Miss, inside
from realtime.tracking.followed import Followed
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other
from realtime.tracking.state import TrackerSettings
from realtime.types import Box, Landmarks
from realtime.vision import geometry

RESUME = 1.0
"""Seconds after which a face that turns up where one was lost is another one, with a number of its own."""
_GONE = 10.0
"""Seconds for which the place of a lost face stays hidden while others are swapped and the detector sees no face there."""
_LEFT = 1.0
"""The same for a face that was going out of the frame."""
_DOUBLE = 0.5
"""Overlap of two followed faces from which they are one, to which both meshes hold on."""


class Member(Followed):
    """One of them."""

    person: int | None = None
    """Which of the people looked for this is; None when nobody in particular is."""
    next_check = -math.inf
    """When the detector must have seen it."""
    anchor: Box | None = None
    """Where it was taken up."""

    @property
    def moved(self) -> bool:
        """Whether it ever moved about, as a picture on the wall does not."""
        self._moved = self._moved or bool(self.anchor and self.box and apart(self.anchor, self.box) > 0.1)
        return self._moved

    _moved = False


class Crew:
    """Keeps each member with its face; who is taken up, others decide. Track numbers are never used twice."""

    def __init__(self, landmarker: Landmarker, confirmation: Confirmation, settings: TrackerSettings, numbers: Iterator[int]) -> None:
        self._landmarker = landmarker
        self._confirmation = confirmation
        self._settings = settings
        self._numbers = numbers
        self.members: list[Member] = []
        self.lost: list[Member] = []
        self.released: list[Box] = []
        """Where those are who were let go in this frame: hidden, until the detector's next look tells who is in view."""

    def reset(self) -> None:
        self.members, self.lost, self.released = [], [], []

    def reschedule(self, at: float) -> None:
        """Time stood still or went back: what was planned for the old times is due now."""
        for member in (*self.members, *self.lost):
            member.reschedule(at)
            member.next_check = at

    def boxes(self) -> list[Box]:
        return [member.box for member in self.members if member.box is not None]

    # -- following -------------------------------------------------------------------------------------------

    def follow(self, moment: Moment) -> str:
        """Follow every member into this frame; those that could not be are lost, and why is told of the last of them."""
        reason, self.released = "", []
        smallest = 0.8 * self._settings.smallest(*moment.image.shape[:2])
        for member in list(self.members):
            face = member.follow(moment)
            if isinstance(face, Miss):
                reason = face.reason
            elif face.box.side < smallest:
                reason = "too small"
            else:
                continue
            self.lose(moment, member)
        return reason

    def check(self, moment: Moment, seen: list[bool]) -> str:
        """After a look of the detector, which saw these members: lose who holds on to another's face, or to none."""
        reason = ""
        for member, found in zip(list(self.members), seen, strict=True):
            if found:
                member.next_check = moment.at + self._settings.detect_every
            elif self._doubles(member):
                reason = "on another's face"
                self.lose(moment, member)
            elif moment.at >= member.next_check:
                member.next_check = moment.at + self._settings.detect_every
                assert member.face is not None
                if not member.confirmed(moment, member.face.landmarks):
                    reason = "not on a face"
                    self.lose(moment, member)
        return reason

    def _doubles(self, member: Member) -> bool:
        assert member.box is not None
        others = (each.box for each in self.members if each is not member)
        return any(geometry.overlap(member.box, box) > _DOUBLE for box in others if box is not None)

    # -- coming and going ------------------------------------------------------------------------------------

    def lose(self, moment: Moment, member: Member) -> None:
        """Its place is hidden from now on, until it is found again or given up."""
        self.drop(member)
        member.lose(moment.at)
        self.lost.append(member)

    def drop(self, member: Member) -> None:
        """It is not to be swapped any more, and need not be hidden."""
        self.members = [each for each in self.members if each is not member]

    def release(self, member: Member) -> None:
        """It may be anybody, and is as unknown from now on as a newcomer."""
        self.drop(member)
        if member.box is not None:
            self.released.append(member.box)

    def back(self, moment: Moment, other: Other, within: float) -> Member | None:
        """The member, lost so short a time ago at most, whose place this face is in."""
        recent = (member for member in self.lost if moment.at - member.lost_at <= within)
        return next((member for member in recent if member.in_place(other, reach=0.9)), None)

    def newcomer(self) -> Member:
        """Somebody to start on a detection, and to take up when that gives a mesh."""
        return Member(self._landmarker, self._confirmation, self._settings, self._numbers)

    def take_up(self, moment: Moment, member: Member, mesh: Landmarks, crowd: Crowd, other: Other) -> None:
        """Follow this face in view from now on: somebody lost that is back in place, or a newcomer."""
        if any(member is each for each in self.lost):
            member.again(moment, mesh)
        else:
            member.take(moment, mesh)
        member.next_check = moment.at + self._settings.detect_every
        self._found(moment, member)
        member.anchor = member.box
        self.members.append(member)
        crowd.remove(other)

    def _found(self, moment: Moment, member: Member) -> None:
        """Nobody needs to be hidden any more where this face may have come from: the nearest of those lost is explained."""
        assert member.box is not None
        if not any(each is member for each in self.lost):
            near = [(apart(member.box, each.box), each) for each in self.lost if each.box is not None]
            reach = [(off, each) for off, each in near if off < 1.0 + 2.0 * (moment.at - each.lost_at)]
            member_of = min(reach, key=lambda pair: pair[0], default=(0.0, member))[1]
        else:
            member_of = member
        self.lost = [each for each in self.lost if each is not member_of]

    def forget(self, moment: Moment) -> None:
        """Give up who has left the frame, or has not been seen for long."""
        self.lost = [member for member in self.lost if moment.at - member.lost_at <= _patience(moment, member)]


def _patience(moment: Moment, member: Member) -> float:
    ahead = member.ahead(moment.at)
    return _LEFT if ahead is not None and inside(ahead, moment.image) < 0.9 else _GONE


def apart(a: Box, b: Box) -> float:
    """Distance of the centres in face sizes."""
    (ax, ay), (bx, by) = a.centre, b.centre
    return math.hypot(ax - bx, ay - by) / max(a.width, a.height, b.width, b.height)
