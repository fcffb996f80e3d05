"""How good a source face is, and what to do about it.

Limits were set on the pictures at hand: studio portraits and selfies score a sharpness of 0.06 to 0.5, the same blurred by 1/160 of the
face 0.01 to 0.07, by 1/80 below 0.016. Brightness is judged by the brightest skin, so that dark skin in good light counts as well lit.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from realtime.errors import UsageError
from realtime.types import Box, Floats, Image
from realtime.vision import geometry
from realtime.vision.pose import turn, yaw

_VIEW = 160
"""Side in pixels at which a face is judged, whatever its size in the photo."""
_UNUSABLE, _SMALL = 32, 100
_BLURRED, _SOFT = 0.03, 0.09
_DARK, _DIM, _FLAT = 75, 100, 70  # dark skin in daylight has its 95th percentile at 110 to 150: it must not be lightened
_TURNED, _PROFILE, _AWAY = 0.3, 0.5, 1.1
_FULL_PROFILE = 52.0
"""Degrees, see `vision.pose.yaw`, from which the mesh's eye and nose lie beside the face's own and nothing can be unwrapped: faces seen by
half from the side have up to 49, full profiles 50 to 68."""
_ONE_SIDED = 1.4
"""`Quality.uneven` of a face lit hard from one side. Measured: half shadows, window light and sun up to 1.3 on photos that swap well; 1.65
where a patch of light leaves blotches. Hard or coloured light of 0.9 to 1.2 may, too, and is not told from those."""
PAIRS = np.array(
    [[50, 117, 101, 36, 205, 187, 147, 123, 207, 213, 142, 126, 104, 69, 108, 198],
     [280, 346, 330, 266, 425, 411, 376, 352, 427, 433, 371, 355, 333, 299, 337, 420]]
).T  # fmt: skip
"""Vertices on cheeks, nose and forehead and their mirror images: skin on every face."""


@dataclass(frozen=True, slots=True)
class Quality:
    """One source face. Levels are 0..255 of luma on the face."""

    size: float
    """Longer side of the face in pixels."""
    turn: float
    """See `vision.pose.turn`."""
    sharpness: float
    """Variance of the Laplacian over the variance of luma, on the face at 160 pixels."""
    shadow: float
    middle: float
    light: float
    """5th, 50th and 95th percentile."""
    burnt: float
    """Share of pixels at the limit."""
    yaw: float
    """Degrees, see `vision.pose.yaw`."""
    uneven: float
    """Natural logarithm of how many times brighter one side of the face is than the other at its most different quarter; 0 for a turned
    face, of which one side is hardly seen."""


def measure(image: Image, points: Floats) -> Quality:
    """Judge the face with this mesh (468, 3) in the image."""
    box = geometry.bounds(points)
    luma = _inner(_view(image, box))
    shadow, middle, light = np.percentile(luma, (5, 50, 95))
    # The constant keeps a flat grey patch, whose variance is only noise, from counting as sharp.
    sharpness = float(cv2.Laplacian(luma, cv2.CV_32F).var() / (luma.var() + 25))
    pose = turn(geometry.five_points(points))
    burnt, uneven = float((luma >= 250).mean()), _uneven(image, points) if abs(pose) <= _PROFILE else 0.0
    return Quality(box.side, pose, sharpness, float(shadow), float(middle), float(light), burnt, yaw(points), uneven)


def complain(quality: Quality, name: str, *, shown: bool = True) -> list[str]:
    """A sentence for each thing that will spoil the swap, with the cure; of a photo whose face is not `shown` for what makes its person
    hard to know. Raises UsageError when the face is of no use at all."""
    if quality.size < _UNUSABLE:
        raise UsageError(f"the face in {name} is only {quality.size:.0f} pixels high: use a photo in which it has at least 200")
    if abs(quality.turn) > _AWAY or abs(quality.yaw) > _FULL_PROFILE:
        raise UsageError(f"the face in {name} looks away from the camera: use a photo that shows the face from the front")
    findings = [*_seen(quality), *(_shown(quality) if shown else _known(quality))]
    return [sentence.format(name=name, size=quality.size) for bad, sentence in findings if bad]


def _seen(q: Quality) -> list[tuple[bool, str]]:
    """Of every photo."""
    return [
        (q.sharpness < _BLURRED, "the face in {name} is blurred: use a sharp photo, or one with more light"),
        (q.light < _DARK, "the face in {name} is very dark: use a photo with light from the front"),
        (q.burnt > 0.15 or q.middle > 228, "the face in {name} is overexposed: use a photo with softer light"),
    ]


def _known(q: Quality) -> list[tuple[bool, str]]:
    """Of one that tells who somebody is."""
    return [
        (q.size < _SMALL, "the face in {name} is only {size:.0f} pixels high, too few to know somebody well: use a photo taken closer"),
        (abs(q.turn) > _TURNED, "the face in {name} is turned to one side: people are known best by a photo from the front"),
    ]


def _shown(q: Quality) -> list[tuple[bool, str]]:
    """Of a source photo."""
    profile = abs(q.turn) > _PROFILE
    return [
        (q.size < _SMALL, "the face in {name} is only {size:.0f} pixels high, so the swap will look soft: use a photo taken closer"),
        (q.uneven > _ONE_SIDED, "the face in {name} is lit hard from one side, and that will show: use one with light from the front"),
        (profile, "the face in {name} is seen from the side, and its far half is guessed: use a photo from the front"),
        (_TURNED < abs(q.turn) <= _PROFILE, "the face in {name} is turned to one side: a photo from the front gives a better swap"),
    ]


def improve(image: Image, quality: Quality) -> Image:
    """The image with mild local contrast where the face is flat or dim, and mild sharpening where it is soft; itself when neither."""
    if quality.light < _DIM or quality.light - quality.shadow < _FLAT:
        image = _contrast(image)
    # A blurred face has no detail to bring out, and sharpening would only raise its noise.
    if _BLURRED / 2 < quality.sharpness < _SOFT:
        image = _sharpen(image, quality.size)
    return image


def _view(image: Image, box: Box) -> Floats:
    """The face's luma, float32, longer side 160."""
    grey = cv2.cvtColor(_around(image, box), cv2.COLOR_BGR2GRAY)
    scale = _VIEW / max(grey.shape)
    size = (max(round(grey.shape[1] * scale), 3), max(round(grey.shape[0] * scale), 3))
    view: Floats = cv2.resize(grey, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC).astype(np.float32)
    return view


