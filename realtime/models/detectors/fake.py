"""A detector without a network: it finds what it was told to find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from realtime.types import Box, Detection, Image


class FakeDetector:
    """Each call takes the next item of `script`: the faces to find, or an exception to raise. The last item holds for ever.

    `calls` counts.
    """

    def __init__(self, script: Iterable[Sequence[Detection] | Exception] = ((),)) -> None:
        self._script = iter(script)
        self._now: Sequence[Detection] | Exception = ()
        self.calls = 0

    @property
    def name(self) -> str:
        return "fake"

    def detect(self, image: Image) -> list[Detection]:
        self.calls += 1
        self._now = next(self._script, self._now)
        if isinstance(self._now, Exception):
            raise self._now
        return sorted(self._now, key=lambda face: -face.score)


def face_at(x: float, y: float, size: float, score: float = 0.9) -> Detection:
    """An upright face in a box `size` high, three quarters as wide, centred at (x, y)."""
    box = Box(x - 0.375 * size, y - size / 2, x + 0.375 * size, y + size / 2)
    points = np.array([[-0.17, -0.12], [0.17, -0.12], [0, 0.06], [-0.14, 0.22], [0.14, 0.22]]) * size + (x, y)
    return Detection(box, points.astype(np.float32), score)
