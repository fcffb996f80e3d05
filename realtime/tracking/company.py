"""The person among other people: when the followed face may be another's, and who else may be the person then.

A mesh that follows one face goes over to another where the two cross, and nothing in the mesh tells. So the detector looks the more often
the nearer another face is; from the moment in which two touch nothing is shown of either until they are apart; and afterwards everybody
else is hidden until a look at the identity has found the person under the mesh. The same doubt comes with a cut, a loss, a jump.
Whoever comes into view is looked at, too, and stays hidden when it is the person once more: in a mirror, on a screen, in a dissolve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from realtime.tracking.followed import Followed
from realtime.tracking.identity import Enrolment
from realtime.tracking.moment import Moment
from realtime.tracking.others import SEEN, Other
from realtime.tracking.picture import Picture
from realtime.tracking.surroundings import Surroundings
from realtime.types import Box, Detection, Face
from realtime.vision import geometry

_TOUCH = 0.15
"""Share of the smaller of two boxes in the larger from which the faces touch; cheek to cheek it is 0."""
_NEAR = 0.35
"""Face sizes between two boxes below which the detector looks at every frame."""
_SLOW, _FAST = 4.0, 8.0
"""Face sizes a second at which two faces may approach each other: those who were slow so far, and those who came just now; somebody who
walks by a seated person does seven."""
_NEW = 0.5
"""Seconds after which a face that never moved is a picture: two people on top of each other, one of them a print, are not in touch."""
_STALE = 0.25
"""Seconds after which a velocity says nothing about where a face is."""
_MISSED = 1.0
"""Seconds that a face unseen by the detector counts as being there: behind another, or turned away."""
_LEFT = 0.3
"""The same for one that was at the border of the frame."""
_KEPT = 10.0
"""Seconds after which one who may be the person, for all that can be told, and was not seen any more, has left."""
_DRIFT, _FURTHEST = 2.0, 1.5
"""Face sizes a second that a face may go unseen, or one and a half times what it did, and the most that its cover grows by."""
_BRIEFLY = 0.2
"""Seconds for which an unseen face is covered where it may be; after that, while it is not proven who is followed, all of the frame is."""
_ASK = 0.5
"""Seconds at least between looks at the identity because somebody new came into view."""
_OFTEN = 0.1
"""Seconds between looks of the detector while somebody has to stay hidden."""
_FIRST = 1.0
"""Seconds for which others are hidden until it is known who is followed: one of them may be a mirror image."""
_CLEAN, _SETTLE = 5, 1.5
"""After a cut: looks in a row that must find as many faces as before where no recogniser can tell, and seconds after which it is over."""


class Company:
    """Of the one followed face. `prepare` before the checks of a frame, `conclude` after, then the answers hold for this frame."""

    def __init__(self, followed: Followed, surroundings: Surroundings, enrolment: Enrolment) -> None:
        self._followed, self._surroundings, self._enrolment = followed, surroundings, enrolment
        self._picture = Picture()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._first = True
        """Nobody was followed yet: whoever else is in view when somebody is taken up for the first time is somebody else."""
        self._wary = False
        """The swap went over from one person to another, so whoever comes may be the first: from then on everybody else is hidden."""
        self.lost()

    def lost(self) -> None:
        """Nobody is followed any more."""
        self._picture.reset()
        self.urgent = False
        """Whether the detector has to look in this frame, whatever else is due."""
        self._contact = False
        self._touching = False
        self._partner_missed = False
        self._cut_at = -math.inf
        self._cut = False
        self._clean = 0
        self._before = 1  # faces in view before the cut
        self._count = 1  # faces in view at the last look
        self._asked = -math.inf
        self._viewed = -math.inf
        self._track = -1

    # -- the frame ----------------------------------------------------------------------------------------------

    def prepare(self, moment: Moment, face: Face) -> None:
        """Before the checks: bring the detector's next look forward as the others, and the picture, demand."""
        cut = self._picture.cut(moment.image)
        new = self._track not in (-1, face.track)  # looks like another all of a sudden
        if cut or new:
            lately = sum(moment.at - other.last <= _MISSED for other in self._surroundings.others.faces)
            self._cut = cut or self._cut or lately > 0
            self._cut_at, self._before, self._clean = moment.at, max(self._count, 1 + lately if new else 0), 0
        known = [self._place(other, moment.at) for other in self._around(moment.at)]
        self.urgent = cut or new or self._picture.came(moment.image, moment.at, face.box, known)
        due = moment.at if self.urgent else self._due(moment.at, face)
        self._surroundings.next_look = min(self._surroundings.next_look, due)

    def conclude(self, moment: Moment, face: Face) -> None:
        """After the checks, with the face that is followed now."""
        if face.track != self._track:
            if self._followed.watch.unproven or (self._track != -1 and not self._enrolment.known):
                self.doubt(moment.at, face)
            self._track = face.track
        if self._surroundings.viewed_at != moment.at:
            return
        seen = [other for other in self._surroundings.others.faces if other.last == moment.at]
        new = [other for other in seen if other.first > self._viewed]
        if self._first:
            for other in new:
                other.cleared = True
            self._first, new = False, []
        self._viewed = moment.at
        entering = self._surroundings.at_border(moment.at)  # too little of them yet for a face
        self._picture.looked(moment.at, face.box, bool(new or entering))
        self._count = len(seen) + 1
        self._came(moment.at, face, new)
        self._spread(seen)
        self._touch(moment.at, face)
        self._settle(moment.at, face)

    def _came(self, at: float, face: Face, new: list[Other]) -> None:
        """Newcomers may be the person whom the mesh slipped off, unseen."""
        if not new:
            return
        missing = self._missing(at)
        self._explain(at, new, missing)
        if self._wary or missing:
            for other in new:
                other.suspect = True
        elif self._enrolment.known:
            watch = self._followed.watch
            watch.next_look = min(watch.next_look, max(at, self._asked + _ASK))
            self._asked = at
        else:
            for other in new:
                other.suspect = other.suspect or geometry.gap(face.box, other.detection.box) < face.box.side

    def _explain(self, at: float, new: list[Other], missing: list[Other]) -> None:
        """Whoever comes out from behind another is the one that was missed there, and waited for no more."""
        gone = missing + [other for other in self._around(at) if other.last < at and other.moved]
        for other in new:
            reach = [(geometry.gap(other.detection.box, old.detection.box), old) for old in gone]
            near = [(gap, old) for gap, old in reach if gap < (0.5 + _SLOW * (at - old.last)) * old.detection.box.side]
            if near:
                old = min(near, key=lambda pair: pair[0])[1]
                other.moved, other.suspect = True, other.suspect or old.suspect
                gone = [each for each in gone if each is not old]
                self._surroundings.others.remove(old)

    def _missing(self, at: float) -> list[Other]:
        """Suspects who are not seen: whoever comes may be one of them."""
        faces = self._surroundings.others.faces
        return [other for other in faces if other.suspect and other.last < self._surroundings.viewed_at and at - other.last <= _KEPT]

    def _spread(self, seen: list[Other]) -> None:
        """Two others who touch may have been taken for each other."""
        for one in seen:
            if one.suspect or not one.cleared:
                for other in seen:
                    if other is not one and _shared(one.detection.box, other.detection.box) > _TOUCH:
                        other.suspect, other.cleared = other.suspect or one.suspect, other.cleared and one.cleared

    def _touch(self, at: float, face: Face) -> None:
        living = [other for other in self._around(at) if _alive(other, at)]
        touching = [other for other in living if _shared(face.box, _ahead(other, at)) > _TOUCH]
        self._touching = any(other.last == at for other in touching)
        self._partner_missed = any(other.last < at for other in touching)
        if bool(touching) != self._contact:
            self._contact = bool(touching)
            self.doubt(at, face)

    def _settle(self, at: float, face: Face) -> None:
        """After a cut."""
        if not self._cut:
            return
        if self._cut_at == at:
            self._cut = max(self._before, self._count) > 1
            self.doubt(at, face, everybody=True)
        self._clean = self._clean + 1 if self._count >= self._before else 0
        watch = self._followed.watch
        settled = not watch.unproven if self._enrolment.known else self._clean >= _CLEAN
        if settled or at - self._cut_at > _SETTLE:
            self._cut = False

    # -- doubt and proof ----------------------------------------------------------------------------------------

    def doubt(self, at: float, face: Face, everybody: bool = False) -> None:
        """The followed face may be another's from now on. Where no look can tell, those who may be the person stay hidden for good."""
        if self._enrolment.known:
            self._followed.watch.question(at)
            return
        for other in self._around(at):
            near = geometry.gap(face.box, self._place(other, at)) < face.box.side
            other.suspect = other.suspect or everybody or (near and other.moved)

    def proved(self, at: float, sure: bool = True) -> None:
        """The followed face was found to be the person; if not surely so, that says nothing of those who came meanwhile."""
        self._cut = False
        if not sure and not self._contact:
            watch = self._followed.watch
            if any(not other.cleared for other in self._around(at)):
                watch.next_look = min(watch.next_look, at + _ASK)
            return
        for other in self._around(at):
            other.cleared = True
            missed = self._partner_missed and other.last < self._surroundings.viewed_at
            other.away = missed and not other.suspect  # behind the person, or overlooked
        self._contact = self._touching
        self._partner_missed = False

    def handed_over(self, at: float, former: Face | None = None) -> None:
        """Somebody else has the swap from now on: whoever was the person, and may be in view or come back, is not to be seen."""
        self._wary = True
        for other in self._around(at):
            other.suspect = other.suspect or _alive(other, at)
        if former is not None:
            seen = Detection(former.box, geometry.five_points(former.landmarks.points), former.landmarks.presence)
            other = Other(seen, 0.0, at, at, at, former.box, former.box, moved=True, suspect=True)
            self._surroundings.others.faces.insert(0, other)

    @property
    def tellable(self) -> bool:
        """Whether a look at the followed face says who is followed: not while two faces are on top of each other. Nor is somebody
        learned as the person while that may be another one."""
        return not self._touching and (self._enrolment.known or not self.closed)

    def untold(self, at: float) -> Other | None:
        """A face seen just now of which it is not known yet whether it is the person a second time."""
        if not self._enrolment.known or self._followed.watch.doubted or self._contact:
            return None
        fresh = (other for other in self._around(at) if other.last >= self._surroundings.viewed_at and at - other.last < SEEN)
        return next((other for other in fresh if not (other.told or other.suspect) and at >= other.next_look), None)

    # -- what may be shown --------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether nothing may be shown of the followed face either."""
        return self._contact or self._cut

    def anywhere(self, at: float) -> bool:
        """Whether the person may be anywhere."""
        if self._cut or (self._contact and self._partner_missed):
            return True
        if not self._enrolment.known or not (self._contact or self._followed.watch.unproven):
            return False
        return any(other.moved and at - other.last > _BRIEFLY for other in self._around(at))

    def hidden(self, at: float) -> Iterator[Box]:
        """Where those are who may be the person."""
        known, doubted = self._enrolment.known, self._followed.watch.doubted
        first = self._enrolment.possible and not known and at - self._followed.since < _FIRST
        for other in self._around(at):
            doubtful = doubted or not (other.cleared and other.told)
            if other.suspect or first or (self._wary and other.moved) or (known and doubtful):
                yield self._place(other, at)
        if self._wary or (known and doubted):
            yield from self._surroundings.at_border(at)

    # -- where they are -----------------------------------------------------------------------------------------

    def _due(self, at: float, face: Face) -> float:
        """When the detector has to look next, for nobody to come near between two looks."""
        others = list(self._around(at))
        unproven = bool(others) and self._enrolment.known and self._followed.watch.unproven
        if unproven or self._wary or self._contact or self._cut or self._missing(at):
            return at
        due = math.inf
        for other in others:
            size = max(face.box.side, other.detection.box.side)
            usual = _FAST if other.last == other.first else _SLOW
            speed = min(max(usual * size, 2 * math.hypot(*other.velocity)), 2 * _FAST * size)
            due = min(due, other.last + max(0.0, geometry.gap(face.box, other.detection.box) - _NEAR * size) / speed)
            if other.suspect:
                due = min(due, other.last + _OFTEN)
            elif self._enrolment.known and not other.told:
                due = min(due, max(other.last + _OFTEN, other.next_look))
        return due

    def _around(self, at: float) -> Iterator[Other]:
        """Whoever is in view, as far as is known: the detector misses faces, and some are behind others."""
        for other in list(self._surroundings.others.faces):
            unseen = self._surroundings.viewed_at - other.last
            if other.away:
                continue
            if unseen <= 0 or at - other.last <= self._patience(other):
                yield other

    def _patience(self, other: Other) -> float:
        return _LEFT if self._leaving(other) and not other.suspect else _MISSED

    def _leaving(self, other: Other) -> bool:
        box = other.detection.box
        height, width = self._picture.shape
        margin = 0.25 * box.side
        return box.x0 < margin or box.y0 < 0 or box.x1 > width - margin or box.y1 > height

    def _place(self, other: Other, at: float) -> Box:
        """The box, grown by the time gone by since it was seen."""
        box = other.detection.box
        speed = max(_DRIFT, 1.5 * math.hypot(*other.velocity) / max(box.side, 1.0))
        return geometry.grow(box, min(speed * max(at - other.last, 0.0), _FURTHEST))



def _alive(other: Other, at: float) -> bool:
    """Whether it is no picture, as far as can be told by now."""
    return other.moved or at - other.first < _NEW


def _ahead(other: Other, at: float) -> Box:
    """The box, moved to where the face may be by now if it went on."""
    reach = min(max(at - other.last, 0.0), _STALE)
    (x, y), box = other.velocity, other.detection.box
    return Box(box.x0 + x * reach, box.y0 + y * reach, box.x1 + x * reach, box.y1 + y * reach)


def _shared(a: Box, b: Box) -> float:
    """Share of the smaller box that lies in the other."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return width * height / max(min(a.area, b.area), 1.0) if width > 0 and height > 0 else 0.0