def _around(image: Image, box: Box) -> Image:
    """The part of the image in the box, at least a pixel."""
    height, width = image.shape[:2]
    x0, y0 = max(int(box.x0), 0), max(int(box.y0), 0)
    return image[y0 : max(min(int(box.y1), height), y0 + 1), x0 : max(min(int(box.x1), width), x0 + 1)]


def _inner(view: Floats) -> Floats:
    """Without the border, where hair and background begin."""
    height, width = view.shape
    return view[int(0.12 * height) : int(0.88 * height) + 1, int(0.15 * width) : int(0.85 * width) + 1]


def _uneven(image: Image, points: Floats) -> float:
    box = geometry.bounds(points)
    size = box.side
    grey = cv2.cvtColor(_around(image, box), cv2.COLOR_BGR2GRAY).astype(np.float32)
    soft = cv2.GaussianBlur(grey, (0, 0), max(size / 60, 0.5))
    places = points[PAIRS, :2] - np.array((max(int(box.x0), 0), max(int(box.y0), 0)), np.float32)
    levels = cv2.remap(soft, places.astype(np.float32), None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    # Some levels more on both sides, so that the noise of deep shadow does not count.
    return float(np.percentile(np.abs(np.log((levels[:, 0] + 8) / (levels[:, 1] + 8))), 75))


def _contrast(image: Image) -> Image:
    """A third of a contrast-limited equalisation (CLAHE) of the lightness: more would raise the noise of a dim photo into blotches."""
    lab = cv2.cvtColor(image, cv2.COLOR_BGR2LAB)
    lightness = lab[:, :, 0]
    equal = cv2.createCLAHE(clipLimit=1.5, tileGridSize=(8, 8)).apply(lightness)
    lab[:, :, 0] = cv2.addWeighted(lightness, 0.67, equal, 0.33, 0)
    result: Image = cv2.cvtColor(lab, cv2.COLOR_LAB2BGR)
    return result


def _sharpen(image: Image, size: float) -> Image:
    """Unsharp mask with a radius of 1/160 of the face, at half strength."""
    soft = cv2.GaussianBlur(image, (0, 0), max(size / 160, 0.6))
    result: Image = cv2.addWeighted(image, 1.5, soft, -0.5, 0)
    return result
