"""Who is in view while several faces are followed: the detector's answers, each given to one followed face or to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from realtime.models.base import Detector
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other, Others, main_score
from realtime.tracking.sightings import HELD, Sightings
from realtime.tracking.state import TrackerSettings
from realtime.tracking.surroundings import ON_FACE, sane
from realtime.types import Box, Detection
from realtime.vision import geometry

_SECOND = 0.4
"""Overlap with a followed face from which a further detection is that face, seen twice, or somebody right behind it."""
_SAME, _CROSSED = 0.5, 0.1
"""Overlap with where a face was at the look before: from the first on it is the same one, from the second on it may be another."""
_MOST = 32
"""Faces remembered; nearly all are to be hidden, so none in view may be forgotten."""


class Crowd:
    """The faces in view that are not followed, the small ones too."""

    def __init__(self, detector: Detector, settings: TrackerSettings) -> None:
        self._detector = detector
        self._settings = settings
        self._others = Others(most=_MOST)
        self._behind, self._border = Sightings(), Sightings()
        self.reset()

    def reset(self) -> None:
        self._others.clear()
        self._behind.clear()
        self._border.clear()

    def look(self, moment: Moment, boxes: Sequence[Box]) -> tuple[list[bool], list[Other]]:
        """Run the detector: for each followed face whether it is seen, and everybody else, the main one first."""
        start = perf_counter()
        found = self._detector.detect(moment.image)
        moment.spent("detect", start)
        moment.detected = True
        visible = [face for face in found if face.score >= self._settings.score and sane(face, moment.image, least=0.0)]
        sure = [face for face in visible if sane(face, moment.image)]
        self._border.add((face.box for face in visible if not sane(face, moment.image)), moment.at)
        seen = assigned(sure, boxes)
        rest = [face for n, face in enumerate(sure) if n not in seen]
        self._behind.add((face.box for face in rest if _overlaps(face, boxes)), moment.at)
        rest = [face for face in rest if not _overlaps(face, boxes)]
        height, width = moment.image.shape[:2]
        scored = [(face, main_score(face.box, face.score, height, width)) for face in rest]
        before = [(other, other.detection.box, other.last) for other in self._others.faces]
        others = self._others.update(scored, moment.at, max(height, width))
        for other, box, last in before:
            crossed = any(geometry.overlap(box, each.detection.box) > _CROSSED for each in others if each is not other)
            if crossed or moment.at - last > HELD or geometry.overlap(box, other.detection.box) < _SAME:
                other.doubt(moment.at)
        return [n >= 0 for n in seen], others

    def in_view(self, at: float) -> list[Other]:
        """Everybody who is not followed and was seen a moment ago."""
        return [other for other in self._others.faces if at - other.last <= HELD]

    def seen_at(self, at: float) -> list[Other]:
        """Everybody who is not followed and is seen in this frame."""
        return [other for other in self._others.faces if other.last == at]

    def seen_with_others(self, at: float) -> list[Box]:
        """What is seen in this frame behind a followed face, or at the border of the frame."""
        return self._behind.now(at) + self._border.now(at)

    def behind(self, at: float) -> list[Box]:
        """What was seen a moment ago behind a followed face, too near to be told apart."""
        return self._behind.places(at)

    def at_border(self, at: float) -> list[Box]:
        """The same of faces of which too little is in the frame to be followed."""
        return self._border.places(at)

    def remove(self, other: Other) -> None:
        """The face is followed from now on."""
        self._others.remove(other)

    def big(self, moment: Moment, other: Other) -> bool:
        box = other.detection.box
        return box.side >= self._settings.smallest(*moment.image.shape[:2])


def assigned(found: Sequence[Detection], boxes: Sequence[Box]) -> list[int]:
    """For each box the number of its detection, or -1; the pairs that overlap most come first and no detection serves two."""
    pairs = [(geometry.overlap(face.box, box), n, m) for n, face in enumerate(found) for m, box in enumerate(boxes)]
    result = [-1] * len(boxes)
    for overlap, n, m in sorted(pairs, reverse=True):
        if overlap >= ON_FACE and result[m] < 0 and n not in result:
            result[m] = n
    return result


def _overlaps(face: Detection, boxes: Sequence[Box]) -> bool:
    return any(geometry.overlap(face.box, box) > _SECOND for box in boxes)
