"""The slow looks while a face is followed, one a frame at most: is it still in its place, the main one, and the same person?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from realtime.tracking.company import Company
from realtime.tracking.followed import Followed
from realtime.tracking.identity import Enrolment, Finding
from realtime.tracking.moment import Moment
from realtime.tracking.others import GAP, SEEN, Other
from realtime.tracking.preference import Preference
from realtime.tracking.state import TrackerSettings
from realtime.tracking.surroundings import Surroundings
from realtime.types import Box, Face, Landmarks


@dataclass(frozen=True, slots=True)
class Loss:
    """The face is to be given up."""

    reason: str
    somebody_else: bool = False
    """Nothing found in its place counts as the person then."""


@dataclass(frozen=True, slots=True)
class Change:
    """Another face is followed, or the same one from another place."""

    face: Face
    reason: str


class Checks:
    """Of the one followed face. At most one a frame: a detection and an embedding together could cost a frame."""

    def __init__(
        self,
        followed: Followed,
        surroundings: Surroundings,
        enrolment: Enrolment,
        company: Company,
        preference: Preference,
        settings: TrackerSettings,
    ) -> None:
        self._preference = preference
        self._followed = followed
        self._surroundings = surroundings
        self._enrolment = enrolment
        self._company = company
        self._settings = settings

    def run(self, moment: Moment, face: Face) -> Change | Loss | None:
        """What is due in this frame; None when nothing was, or all is well."""
        watch = self._followed.watch
        if self._company.urgent:
            return self._place(moment, face)
        if watch.suspects:
            return self._suspect(moment, watch.suspects.pop(0))
        if moment.at >= watch.next_look and self._company.tellable and self._telling(moment, face):
            return self._identity(moment, face)
        untold = self._company.untold(moment.at)
        if untold is not None:
            self._once_more(moment, untold)
        elif moment.at >= self._surroundings.next_look:
            return self._place(moment, face)
        return None

    # -- where ------------------------------------------------------------------------------------------------

    def _place(self, moment: Moment, face: Face) -> Change | Loss | None:
        """The slow detection: is the mesh where a face is, and is this still the main face?"""
        seen = self._surroundings.look(moment, apart_from=face)
        own, watch = self._surroundings.own, self._followed.watch
        adrift = own is None and not self._followed.confirmed(moment, face.landmarks)
        rivals = self._rivals(moment, face, seen)
        for other in seen:
            drifted = adrift and not other.suspect and self._followed.in_place(other, reach=1.0)
            if drifted or any(other is rival for rival in rivals):
                mesh = self._followed.start(moment, other.detection)
                if isinstance(mesh, Landmarks):
                    return self._go_over(moment, other, mesh, drifted)
        if self._preference.nobody:
            return Loss("nobody is the one to swap", somebody_else=True)
        if adrift:
            return Loss("not on a face")
        if watch.stranger_since is not None and not watch.suspects:
            watch.suspects = [other for other in seen if moment.at >= other.next_look][:2]
        return None

    def _go_over(self, moment: Moment, other: Other, mesh: Landmarks, drifted: bool) -> Change:
        self._surroundings.others.remove(other)
        if drifted:
            return Change(self._followed.again(moment, mesh), "drift")
        self._enrolment.clear()
        self._company.handed_over(moment.at, self._followed.face)
        return Change(self._followed.take(moment, mesh), "challenged")

    def _rivals(self, moment: Moment, face: Face, seen: list[Other]) -> list[Other]:
        """Who is to get the swap instead; nobody before it is known who has it."""
        if self._company.closed:
            self._preference.reset()
            return []
        # Unseen by the detector, the followed face counts half: it may be a mesh that holds on to nothing.
        own = self._surroundings.own
        box, sure = (own.box, own.score) if own is not None else (face.box, 0.5 * face.landmarks.presence)
        rivals = self._preference.rivals(moment.at, box, sure, seen, moment.image.shape)
        self._surroundings.next_look = min(self._surroundings.next_look, moment.at + self._preference.again)
        return rivals

    # -- who --------------------------------------------------------------------------------------------------

    def _telling(self, moment: Moment, face: Face) -> bool:
        """Whether a look at the identity would tell anything now."""
        watch, enrolment = self._followed.watch, self._enrolment
        if not enrolment.possible:
            watch.next_look = math.inf
            return False
        return watch.frontal_enough(face.landmarks.points, moment.at, enrolment.known)

    def _identity(self, moment: Moment, face: Face) -> Loss | None:
        """Enrol the followed face, or see whether it still is the person enrolled."""
        watch, enrolment = self._followed.watch, self._enrolment
        cosine = enrolment.look(moment, face.landmarks.points, learn=not (enrolment.known and watch.unproven))
        crowd = any(moment.at - other.last < GAP for other in self._surroundings.others.faces)
        finding = watch.judge(cosine, enrolment.same_person, moment.at, watch.interval(enrolment.count, crowd), enrolment.sure)
        if finding is Finding.SAME and not watch.unproven:
            self._company.proved(moment.at, sure=cosine >= enrolment.sure)
        if finding is Finding.UNSURE and watch.unproven:
            watch.suspects = [other for other in self._surroundings.others.faces if moment.at - other.last < SEEN][:2]
        if finding is Finding.INTRUDER:
            return Loss("another person", somebody_else=True)
        return self._stranger(moment, face) if finding is Finding.STRANGER else None

    def _stranger(self, moment: Moment, face: Face) -> Loss | None:
        """The followed face is somebody else. They have the swap already and keep it while the person is looked for elsewhere; after a
        while it is theirs, unless they are a picture."""
        watch, since = self._followed.watch, self._followed.watch.stranger_since
        if since is None or since == moment.at:
            watch.stranger_box = face.box
            self._surroundings.next_look = moment.at
        elif moment.at - since >= self._settings.takeover:
            if watch.stranger_box is not None and _moved(face.box, watch.stranger_box) < 0.02:
                return Loss("another person", somebody_else=True)
            self._enrolment.clear()
            self._company.handed_over(moment.at)
            watch.begin(moment.at)
        return None

    def _once_more(self, moment: Moment, other: Other) -> None:
        """Is this other face the person, too?"""
        mesh = self._followed.start(moment, other.detection)
        self._enrolment.once_more(moment, mesh.points if isinstance(mesh, Landmarks) else None, other)

    def _suspect(self, moment: Moment, other: Other) -> Change | None:
        """A stranger is followed: is this other face the person?"""
        mesh = self._followed.start(moment, other.detection)
        if isinstance(mesh, Landmarks) and self._enrolment.recognises(moment, mesh.points, other):
            self._surroundings.others.remove(other)
            self._followed.take(moment, mesh)
            self._company.proved(moment.at)
            assert self._followed.face is not None
            return Change(self._followed.face, "person seen elsewhere")
        return None


def _moved(a: Box, b: Box) -> float:
    """Distance of the centres in face sizes."""
    (ax, ay), (bx, by) = a.centre, b.centre
    return math.hypot(ax - bx, ay - by) / a.side
