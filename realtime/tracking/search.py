"""Nobody is followed: whom to take up, and when somebody else than the person lost."""

from __future__ import annotations

from realtime.tracking.company import Company
from realtime.tracking.follow import Miss
from realtime.tracking.followed import Followed
from realtime.tracking.identity import Enrolment
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other, near
from realtime.tracking.preference import Preference
from realtime.tracking.state import TrackerSettings
from realtime.tracking.surroundings import Surroundings
from realtime.types import Face, Landmarks


class Search:
    """For the one face to be followed."""

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

    def run(self, moment: Moment) -> tuple[Face | None, str]:
        """The face taken up in this frame, or None, and a word about it."""
        if moment.at < self._surroundings.next_look:
            return None, "waiting"
        seen = self._surroundings.look(moment)
        best, reason = self._preference.best(seen), self._surroundings.nobody
        if best is None:
            return None, "nobody is the one to swap" if seen else reason
        for other in sorted(seen, key=lambda face: (*self._urgency(moment, face), face is not best))[:2]:
            mesh, reason = self._take_up(moment, other, seen)
            if mesh is not None:
                self._surroundings.others.remove(other)
                return self._take(moment, mesh, self._resumes(moment, other)), reason
            if moment.times["identify"] > 0:
                break  # one embedding a frame
        return None, reason

    def _take(self, moment: Moment, mesh: Landmarks, resumes: bool) -> Face:
        """Follow this face from now on. Whoever else is in view may be the person lost, unless this one was recognised."""
        first = self._followed.box is None
        face = self._followed.take(moment, mesh, unproven=resumes)
        if self._enrolment.known and not resumes:
            self._company.proved(moment.at)
        elif not (first or resumes):
            self._company.handed_over(moment.at)
        return face

    def _urgency(self, moment: Moment, other: Other) -> tuple[bool, bool]:
        """Sort key: where the face was lost first, then those not looked at lately; else by main-face score, as they come."""
        return not self._resumes(moment, other), moment.at < other.next_look

    def _resumes(self, moment: Moment, other: Other) -> bool:
        """Whether this must be the face just lost: a moment later and in its place."""
        return moment.at - self._followed.lost_at <= self._settings.resume_within and self._followed.in_place(other)

    def _take_up(self, moment: Moment, other: Other, seen: list[Other]) -> tuple[Landmarks | None, str]:
        """The mesh of a face that may be followed from now on, or None and why not."""
        known = self._enrolment.known
        allowed = self._resumes(moment, other) or (not known and self._welcome(moment, other, seen))
        if not (allowed or known):
            return None, "still picture"
        takes_over = not allowed and self._takes_over(moment, other, seen)
        if not (allowed or takes_over) and moment.at < other.next_look:
            return None, "another person"
        mesh = self._followed.start(moment, other.detection)
        if isinstance(mesh, Miss):
            return None, mesh.reason
        if allowed or self._enrolment.recognises(moment, mesh.points, other):
            return mesh, ""
        if not takes_over:
            return None, "another person"
        self._enrolment.clear()
        return mesh, "taken over"

    def _welcome(self, moment: Moment, other: Other, seen: list[Other]) -> bool:
        """With nobody enrolled: anyone at first; after a loss a face that moves, that is about where the loss was, or that stays."""
        box = self._followed.box
        if not self._preference.allows(other, seen):
            return False
        if box is None:
            return True
        if moment.at - self._followed.lost_at < self._preference.patience:
            return self._followed.in_place(other, reach=0.9)
        staying = moment.at - max(other.since, self._followed.lost_at) >= self._settings.takeover
        return other.moved or staying or near(other.detection.box, box, reach=1.5)

    def _takes_over(self, moment: Moment, other: Other, seen: list[Other]) -> bool:
        """Somebody else gets the swap after being the main face for a while: moving, still there, and the best of those who move."""
        alive = [face for face in seen if face.moved]
        lost_at = self._followed.lost_at
        alone = len(alive) == 1 and moment.at - lost_at >= self._settings.long_loss
        wait = self._settings.takeover_alone if alone else self._settings.takeover
        staying = moment.at - max(other.since, lost_at) >= wait
        return staying and other.stranger and self._preference.best(alive) is other
