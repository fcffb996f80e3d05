"""Hands before the face, by MediaPipe's palm and hand networks: found once, then followed by their own landmarks.

How boxes are decoded and how one frame's hand says where to look in the next follows MediaPipe's graphs `palm_detection_cpu.pbtxt`,
`palm_detection_detection_to_roi.pbtxt` and `hand_landmark_landmarks_to_roi.pbtxt`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.masks.base import View
from realtime.models.masks.shapes import around_face
from realtime.models.tensors import described, square_planes
from realtime.types import Box, Face, Floats, Image, Region
from realtime.vision import geometry
from realtime.vision.align import crop
from realtime.vision.masks import draw_bones, fill_polygon, soften
from realtime.vision.planes import fill_planes

_UNIT = 1 / 255
_PALM_SIDE, _HAND_SIDE = 192, 224
"""Sides of the crops that the two networks take."""
_ANCHORS = 2016
"""Boxes that the palm network gives."""
_SIZE = 192
"""Side of the picture that hands are drawn in."""
_ROOM = 1.3
"""Side of that picture over the longer side of the face."""
_LIKELY = 0.5
"""From which score on a palm is a palm and a hand is a hand, as in MediaPipe."""
_HANDS = 2
_NEAR = 3.0
"""Palms are looked for in a square so many times as large as the face."""
BONES = (
    (0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8), (9, 10), (10, 11), (11, 12), (13, 14), (14, 15), (15, 16), (17, 18), (18, 19),
    (19, 20),
)  # fmt: skip
"""Pairs of MediaPipe's 21 hand landmarks: thumb, then the fingers from knuckle to tip."""
_PALM = (0, 1, 5, 9, 13, 17)
_WRIST, _INDEX, _MIDDLE, _RING, _LITTLE = 0, 5, 9, 13, 17
_FINGER = 0.32
"""Thickness of a finger, with a little of what is around it, over the palm's width from index to little finger."""
_SEEN_ANEW = (0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18)
"""Landmarks that say where to look in the next frame: without the fingertips, which move most."""


class PalmDetector:
    """Where palms are, and which way the hand points. Raises ModelError for a network of another shape."""

    def __init__(self, session: Session) -> None:
        self._planes = square_planes(session, "a palm detector", size=_PALM_SIDE)
        self._session = session
        self._pixels = np.empty((_PALM_SIDE, _PALM_SIDE, 3), np.uint8)
        shapes = {spec.shape: spec.name for spec in session.specs.outputs}
        try:
            self._boxes, self._scores = shapes[(1, _ANCHORS, 18)], shapes[(1, _ANCHORS, 1)]
        except KeyError:
            raise ModelError(f"a palm detector gives {_ANCHORS} boxes and scores, this network is {described(session.specs)}") from None
        self._anchors = anchors()

    def detect(self, frame: Image, region: Region, most: int = _HANDS) -> list[Region]:
        """Squares of the frame for the hand network, the best first: upright hands point up in them."""
        transform = geometry.crop_transform(region, _PALM_SIDE)
        crop(frame, transform, _PALM_SIDE, out=self._pixels)
        fill_planes(self._pixels, self._planes, _UNIT, True)
        outputs = self._session.run()
        scores, raw = outputs[self._scores].ravel(), outputs[self._boxes][0]
        found: list[tuple[Region, Box]] = []
        for index in np.argsort(-scores)[: 8 * most]:
            if scores[index] <= 0:  # the logit of _LIKELY
                break
            hand, box = self._hand(raw[index], self._anchors[index], geometry.invert(transform))
            if all(geometry.overlap(box, other) < 0.3 for _, other in found):
                found.append((hand, box))
        return [hand for hand, _ in found[:most]]

    def _hand(self, raw: Floats, anchor: Floats, to_frame: geometry.Transform) -> tuple[Region, Box]:
        """A box and seven points relative to its anchor, in 192nds, as the hand's square and the palm's box in the frame."""
        points = raw[4:].reshape(7, 2) + anchor * _PALM_SIDE
        centre, size = raw[:2] + anchor * _PALM_SIDE, raw[2:4]
        wrist, middle = geometry.apply(to_frame, np.stack([points[0], points[2]]))
        at = geometry.apply(to_frame, centre[None])[0]
        side = float(max(size)) * geometry.scale_of(to_frame)
        up = _unit(middle - wrist)
        at = at + 0.5 * side * up
        half = side / 2
        return Region(float(at[0]), float(at[1]), 2.6 * side, _angle(up)), Box(at[0] - half, at[1] - half, at[0] + half, at[1] + half)


