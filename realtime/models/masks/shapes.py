"""Masks that need no network: a box, the face's outline, and the mouth as it is."""

from __future__ import annotations

import numpy as np

from realtime.models.base import Crop
from realtime.models.masks.base import View
from realtime.types import Face, Floats, Image
from realtime.vision import geometry
from realtime.vision.masks import fill_box, fill_hull, fill_polygon, lower, soften
from realtime.vision.mesh import indices

_SIZE = 128
"""Side of the picture that an outline is drawn in. It is smooth, so that a quarter of a large face's resolution shows nothing."""
_ROOM = 1.5
"""Side of that picture over the longer side of the face: room for padding and blur."""

_INNER, _OUTER = np.array(indices.INNER_LIPS), np.array(indices.OUTER_LIPS)
"""Opposite points, from corner to corner along the upper lip and back along the lower one."""
_UPPER, _CORNER, _LOWER = 5, 10, 15
"""Places in them: the middle of the upper lip, the other corner, the middle of the lower lip."""
_OPEN = 0.15
"""Gap of the lips over the mouth's width from which a mouth counts as open."""
_RIM = 0.4
"""How much of an open mouth's lips stays live with it."""


class BoxMask:
    """A rectangle within the crop; implements `Finish`. `padding` is top, right, bottom, left, as `blur` in shares of the crop's side."""

    def __init__(self, padding: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0), blur: float = 0.1) -> None:
        self._padding, self._blur = padding, blur
        self._box = np.empty((0, 0), np.uint8)

    @property
    def name(self) -> str:
        return "box"

    def finish(self, crop: Crop) -> None:
        if self._box.shape != crop.mask.shape:
            self._box = np.empty(crop.mask.shape, np.uint8)
            fill_box(self._box, self._padding, self._blur)
        lower(crop.mask, self._box)

    def reset(self) -> None:
        pass

    def fork(self) -> BoxMask:
        return self


class HullMask:
    """The outline of the landmarks; implements `FaceMask`. `padding` and `blur` are shares of the face's size."""

    def __init__(self, padding: float = 0.0, blur: float = 0.08) -> None:
        self._padding, self._blur = padding, blur
        self._shown = np.empty((_SIZE, _SIZE), np.uint8)

    @property
    def name(self) -> str:
        return "hull"

    def look(self, frame: Image, face: Face) -> View:
        transform = around_face(face, _ROOM, _SIZE)
        fill_hull(self._shown, geometry.apply(transform, face.landmarks.points[:, :2]), self._padding, self._blur)
        return View(self._shown, transform, 0)

    def reset(self) -> None:
        pass

    def fork(self) -> HullMask:
        return self


class MouthMask:
    """Keeps the inside of an open mouth live, and the inner rim of the lips; implements `FaceMask`.

    A network draws teeth and tongue as it likes; one's own move as one speaks. `blur` is a share of the mouth's width.
    """

    def __init__(self, blur: float = 0.12) -> None:
        self._blur = blur
        self._shown = np.empty((_SIZE, _SIZE), np.uint8)

    @property
    def name(self) -> str:
        return "mouth"

    def look(self, frame: Image, face: Face) -> View:
        transform = around_face(face, 1.0, _SIZE)
        inner = geometry.apply(transform, face.landmarks.points[_INNER, :2])
        outer = geometry.apply(transform, face.landmarks.points[_OUTER, :2])
        width, gap = float(np.linalg.norm(inner[_CORNER] - inner[0])), float(np.linalg.norm(inner[_LOWER] - inner[_UPPER]))
        open_by = min(gap / (_OPEN * max(width, 1.0)), 1.0)
        self._shown.fill(255)
        if open_by > 0.1:  # the network's noise parts closed lips by a little less
            fill_polygon(self._shown, inner + _RIM * open_by * (outer - inner), 0)
            soften(self._shown, self._blur * width)
        return View(self._shown, transform, 255)

    def reset(self) -> None:
        pass

    def fork(self) -> MouthMask:
        return self


def around_face(face: Face, room: float, size: int) -> geometry.Transform:
    """From the frame to a (size, size) picture that shows the face's landmarks upright, `room` times as large as they are."""
    points: Floats = face.landmarks.points
    region = geometry.region_from_landmarks(points)
    return geometry.crop_transform(region._replace(size=region.size * room / geometry.REGION_MARGIN), size)
