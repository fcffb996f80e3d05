"""Faces that were seen a moment ago: a detector misses one now and then, and by then it may have moved."""

from __future__ import annotations

from collections.abc import Iterable

from realtime.types import Box
from realtime.vision import geometry

HELD = 0.3
"""Seconds that a face counts as in view after it was seen last."""
_DRIFT = 3.0
"""Face sizes a second that it may have moved meanwhile."""


def drifted(box: Box, last: float, at: float) -> Box:
    """Where a face that was seen at `last` may be by now."""
    return geometry.grow(box, _DRIFT * (at - last))


class Sightings:
    """Boxes that nothing is known of but when they were seen."""

    def __init__(self) -> None:
        self._seen: list[tuple[Box, float]] = []

    def clear(self) -> None:
        self._seen.clear()

    def add(self, boxes: Iterable[Box], at: float) -> None:
        self._seen = self._lately(at) + [(box, at) for box in boxes]

    def now(self, at: float) -> list[Box]:
        """Those that are seen at this time."""
        return [box for box, last in self._seen if last == at]

    def places(self, at: float) -> list[Box]:
        """Where those seen a moment ago may be by now."""
        return [drifted(box, last, at) for box, last in self._lately(at)]

    def _lately(self, at: float) -> list[tuple[Box, float]]:
        return [(box, last) for box, last in self._seen if 0 <= at - last <= HELD]