def anchors() -> Floats:
    """(2016, 2) float32: centres of the palm detector's boxes, 0..1: two on every eighth pixel, six on every sixteenth of 192."""
    grids = []
    for count, repeats in ((24, 2), (12, 6)):
        y, x = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
        grids.append(np.repeat((np.stack([x, y], -1).reshape(-1, 2) + 0.5) / count, repeats, 0))
    return np.concatenate(grids).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Hand:
    points: Floats
    """(21, 2) float32 in the frame."""
    presence: float
    """0..1."""

    @property
    def next_region(self) -> Region:
        """Where to look for it in the next frame."""
        knuckles = (self.points[_INDEX] + 2 * self.points[_MIDDLE] + self.points[_RING]) / 4
        up = _unit(knuckles - self.points[_WRIST])
        across = np.array([-up[1], up[0]], np.float32)
        base = self.points[list(_SEEN_ANEW)]
        along, aside = base @ up, base @ across
        length, width = float(np.ptp(along)), float(np.ptp(aside))
        centre = up * ((along.min() + along.max()) / 2 + 0.1 * length) + across * ((aside.min() + aside.max()) / 2)
        return Region(float(centre[0]), float(centre[1]), 2.0 * max(length, width), _angle(up))


class HandNetwork:
    """The landmarks of one hand. Raises ModelError for a network of another shape."""

    def __init__(self, session: Session) -> None:
        self._planes = square_planes(session, "a hand network", size=_HAND_SIDE)
        self._session = session
        self._pixels = np.empty((_HAND_SIDE, _HAND_SIDE, 3), np.uint8)
        points = [spec.name for spec in session.specs.outputs if spec.shape == (1, 63)]
        single = [spec.name for spec in session.specs.outputs if spec.shape == (1, 1)]
        if not points or not single:
            raise ModelError(f"a hand network gives 21 x 3 numbers and a presence, this network is {described(session.specs)}")
        self._points, self._presence = points[0], single[0]

    def hand(self, frame: Image, region: Region) -> Hand:
        transform = geometry.crop_transform(region, _HAND_SIDE)
        crop(frame, transform, _HAND_SIDE, out=self._pixels)
        fill_planes(self._pixels, self._planes, _UNIT, True)
        outputs = self._session.run()
        points = outputs[self._points].reshape(21, 3)[:, :2]
        presence = float(outputs[self._presence].flat[0])
        sound = bool(np.isfinite(points).all()) and math.isfinite(presence)
        return Hand(geometry.apply(geometry.invert(transform), points), presence if sound else 0.0)


class HandMask:
    """Keeps hands before the face; implements `FaceMask`.

    Palms are looked for every `every` frames while fewer than two hands are followed.
    """

    def __init__(self, palms: PalmDetector, hands: HandNetwork, every: int = 4, name: str = "hands") -> None:
        self._palms, self._network, self._every, self._name = palms, hands, every, name
        self._hands: list[Hand] = []
        self._turn = 0
        self._shown = np.empty((_SIZE, _SIZE), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    def look(self, frame: Image, face: Face) -> View | None:
        self._hands = self._follow(frame, face)
        if not self._hands:
            return None
        transform = around_face(face, _ROOM, _SIZE)
        self._shown.fill(255)
        for hand in self._hands:
            self._draw(geometry.apply(transform, hand.points))
        return View(self._shown, transform, 255)

    def reset(self) -> None:
        self._hands, self._turn = [], 0

    def fork(self) -> HandMask:
        return HandMask(self._palms, self._network, self._every, self._name)

    def _follow(self, frame: Image, face: Face) -> list[Hand]:
        regions = [hand.next_region for hand in self._hands]
        if len(regions) < _HANDS:
            if self._turn % self._every == 0:
                around = geometry.region_from_landmarks(face.landmarks.points)
                near = around._replace(size=around.size * _NEAR / geometry.REGION_MARGIN, angle=0.0)
                regions += [region for region in self._palms.detect(frame, near) if not _known(region, regions)]
            self._turn += 1
        hands = [self._network.hand(frame, region) for region in regions[:_HANDS]]
        return [hand for hand in hands if hand.presence >= _LIKELY]

    def _draw(self, points: Floats) -> None:
        width = float(np.linalg.norm(points[_INDEX] - points[_LITTLE])) + 0.3 * float(np.linalg.norm(points[_MIDDLE] - points[_WRIST]))
        fill_polygon(self._shown, points[list(_PALM)], 0)
        draw_bones(self._shown, points, (*BONES, *zip(_PALM, (*_PALM[1:], _PALM[0]), strict=True)), _FINGER * width, 0)
        soften(self._shown, 0.06 * width)


def _known(region: Region, regions: list[Region]) -> bool:
    """Whether the hand in this square is one that is looked at already."""
    return any(math.hypot(region.x - other.x, region.y - other.y) < 0.35 * max(region.size, other.size) for other in regions)


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else (0.0, -1.0), np.float32)


def _angle(up: Floats) -> float:
    """The roll in degrees of a hand that points along `up` in the picture, whose y grows downwards."""
    return math.degrees(math.atan2(float(up[0]), float(-up[1])))
