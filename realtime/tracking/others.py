"""Memory of the faces in view that are not followed: how long each is there, whether it ever moved, who it was found to be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from realtime.types import Box, Detection
from realtime.vision import geometry

_CENTRAL = 0.6
"""Distance from the frame's centre, in half diagonals, at which centrality falls to 1/e."""

_LOOK_AGAIN = 0.4
"""Seconds between the first two looks at the identity of an unknown face."""
_INSTANT = 0.01
"""Seconds; a clock may stand still."""
SEEN = 0.3
"""Seconds since a face was seen, at most, for it to be looked at, where it was, for being the person."""
GAP = 2.5
"""Longer than the slow detection's interval, so that a face missed once still counts as staying."""


def main_score(box: Box, confidence: float, height: int, width: int) -> float:
    """How much a face looks like the one that matters: its size in shares of the frame, times how central and how sure it is.

    Size counts linearly (twice the score for a face twice as wide), centrality between 0.5 in a corner and 1 in the centre.
    """
    x, y = box.centre
    off = math.hypot(x - width / 2, y - height / 2) / (math.hypot(width, height) / 2)
    size = math.sqrt(box.area) / min(height, width)
    return size * (0.5 + 0.5 * math.exp(-((off / _CENTRAL) ** 2))) * confidence


def near(a: Box, b: Box, reach: float) -> bool:
    """Whether two boxes can be one face a moment apart: of like size, with centres within `reach` face sizes."""
    size_a, size_b = a.side, b.side
    (ax, ay), (bx, by) = a.centre, b.centre
    ratio = size_a / size_b if size_b > 0 else math.inf
    return 0.55 < ratio < 1.8 and math.hypot(ax - bx, ay - by) < reach * max(size_a, size_b)


@dataclass(slots=True)
class Other:
    """One face in view."""

    detection: Detection
    score: float
    """Main-face score."""
    first: float
    """When it was seen first."""
    since: float
    """When it came into view, not counting gaps of up to `GAP` seconds."""
    last: float
    anchor: Box
    """Smoothed box when first seen."""
    smooth: Box
    moved: bool = False
    """Whether it ever moved more than a detector's box wanders: a picture on the wall never does."""
    wins: int = 0
    """Checks in a row in which it beat the followed face."""
    next_check: float = -math.inf
    """When the next of them may be: looks may come in every frame."""
    cleared: bool = False
    """The followed face was found to be the person while this one was in view: it is somebody else."""
    told: bool = False
    """Its own identity was looked at, or cannot be: it is not the person a second time, in a mirror or on a screen."""
    likely: int = 0
    """Looks that found it like the person, but not surely so."""
    suspect: bool = False
    """It may be the person, or one who was followed before, and no look can tell: not to be seen."""
    away: bool = False
    """Unseen, and not in the way: the followed face was found to be the person since."""
    velocity: tuple[float, float] = (0.0, 0.0)
    """Of its centre lately, in pixels a second."""
    looks: int = 0
    next_look: float = -math.inf
    """When its identity may be looked at again."""
    stranger: bool = False
    """The last look found somebody else than the person followed before."""

    def see(self, detection: Detection, score: float, at: float, span: float) -> None:
        """`span` is the frame's longer side in pixels: boxes also wander by detector pixels, whatever the face's size."""
        gain = 0.3
        (x, y), (before_x, before_y) = detection.box.centre, self.detection.box.centre
        passed, (speed_x, speed_y) = max(at - self.last, _INSTANT), self.velocity
        self.velocity = 0.5 * (speed_x + (x - before_x) / passed), 0.5 * (speed_y + (y - before_y) / passed)
        if at - self.last > GAP:
            self.since, self.told = at, False
        self.smooth = Box(*(s + gain * (b - s) for s, b in zip(self.smooth, detection.box, strict=True)))
        self.detection, self.score, self.last, self.away = detection, score, at, False
        (ax, ay), (sx, sy) = self.anchor.centre, self.smooth.centre
        size = self.anchor.side
        grown = abs(self.smooth.side - size)
        self.moved |= max(math.hypot(sx - ax, sy - ay), grown) > 0.08 * size + 0.004 * span

    def looked(self, at: float, same: bool) -> None:
        """Book a look at its identity. The next one is due later each time: it costs as much as several swaps."""
        self.looks += 1
        self.next_look = at + _LOOK_AGAIN * min(self.looks, 3)
        self.stranger = not same

    def doubt(self, at: float) -> None:
        """Take back what is known of its identity: it may be another face by now."""
        if self.stranger:
            self.stranger, self.looks, self.next_look = False, 0, at


@dataclass(slots=True)
class Others:
    """The faces in view, a few at most, forgotten when unseen for long."""

    forget_after: float = 30.0
    most: int = 8
    faces: list[Other] = field(default_factory=list)

    def update(self, found: Iterable[tuple[Detection, float]], at: float, span: float) -> list[Other]:
        """Match detections (with their main-face scores) to the faces known; return those seen now, the best first."""
        self.faces = [face for face in self.faces if at - face.last <= self.forget_after]
        free = list(self.faces)
        seen = []
        for detection, score in found:
            match = _closest(detection.box, free)
            if match is None:
                match = Other(detection, score, at, at, at, detection.box, detection.box)
                self.faces.append(match)
            else:
                free.remove(match)
                match.see(detection, score, at, span)
            seen.append(match)
        self.faces = sorted(self.faces, key=lambda face: -face.last)[: self.most]
        return sorted(seen, key=lambda face: -face.score)

    def remove(self, other: Other) -> None:
        """The face is followed from now on and no longer one of the others."""
        self.faces = [face for face in self.faces if face is not other]

    def clear(self) -> None:
        self.faces.clear()


def _closest(box: Box, faces: list[Other]) -> Other | None:
    """The known face that overlaps the box most, or failing that one of like size close by."""
    best = max(faces, key=lambda face: geometry.overlap(box, face.detection.box), default=None)
    if best is not None and geometry.overlap(box, best.detection.box) > 0.2:
        return best
    return next((face for face in faces if near(box, face.detection.box, 0.75)), None)
