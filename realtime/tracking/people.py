"""Choosing certain people, each known by a reference photo. Who they are is asked when a track begins and seldom after, not on every frame.

Whoever is none of them is seen as they are, but not before two looks, face to the camera, have said so: until then they are hidden, for
they may be one of those who must not be seen. The same doubt is cast again on everybody when one of the people is lost, and on whoever
touches one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from realtime.tracking.choice import Choice
from realtime.tracking.crew import Crew, Member
from realtime.tracking.crowd import Crowd
from realtime.tracking.follow import Miss
from realtime.tracking.gallery import Gallery, Look
from realtime.tracking.identity import Finding
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other
from realtime.tracking.state import TrackerSettings
from realtime.types import Box, Landmarks

_PROOFS = 2
"""Looks that must find nobody before a face is seen as it is."""
_SOON, _AGAIN, _SELDOM = 0.3, 1.0, 3.0
"""Seconds until an unknown face is looked at again, one like somebody who is followed already, and one that is known to be nobody's."""
_TOUCH = 0.15
"""Face sizes around two faces within which one may be taken for the other."""


class People(Choice):
    """The people of a gallery, each followed once at most."""

    def __init__(self, gallery: Gallery, settings: TrackerSettings) -> None:
        self._gallery = gallery
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        self._gallery.reset()
        self._doubtful_since = -math.inf

    def shows(self, other: Other, crew: Crew) -> bool:
        return other.stranger

    def choose(self, moment: Moment, crew: Crew, crowd: Crowd, seen: Sequence[Other]) -> None:
        self._doubt(moment, crew, seen)
        ready = [other for other in seen if crowd.big(moment, other)]
        for other in ready:
            back = crew.back(moment, other, self._settings.resume_within)
            if back is not None and self._resume(moment, crew, crowd, other, back):
                return
        due = sorted((other for other in ready if moment.at >= other.next_look), key=lambda other: other.next_look)
        for other in due if self._settings.patient else due[:1]:  # one embedding a frame
            self._ask(moment, crew, crowd, other)

    def _doubt(self, moment: Moment, crew: Crew, seen: Sequence[Other]) -> None:
        """Take back that somebody is nobody's where it may not hold any more."""
        lost = any(member.lost_at > self._doubtful_since for member in crew.lost)
        self._doubtful_since = moment.at
        for other in seen:
            if lost or any(_touch(other.detection.box, box) for box in crew.boxes()):
                other.doubt(moment.at)

    def _resume(self, moment: Moment, crew: Crew, crowd: Crowd, other: Other, back: Member) -> bool:
        mesh = back.start(moment, other.detection)
        if isinstance(mesh, Miss):
            return False
        crew.take_up(moment, back, mesh, crowd, other)
        return True

    def _ask(self, moment: Moment, crew: Crew, crowd: Crowd, other: Other) -> None:
        """Whether this face in view is one of the people."""
        other.next_look = moment.at + _SOON
        newcomer = crew.newcomer()
        mesh = newcomer.start(moment, other.detection)
        look = self._gallery.look(moment, mesh.points) if isinstance(mesh, Landmarks) else None
        if look is None or isinstance(mesh, Miss):
            return
        person = self._gallery.match(look)
        if person is None:
            if self._gallery.is_nobody(look):
                self._nobody(moment, other)
            return
        holder = next((member for member in crew.members if member.person == person), None)
        held = self._likeness(moment, holder, person) if holder is not None else -1.0
        if holder is None or (other.moved, look.references[person]) > (holder.moved, held):
            self._take(moment, crew, crowd, other, newcomer, mesh, person)
        elif self._gallery.is_second(look, person, held):
            self._nobody(moment, other)
        else:
            other.looks, other.stranger = 0, False  # a picture or a mirror image of one of the people must not be seen either
            other.next_look = moment.at + _AGAIN

    def _take(self, moment: Moment, crew: Crew, crowd: Crowd, other: Other, newcomer: Member, mesh: Landmarks, person: int) -> None:
        """Follow the person on this face. One who was taken for them before, less alive or less like them, is as unknown as a newcomer."""
        for member in crew.members:
            if member.person == person:
                crew.release(member)
        newcomer.person = person
        crew.take_up(moment, newcomer, mesh, crowd, other)
        crew.lost = [member for member in crew.lost if member.person != person]

    def _nobody(self, moment: Moment, other: Other) -> None:
        other.looks += 1
        other.stranger = other.looks >= _PROOFS or self._settings.patient
        other.next_look = moment.at + (_SELDOM if other.stranger else _SOON)

    def _likeness(self, moment: Moment, member: Member, person: int) -> float:
        look = self._gallery.look(moment, member.face.landmarks.points) if member.face is not None else None
        return look.references[person] if look is not None else -1.0

    def check(self, moment: Moment, crew: Crew, crowd: Crowd) -> None:
        """Whether those who are followed still are who they were taken for, one a frame at most."""
        if moment.times["identify"] > 0:
            return
        due = min(crew.members, key=lambda member: member.watch.next_look, default=None)
        if due is not None and moment.at >= due.watch.next_look and due.face is not None:
            self._verify(moment, crew, due, due.face.landmarks)

    def _verify(self, moment: Moment, crew: Crew, member: Member, mesh: Landmarks) -> None:
        assert member.person is not None
        watch, person = member.watch, member.person
        look = self._gallery.look(moment, mesh.points)
        limit = self._gallery.limit(look.turned) if look is not None else math.inf
        if look is None or (look.turned and look.cosines[person] < limit):
            watch.next_look = moment.at + _SOON  # says nothing against them
            return
        finding = watch.judge(look.cosines[person], limit, moment.at, self._settings.identify_every / 3)
        if finding is Finding.SAME:
            self._gallery.learn(person, look)
        elif finding is not Finding.UNSURE:
            self._mistaken(moment, crew, member, look, mesh)

    def _mistaken(self, moment: Moment, crew: Crew, member: Member, look: Look, mesh: Landmarks) -> None:
        """This is not who it was taken for. One who is somebody else of the people is swapped as that one from now on; any other keeps the
        swap for a while, which shows nobody, and is then as unknown as a newcomer."""
        free = set(range(len(self._gallery))) - {each.person for each in crew.members}
        other = self._gallery.match(look, free)
        since = member.watch.stranger_since
        if other is not None:
            member.person = other
            member.take(moment, mesh)
        elif since is None or moment.at - since >= self._settings.takeover:
            crew.release(member)


def _touch(a: Box, b: Box) -> bool:
    reach = _TOUCH * max(a.width, b.width)
    return a.x0 - reach < b.x1 and b.x0 - reach < a.x1 and a.y0 - reach < b.y1 and b.y0 - reach < a.y1
