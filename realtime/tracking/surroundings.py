"""What the detector sees in the whole frame: which faces are in view, who is new, when to look again."""

from __future__ import annotations

import math
from time import perf_counter

from realtime.models.base import Detector
from realtime.tracking.follow import inside
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other, Others, main_score
from realtime.tracking.sightings import HELD, Sightings, drifted
from realtime.tracking.state import TrackerSettings
from realtime.types import Box, Detection, Face, Image
from realtime.vision import geometry

ON_FACE = 0.3
"""Overlap from which a detection and a mesh's box show the same face; 0.6 to 0.8 is usual."""


class Surroundings:
    """Runs the detector and remembers what it saw."""

    def __init__(self, detector: Detector, settings: TrackerSettings) -> None:
        self._detector = detector
        self._settings = settings
        self.others = Others()
        self._border = Sightings()  # faces of which too little is in the frame to be followed
        self.reset()

    def reset(self) -> None:
        self.others.clear()
        self.next_look = -math.inf
        """When the detector is due."""
        self.own: Detection | None = None
        """The followed face, as the detector saw it last."""
        self.nobody = "no detection"
        """Why the last look may have found nobody."""
        self._in_view: tuple[Box, ...] = ()  # every face the detector saw last, the small ones too
        self._border.clear()
        self.viewed_at = -math.inf
        """When the detector looked last."""

    def look(self, moment: Moment, apart_from: Face | None = None) -> list[Other]:
        """Run the detector; the faces in view that are big and sure enough, the best first, without the one that is being followed."""
        settings = self._settings
        start = perf_counter()
        found = self._detector.detect(moment.image)
        moment.spent("detect", start)
        moment.detected = True
        self.next_look = moment.at + (settings.detect_every if apart_from is not None else settings.detect_lost_every)
        self.viewed_at = moment.at
        height, width = moment.image.shape[:2]
        visible = [face for face in found if face.score >= settings.score and sane(face, moment.image, least=0.0)]
        sure = [face for face in visible if sane(face, moment.image)]
        self._in_view = tuple(face.box for face in visible)
        self._border.add((face.box for face in visible if not sane(face, moment.image)), moment.at)
        big = [face for face in sure if face.box.side >= settings.smallest(height, width)]
        self.nobody = "too small" if sure else "no detection"
        self.own = best_match(big, apart_from.box) if apart_from is not None else None
        scored = [(face, main_score(face.box, face.score, height, width)) for face in big if face is not self.own]
        return self.others.update(scored, moment.at, max(height, width))

    def in_view(self, at: float) -> tuple[Box, ...]:
        """Every face seen a moment ago, the small ones too; one that the last look missed may have moved on."""
        fresh = at - self.viewed_at <= max(HELD, self._settings.detect_lost_every)
        missed = (face for face in self.others.faces if face.last < self.viewed_at and at - face.last <= HELD)
        boxes = tuple(drifted(face.detection.box, face.last, at) for face in missed)
        return (self._in_view if fresh else ()) + boxes + self.at_border(at)

    def at_border(self, at: float) -> tuple[Box, ...]:
        """Those seen a moment ago of which too little is in the frame to be followed."""
        return tuple(self._border.places(at))

    def around(self, box: Box, at: float) -> Box:
        """The box together with every face in view that may be the lost person, misjudged: all but known pictures."""
        boxes = [box]
        boxes += [other.detection.box for other in self.others.faces if other.last == at and (other.moved or not other.stranger)]
        low_x, low_y, high_x, high_y = zip(*boxes, strict=True)
        return Box(min(low_x), min(low_y), max(high_x), max(high_y))


def sane(detection: Detection, image: Image, least: float = 0.3) -> bool:
    """A detector's answer that can be worked with: finite and with more than the `least` share of it within the frame."""
    return all(map(math.isfinite, (*detection.box, detection.score))) and inside(detection.box, image) > least


def best_match(found: list[Detection], box: Box) -> Detection | None:
    """The detection of the face whose mesh has this box; None when there is none."""
    best = max(found, key=lambda face: geometry.overlap(face.box, box), default=None)
    return best if best is not None and geometry.overlap(best.box, box) >= ON_FACE else None
