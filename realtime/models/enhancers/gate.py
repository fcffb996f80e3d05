"""A slow step that runs only where there is time for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from realtime.models.base import Crop, Finish

SHARE = 0.5
"""Of the time between two frames: what an enhancer may take of it. The rest is for finding, following and swapping the face."""


@dataclass
class Gate:
    """Whether a step of so many `seconds` runs, infinitely many for one that no camera can have; one for all faces of a run."""

    name: str
    """As the user knows it, "--enhance gfpgan_1.4"."""
    seconds: float
    open: bool = True

    def decide(self, *, live: bool, fps: float) -> str:
        """Close it for a camera that leaves no time. What was decided, as a sentence; empty for a file, which has all the time."""
        if not live:
            self.open = True
            return ""
        budget = SHARE / max(fps, 1)
        self.open = self.seconds <= budget
        if self.seconds == math.inf:
            return f"{self.name} is not for cameras: off, for pictures and videos only"
        takes = f"{self.name} takes {1e3 * self.seconds:.0f} ms a face here"
        if self.open:
            return f"{takes}, which fits between the camera's frames: on"
        return f"{takes} and the camera leaves {1e3 * budget:.0f} ms: off, for pictures and videos only"


class Gated:
    """A step behind a gate; implements `Finish`."""

    def __init__(self, step: Finish, gate: Gate) -> None:
        self._step, self._gate = step, gate

    @property
    def name(self) -> str:
        return self._step.name

    def finish(self, crop: Crop) -> None:
        if self._gate.open:
            self._step.finish(crop)

    def reset(self) -> None:
        self._step.reset()

    def fork(self) -> Gated:
        return Gated(self._step.fork(), self._gate)
