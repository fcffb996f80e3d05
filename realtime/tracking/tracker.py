"""The tracker: one decision a frame."""

from __future__ import annotations

import math
from itertools import count

from realtime.models.base import Detector, Landmarker, Recogniser
from realtime.tracking.checks import Checks, Loss
from realtime.tracking.company import Company
from realtime.tracking.confirm import Confirmation
from realtime.tracking.follow import Miss, clipped
from realtime.tracking.followed import Followed
from realtime.tracking.identity import Enrolment
from realtime.tracking.moment import Moment
from realtime.tracking.preference import MainFace, Preference
from realtime.tracking.search import Search
from realtime.tracking.state import Status, Tracked, TrackerSettings
from realtime.tracking.surroundings import Surroundings
from realtime.types import Face, Image, Landmarks

_STALLED = 1.0
"""Seconds without a frame after which a followed mesh is checked against a detection at once."""


class Tracker:
    """Follows one face from frame to frame: the main one, or whom its preference prefers. Not thread-safe; deterministic: the only clock
    is `at`."""

    def __init__(
        self,
        detector: Detector,
        landmarker: Landmarker,
        recogniser: Recogniser | None,
        settings: TrackerSettings,
        preference: Preference | None = None,
    ) -> None:
        """`preference`: the main face when None."""
        self._settings = settings
        self._followed = Followed(landmarker, Confirmation(detector), settings, count(1))
        self._surroundings = Surroundings(detector, settings)
        self._enrolment = Enrolment(recogniser, settings.similarity)
        self._company = Company(self._followed, self._surroundings, self._enrolment)
        self._preference = preference or MainFace(settings)
        parts = self._followed, self._surroundings, self._enrolment, self._company, self._preference
        self._checks, self._search = Checks(*parts, settings), Search(*parts, settings)
        self.reset()

    def reset(self) -> None:
        """Forget everybody, the enrolled person too. Track numbers go on counting, so that no two faces ever share one."""
        self._enrolment.clear()
        self._surroundings.reset()
        self._followed.reset()
        self._company.reset()
        self._preference.reset()
        self._shape: tuple[int, ...] = (0, 0)
        self._at = -math.inf

    def track(self, image: Image, at: float) -> Tracked:
        """Find the main face in the next frame, captured `at` (seconds, any origin, growing). The image is not kept."""
        moment = Moment(image, at)
        if not 0 <= at - self._at <= _STALLED:
            self._reschedule(at)
        self._at = at
        if self._followed.face is not None and image.shape[:2] != self._shape:
            self._lose(moment)
        self._shape = image.shape[:2]
        if self._followed.face is not None:
            return self._follow(moment)
        face, reason = self._search.run(moment)
        return self._missing(moment, reason) if face is None else self._found(moment, face, Status.DETECTED, reason)

    def _reschedule(self, at: float) -> None:
        """Time stood still, or went back (a file played again): what was planned for the old times is due now."""
        self._surroundings.next_look = at
        self._followed.reschedule(at)
        if at < self._at:
            self._surroundings.others.clear()

    def _follow(self, moment: Moment) -> Tracked:
        face = self._followed.follow(moment)
        if isinstance(face, Miss):
            return self._recover(moment, face.reason)
        if face.box.side < 0.8 * self._settings.smallest(*moment.image.shape[:2]):
            return self._lost(moment, "too small")
        return self._checked(moment, face)

    def _checked(self, moment: Moment, face: Face) -> Tracked:
        self._company.prepare(moment, face)
        outcome = self._checks.run(moment, face)
        if outcome is None:
            return self._found(moment, face)
        if isinstance(outcome, Loss):
            return self._lost(moment, outcome.reason, outcome.somebody_else)
        return self._found(moment, outcome.face, Status.DETECTED, outcome.reason)

    def _recover(self, moment: Moment, reason: str) -> Tracked:
        """The mesh is gone: detect in the same frame, and carry on when the face is still in its place."""
        for other in self._surroundings.look(moment):
            if self._followed.in_place(other):
                mesh = self._followed.start(moment, other.detection)
                if isinstance(mesh, Landmarks):
                    self._surroundings.others.remove(other)
                    return self._found(moment, self._followed.again(moment, mesh), Status.DETECTED, reason)
        return self._lost(moment, reason)

    def _lose(self, moment: Moment) -> None:
        self._preference.reset()
        self._company.lost()
        self._surroundings.next_look = moment.at + self._settings.detect_lost_every if moment.detected else moment.at
        self._followed.lose(moment.at)

    def _lost(self, moment: Moment, reason: str, somebody_else: bool = False) -> Tracked:
        if somebody_else:
            self._followed.since = math.inf
        self._lose(moment)
        return self._missing(moment, reason)

    def _found(self, moment: Moment, face: Face, state: Status = Status.FOLLOWED, reason: str = "") -> Tracked:
        if state is Status.DETECTED:
            self._surroundings.next_look = moment.at + self._settings.detect_every
        company = self._company
        company.conclude(moment, face)
        hidden = tuple(clipped(box, moment.image) for box in company.hidden(moment.at))
        last, closed, anywhere = clipped(face.box, moment.image), company.closed, company.anywhere(moment.at)
        return Tracked(face, state, reason, moment.detected, last, moment.times, hidden, closed or anywhere, anywhere)

    def _missing(self, moment: Moment, reason: str) -> Tracked:
        box, ahead = self._followed.box, self._followed.ahead(moment.at)
        if box is None or ahead is None:
            return Tracked(None, Status.NONE, reason, moment.detected, None, moment.times)
        last = clipped(self._surroundings.around(box, moment.at), moment.image)
        hidden = tuple(clipped(each, moment.image) for each in (ahead, *self._surroundings.in_view(moment.at)))
        return Tracked(None, Status.LOST, reason, moment.detected, last, moment.times, hidden)
