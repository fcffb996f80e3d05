"""The tracker of several faces: one decision a frame, each after a look of the detector, for a newcomer must not be seen as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from realtime.models.base import Detector, Landmarker
from realtime.tracking.absent import Absent
from realtime.tracking.choice import Choice
from realtime.tracking.confirm import Confirmation
from realtime.tracking.crew import Crew
from realtime.tracking.crowd import Crowd
from realtime.tracking.follow import clipped
from realtime.tracking.moment import Moment
from realtime.tracking.settling import Settling
from realtime.tracking.sightings import drifted
from realtime.tracking.state import TrackerSettings
from realtime.types import Box, Face, Image

_STALLED = 1.0
"""Seconds without a frame after which the detector looks at once."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A face to be swapped."""

    face: Face
    person: int | None
    """Which of the people looked for; None when the rule is not about people."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A face that was swapped and cannot be found."""

    boxes: tuple[Box, ...]
    """Where it was last, and where it was heading, within the frame."""
    since: float
    """The time at which it was lost."""


@dataclass(frozen=True, slots=True)
class SeveralTracked:
    """The answer for one frame; the arrays are the caller's own."""

    faces: tuple[Chosen, ...]
    lost: tuple[Lost, ...]
    others: tuple[Box, ...]
    """More faces in view that must not be seen, within the frame."""
    reason: str
    """Why a face was lost or there is none; short words for the frame log."""
    times: dict[str, float] = field(default_factory=dict)
    """Seconds spent: "detect", "follow", "identify"."""
    anywhere: bool = False
    """A face that must not be seen may be anywhere in the frame: all of it is to be hidden."""


class SeveralTracker:
    """Follows the faces that a rule chooses. Not thread-safe; deterministic: the only clock is `at`."""

    def __init__(self, detector: Detector, landmarker: Landmarker, choice: Choice, settings: TrackerSettings) -> None:
        self._choice = choice
        self._crowd = Crowd(detector, settings)
        self._crew = Crew(landmarker, Confirmation(detector), settings, count(1))
        self._settling, self._absent = Settling(), Absent()
        self.reset()

    def reset(self) -> None:
        """Forget everybody. Track numbers go on counting."""
        self._crew.reset()
        self._crowd.reset()
        self._choice.reset()
        self._settling.reset()
        self._absent.clear()
        self._found = 0  # faces that the detector saw in this frame
        self._shape: tuple[int, ...] = (0, 0)
        self._at = -math.inf

    def track(self, image: Image, at: float) -> SeveralTracked:
        """Find the chosen faces in the next frame, captured `at` (seconds, any origin, growing). The image is not kept."""
        moment = Moment(image, at)
        self._begin(moment)
        cut = self._settling.look(image)
        if cut:
            self._absent.clear()
        reason = self._crew.follow(moment)
        reason = self._look(moment) or reason
        self._choice.check(moment, self._crew, self._crowd)
        self._crew.forget(moment)
        return self._answer(moment, reason)

    def _begin(self, moment: Moment) -> None:
        if not 0 <= moment.at - self._at <= _STALLED:
            self._crew.reschedule(moment.at)
        self._at = moment.at
        if moment.image.shape[:2] != self._shape:
            for member in list(self._crew.members):
                self._crew.lose(moment, member)
        self._shape = moment.image.shape[:2]

    def _look(self, moment: Moment) -> str:
        found, seen = self._crowd.look(moment, self._crew.boxes())
        self._found = sum(found) + len(seen)
        reason = self._crew.check(moment, found)
        self._choice.choose(moment, self._crew, self._crowd, seen)
        return reason or ("" if seen or self._crew.members else "no detection")

    def _answer(self, moment: Moment, reason: str) -> SeveralTracked:
        image, crew = moment.image, self._crew
        faces = tuple(Chosen(member.face, member.person) for member in crew.members if member.face is not None)
        lost = []
        for member in crew.lost:
            places = (member.box, member.ahead(moment.at))
            lost.append(Lost(tuple(clipped(box, image) for box in places if box is not None), member.lost_at))
        others = (other for other in self._crowd.in_view(moment.at) if not self._choice.shows(other, crew))
        unseen = [drifted(other.detection.box, other.last, moment.at) for other in others]
        unseen += self._crowd.behind(moment.at) + self._crowd.at_border(moment.at) + self._gone(moment.at)
        hidden = tuple(clipped(box, image) for box in (*unseen, *crew.released))
        settled = self._settled(moment, faces, lost, hidden)
        return SeveralTracked(faces, tuple(lost), hidden, reason, moment.times, not settled)

    def _gone(self, at: float) -> list[Box]:
        """Where those may be who were in view and are not seen any more."""
        views = [(box, True) for box in (*self._crew.boxes(), *self._crew.released, *self._crowd.seen_with_others(at))]
        views += [(other.detection.box, not self._choice.shows(other, self._crew)) for other in self._crowd.seen_at(at)]
        self._absent.look(at, views)
        return list(self._absent.places(at))

    def _settled(self, moment: Moment, faces: Sequence[Chosen], lost: Sequence[Lost], hidden: Sequence[Box]) -> bool:
        """Whether it is known where everybody is."""
        gone = [member.box for member in self._crew.lost if member.lost_at == moment.at and member.box is not None]
        places = [*(chosen.face.box for chosen in faces), *(box for each in lost for box in each.boxes), *hidden]
        return self._settling.over(moment.at, self._found, gone, places)
