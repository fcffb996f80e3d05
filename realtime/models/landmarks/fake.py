"""A landmarker without a network: the face goes where it was told to go."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from realtime.types import MESH_POINTS, Floats, Image, Landmarks, Region

_NAMED = {33: (-0.3, -0.15), 133: (-0.1, -0.15), 362: (0.1, -0.15), 263: (0.3, -0.15), 1: (0, 0.05), 61: (-0.15, 0.25), 291: (0.15, 0.25)}
"""Eye corners, nose tip and mouth corners in units of the face's height; their numbers are those of the real mesh."""


class FakeLandmarker:
    """Each call takes the next item of `script`: a mesh, or an exception to raise. The last item holds for ever.

    Without a script the face fills whatever region is asked for. `regions` keeps the regions that were asked for.
    """

    def __init__(self, script: Iterable[Landmarks | Exception] = ()) -> None:
        self._script = iter(script)
        self._now: Landmarks | Exception | None = None
        self.regions: list[Region] = []

    @property
    def name(self) -> str:
        return "fake"

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        self.regions.append(region)
        self._now = next(self._script, self._now)
        if isinstance(self._now, Exception):
            raise self._now
        if self._now is None:
            return mesh_at(region.x, region.y, region.size / 1.5, angle=region.angle)
        return Landmarks(self._now.points.copy(), self._now.presence)


def mesh_at(x: float, y: float, size: float, *, angle: float = 0.0, presence: float = 1.0) -> Landmarks:
    """A face of height `size` centred at (x, y), leaning `angle` degrees clockwise: an oval of points, the named ones in place."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    flat = _oval() * np.float32(size)
    points = np.zeros((MESH_POINTS, 3), np.float32)
    points[:, 0] = flat[:, 0] * cos - flat[:, 1] * sin + x
    points[:, 1] = flat[:, 0] * sin + flat[:, 1] * cos + y
    return Landmarks(points, presence)


def _oval() -> Floats:
    """(468, 2): a sunflower pattern in an upright oval one unit high."""
    index = np.arange(MESH_POINTS)
    radius, turn = np.sqrt((index + 0.5) / MESH_POINTS) / 2, index * math.pi * (3 - math.sqrt(5))
    points = np.stack([0.75 * radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    for number, place in _NAMED.items():
        points[number] = place
    return points.astype(np.float32)
