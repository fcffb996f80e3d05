"""Several faces of which none may be seen: where those are that were in view and that the detector does not see any more.

One that walks behind another, or right beside it, is missed for as long as half of it is covered, and comes out wherever the other one
goes. So every face in view is kept by its place alone, followed or not, and one that was seen for a while and is gone is covered where it
may be by now until a face turns up there, or until it must have been seen if it were still in view.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from realtime.tracking.sightings import HELD
from realtime.types import Box
from realtime.vision import geometry

_KNOWN = 3
"""Times that a face must have been seen to be missed when it is gone: a detector sees one now and then where none is."""
_STEP, _SPEED = 0.35, 4.0
"""Face sizes, and as many more a second since it was seen last, within which a face is the one that was there before."""
_RATIO = 2.0
"""By how much the sizes of the two may differ."""
_DRIFT = 3.0
"""Face sizes a second that one may move unseen, or half as much again as it did before."""
_INSTANT, _GAIN = 0.01, 0.3
"""Seconds between two frames from which they tell a speed, for a clock may stand still; how much the latest two count."""
_ALONE, _FURTHEST = 1.0, 1.5
"""Seconds after which a face that was alone would have been seen again, and the face sizes that its cover grows by at most until then."""
_BESIDE = 0.25
"""Face sizes between two boxes within which one may be behind the other a moment later."""
_BEHIND = 10.0
"""Seconds for which a face that vanished beside another one may still be behind it."""
_SAME = 0.3
"""Overlap from one frame to the next from which a box is still that other one."""


View = tuple[Box, bool]
"""A face, and whether it must not be seen as it is."""


@dataclass(slots=True)
class _Known:
    """One face, wherever it is."""

    box: Box
    last: float
    """When it was seen last."""
    guarded: bool = True
    """Whether it must not be seen."""
    times: int = 1
    velocity: tuple[float, float] = (0.0, 0.0)
    beside: list[Box] = field(default_factory=list)
    """Since it is gone: those it may be behind, where they are now."""

    def see(self, box: Box, at: float, guarded: bool) -> None:
        passed = at - self.last
        if _INSTANT <= passed <= HELD:
            (x, y), (x0, y0), (vx, vy) = box.centre, self.box.centre, self.velocity
            self.velocity = vx + _GAIN * ((x - x0) / passed - vx), vy + _GAIN * ((y - y0) / passed - vy)
        self.box, self.last, self.guarded, self.times, self.beside = box, at, guarded, self.times + 1, []

    def off(self, box: Box, at: float) -> float:
        """How far a box is, in face sizes, from where this one was, or where it would be if it went on."""
        return min(_apart(self.box, box), _apart(self.ahead(at), box))

    def ahead(self, at: float) -> Box:
        reach = min(at - self.last, HELD)
        return _moved(self.box, self.velocity[0] * reach, self.velocity[1] * reach)


class Absent:
    """Of one tracker. Takes in every frame in which the detector looked."""

    def __init__(self) -> None:
        self._known: list[_Known] = []

    def clear(self) -> None:
        self._known.clear()

    def look(self, at: float, views: Sequence[View]) -> None:
        """`views`: every face in this frame, each once, followed or not."""
        if any(at < known.last for known in self._known):
            self.clear()  # time went back
        left = self._found(at, list(views))
        seen = [box for box, _ in views]
        gone = [known for known in self._known if known.last < at]
        for known in gone:
            known.beside = [_followed(box, seen) for box in known.beside] or [
                box for box in seen if geometry.gap(known.ahead(at), box) < _BESIDE * max(known.box.side, box.side)
            ]
        self._known = [known for known in self._known if known.last == at or at - known.last <= _patience(known)]
        self._known += [_Known(box, at, guarded) for box, guarded in left]

    def places(self, at: float) -> Iterator[Box]:
        """Where those may be who are gone."""
        for known in self._known:
            gone = at - known.last
            if gone > 0 and known.guarded and known.times >= _KNOWN:
                yield from _places(known, gone)

    def _found(self, at: float, views: list[View]) -> list[View]:
        """Give each view to the face that was nearest, those seen in the frame before first; the views that are nobody's."""
        latest = max((known.last for known in self._known), default=at)
        for group in ([k for k in self._known if k.last == latest], [k for k in self._known if k.last < latest]):
            pairs = [(known.off(box, at), n, m) for n, known in enumerate(group) for m, (box, _) in enumerate(views)]
            taken: set[int] = set()
            for off, n, m in sorted(pairs):
                known, (box, guarded) = group[n], views[m]
                if known.last < at and m not in taken and off < _STEP + _SPEED * (at - known.last) and _alike(known.box, box):
                    known.see(box, at, guarded)
                    taken.add(m)
            views = [view for m, view in enumerate(views) if m not in taken]
        return views


def _places(known: _Known, gone: float) -> Iterator[Box]:
    size = max(known.box.side, 1.0)
    speed = max(_DRIFT, 1.5 * math.hypot(*known.velocity) / size)
    if gone <= _ALONE:
        growth = speed * gone
        yield geometry.grow(known.box, growth if known.beside else min(growth, _FURTHEST))
    for box in known.beside:
        yield geometry.grow(box, size / max(box.side, 1.0))


def _patience(known: _Known) -> float:
    if known.times < _KNOWN:
        return HELD
    return _BEHIND if known.beside else _ALONE


def _followed(box: Box, seen: Iterable[Box]) -> Box:
    """Where the face is now that was at `box`."""
    best = max(seen, key=lambda each: geometry.overlap(box, each), default=box)
    return best if geometry.overlap(box, best) > _SAME else box


def _alike(a: Box, b: Box) -> bool:
    return 1 / _RATIO < a.side / max(b.side, 1.0) < _RATIO



def _moved(box: Box, x: float, y: float) -> Box:
    return Box(box.x0 + x, box.y0 + y, box.x1 + x, box.y1 + y)


def _apart(a: Box, b: Box) -> float:
    """Distance of the centres in sizes of the larger face."""
    (ax, ay), (bx, by) = a.centre, b.centre
    return math.hypot(ax - bx, ay - by) / max(a.side, b.side, 1.0)
