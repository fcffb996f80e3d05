"""A second opinion on a mesh: does the detector see a face exactly there, the right way up?"""

from __future__ import annotations

import numpy as np

from realtime.models.base import Detector
from realtime.types import Box, Detection, Floats, Image, Region
from realtime.vision import align, geometry, pose

_SIDE = 320
_MARGIN = 2.0
"""The crop's side in face sizes: the detector wants to see the head."""
_PLAIN = 0.92
"""Score in an upright crop from which nothing else is asked. Measured: 0.91 to 0.95 for meshes that are right, small and covered faces too,
and 0.82 to 0.90 for one that lies upside down on a face."""
_AHEAD = 0.04
"""Below that the face must look this much more like one than with its crop upside down: 0.05 to 0.9 when right, at most 0.03 when wrong."""
_OVERLAP = 0.4
_APART = 0.2
"""Mean distance in face sizes between the five points of mesh and detector; 0.02 to 0.12 when right."""
TURNED, _APART_TURNED = 25.0, 0.1
"""Degrees to one side, by the mesh, from which it must be nearer: 0.02 to 0.06 when right, 0.14 and more where it took a profile, half
covered by hair, for a face turned by 30 degrees and put the eye on the cheek."""


class Confirmation:
    """Asks the detector about a crop turned upright by the mesh's roll. Costs one detection, two in doubt; belongs to one thread."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._crop = np.empty((_SIDE, _SIDE, 3), np.uint8)

    def ask(self, image: Image, points: Floats) -> bool:
        """Whether the mesh (468, 3) lies on a face, the right way up. The image is only read."""
        left, right = geometry.OUTER_EYE_CORNERS
        box = geometry.bounds(points)
        region = Region(*box.centre, _MARGIN * box.side, geometry.roll(points[left], points[right]))
        mesh = geometry.apply(geometry.crop_transform(region, _SIDE), points[:, :2])
        seen = self._seen(image, region, geometry.bounds(mesh))
        limit = _APART_TURNED if abs(pose.yaw(points)) > TURNED else _APART
        if seen is None or not _same_place(seen, mesh, limit):
            return False
        if seen.score >= _PLAIN:
            return True
        over = region._replace(angle=region.angle + 180.0)
        turned = geometry.apply(geometry.crop_transform(over, _SIDE), points[:, :2])
        against = self._seen(image, over, geometry.bounds(turned))
        return against is None or seen.score - against.score >= _AHEAD

    def _seen(self, image: Image, region: Region, box: Box) -> Detection | None:
        """The surest face that overlaps the box, in crop pixels."""
        align.crop(image, geometry.crop_transform(region, _SIDE), _SIDE, out=self._crop)
        found = (face for face in self._detector.detect(self._crop) if geometry.overlap(face.box, box) >= _OVERLAP)
        return max(found, key=lambda face: face.score, default=None)


def _same_place(seen: Detection, mesh: Floats, limit: float) -> bool:
    box = geometry.bounds(mesh)
    apart = np.linalg.norm(seen.points - geometry.five_points(mesh), axis=1).mean()
    return bool(apart < limit * box.side)
