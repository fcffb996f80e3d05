"""Following one face by its mesh, and telling a face from a mesh that has slipped off it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from realtime.models.base import Landmarker
from realtime.types import Box, Detection, Floats, Image, Landmarks, Region
from realtime.vision import geometry

_STILL = 0.3
"""Face sizes a second below which a motion is not carried on: network noise must not shake the crop."""
_REACH = 0.35
"""Face sizes that a prediction may move the crop at most; its margin of a quarter face covers the rest."""
_STALE = 0.25
"""Seconds after which a velocity says nothing about where the face is."""

_PASSES = 4
"""Most passes of the mesh network over one frame while following."""
_START_PASSES = 6
"""The same from a detection, which is further off: its roll is up to 40 degrees short on a leaning head."""
_SETTLED = 0.05
"""Face sizes, and as many parts of the face's size, by which a mesh may differ from the region it was looked for in. A mesh is right when
it is a fixed point: looked for around itself it stays. Off the crop's centre the network is drawn back towards it, by up to a third of the
distance (measured on clips of 0.1 to 0.4 face sizes a frame), so the swap would peel off the face."""
_LEANING = 12.0
"""The same for the roll in degrees."""


@dataclass(frozen=True, slots=True)
class Miss:
    """No usable face, and why in a few words."""

    reason: str


def inside(box: Box, image: Image) -> float:
    """Share of the box that lies in the image."""
    height, width = image.shape[:2]
    across, down = min(box.x1, width) - max(box.x0, 0.0), min(box.y1, height) - max(box.y0, 0.0)
    return max(across, 0.0) * max(down, 0.0) / box.area if box.area > 0 else 0.0


def clipped(box: Box, image: Image) -> Box:
    """The box within the image, at least one pixel each way."""
    height, width = image.shape[:2]
    x0, y0 = min(max(box.x0, 0.0), width - 1.0), min(max(box.y0, 0.0), height - 1.0)
    return Box(x0, y0, max(min(box.x1, float(width)), x0 + 1), max(min(box.y1, float(height)), y0 + 1))


def flaw(mesh: Landmarks, box: Box, image: Image, presence: float) -> str:
    """What speaks against this mesh, with this bounding box, being a face in the image; empty when nothing does."""
    # A bounding box of finite numbers leaves only z to be looked at.
    if not (math.isfinite(mesh.presence) and all(map(math.isfinite, box)) and math.isfinite(float(mesh.points[:, 2].sum()))):
        return "not a number"
    if mesh.presence < presence:
        return f"presence {mesh.presence:.2f}"
    height, width = image.shape[:2]
    x, y = box.centre
    if inside(box, image) < 0.4 or not (0 <= x < width and 0 <= y < height):
        return "out of frame"
    return "" if _face_like(mesh.points, box) else "degenerate mesh"


def settled(looked: Region, found: Region) -> bool:
    """Whether a mesh found in one region lies where it was looked for; else it is not to be trusted before another look."""
    slack = _SETTLED * found.size / geometry.REGION_MARGIN
    moved = math.hypot(found.x - looked.x, found.y - looked.y)
    leaned = abs((found.angle - looked.angle + 180.0) % 360.0 - 180.0)
    # A box grows with an opening mouth, so the size is given twice the room.
    return moved <= slack and abs(found.size / looked.size - 1.0) <= 2 * _SETTLED and leaned <= _LEANING


def _face_like(points: Floats, box: Box) -> bool:
    """A face is neither a sliver nor folded up. The eye distance is taken in depth too, so that a profile passes."""
    if min(box.width, box.height) < 4 or not 0.35 < box.width / box.height < 2.2:
        return False
    left, right = geometry.OUTER_EYE_CORNERS
    return math.dist(points[right].tolist(), points[left].tolist()) > 0.15 * box.side


def _around(points: Floats, box: Box) -> Region:
    """Where to look for this mesh, with this bounding box, again."""
    left, right = geometry.OUTER_EYE_CORNERS
    side = box.side * geometry.REGION_MARGIN
    return Region(*box.centre, side, geometry.roll(points[left], points[right]))


class Follower:
    """Knows where the followed face's mesh was and where it is going."""

    def __init__(self, landmarker: Landmarker, presence: float) -> None:
        self._landmarker = landmarker
        self._presence = presence
        self._region: Region | None = None
        self._at = 0.0
        self._velocity = (0.0, 0.0)
        self._centre = (0.0, 0.0)
        self.box = Box(0.0, 0.0, 0.0, 0.0)
        """Of the mesh last found, before any smoothing: it lags least."""
        self.passes = 0
        """Of the network, over the last frame."""

    def start(self, image: Image, detection: Detection, most: int = _START_PASSES, strict: bool = False) -> Landmarks | Miss:
        """The mesh of a detected face, in two passes or more: the detector's points wander by up to a tenth of the eye distance.

        Up to `most` passes until the network is sure and the mesh stays where it is; `strict`: one that never stays is no face.
        """
        region = geometry.region_from_detection(detection)
        reason = ""
        for done in range(1, most + 1):
            mesh = self._landmarker.landmarks(image, region)
            self.box, self.passes = geometry.bounds(mesh.points), done
            reason = flaw(mesh, self.box, image, self._presence)
            # Crops may be off before the last, so presence need not be high yet; but what is no face at all gives no next crop.
            if reason and flaw(mesh, self.box, image, self._presence / 2):
                break
            around = _around(mesh.points, self.box)
            if not reason and done >= 2 and (settled(region, around) or (done == most and not strict)):
                return mesh
            region = around
        return Miss(reason or "unsettled")

    def step(self, image: Image, at: float) -> Landmarks | Miss:
        """The mesh in the next frame: one pass of the network when it lies where it was expected, else more until it stays.

        Raises RuntimeError when nothing was kept before.
        """
        if self._region is None:
            raise RuntimeError("nothing to follow: keep a mesh first")
        before = self._region.size / geometry.REGION_MARGIN
        region = self._predicted(at)
        for self.passes in range(1, _PASSES + 1):
            mesh = self._landmarker.landmarks(image, region)
            self.box = geometry.bounds(mesh.points)
            reason = flaw(mesh, self.box, image, self._presence)
            if not reason and not 0.6 < self.box.side / before < 1.7:
                reason = "size jump"
            if reason:
                return Miss(reason)
            around = _around(mesh.points, self.box)
            if settled(region, around):
                return mesh
            region = around
        return Miss("unsettled")

    def keep(self, points: Floats, box: Box, at: float) -> None:
        """Remember a mesh, smoothed by now and with this bounding box, to look around next."""
        x, y = self.box.centre
        if self._region is not None and 0 < at - self._at < _STALE:
            passed, (before_x, before_y), (speed_x, speed_y) = at - self._at, self._centre, self._velocity
            self._velocity = (0.5 * (speed_x + (x - before_x) / passed), 0.5 * (speed_y + (y - before_y) / passed))
        else:
            self._velocity = (0.0, 0.0)
        self._centre, self._at = (x, y), at
        self._region = _around(points, box)

    def ahead(self, box: Box, at: float) -> Box:
        """A box where the followed face was last, moved to where the face may be by now if it went on."""
        reach = min(max(at - self._at, 0.0), _STALE)
        x, y = (speed * reach for speed in self._velocity)
        return Box(box.x0 + x, box.y0 + y, box.x1 + x, box.y1 + y)

    def forget(self) -> None:
        """Follow nothing; where the face was heading stays known until another mesh is kept."""
        self._region = None

    def _predicted(self, at: float) -> Region:
        assert self._region is not None
        region, size, dt = self._region, self._region.size / geometry.REGION_MARGIN, at - self._at
        speed = math.hypot(*self._velocity) / size
        if speed <= _STILL or not 0 < dt < _STALE:
            return region
        reach = min((speed - _STILL) * dt, _REACH) * size / (speed * size)
        x, y = self._velocity
        return region._replace(x=region.x + x * reach, y=region.y + y * reach)
