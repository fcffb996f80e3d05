"""One frame while it is being decided upon."""

from __future__ import annotations

from time import perf_counter

from realtime.types import Image


class Moment:
    """The picture, its time, and what looking at it has cost so far. Made anew for each frame; the image is only read."""

    __slots__ = ("at", "detected", "image", "times")

    def __init__(self, image: Image, at: float) -> None:
        self.image = image
        self.at = at
        self.detected = False
        """Whether the detector ran, on all of the frame or a part."""
        self.times = {"detect": 0.0, "follow": 0.0, "identify": 0.0}
        """Seconds spent."""

    def spent(self, part: str, since: float) -> None:
        """Book the time from `since` (`perf_counter`) until now under this part."""
        self.times[part] += perf_counter() - since
