"""Colour steps between a swap network and the patch: each a small class, all in the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import cv2
import numpy as np

from realtime.models.base import Crop, Finish
from realtime.types import Array, Floats, Region
from realtime.vision import colour, geometry
from realtime.vision.align import crop as sample

_NEWEST = 0.25
"""How much a frame's measurement changes what is used: light changes slowly, measurements jitter with every expression."""
_CHIN, _FOREHEAD = 152, 10
_SAMPLES = 64
"""Rows and columns of the crop that are measured."""
_NECK = 24
"""Side in pixels of the picture of the neck."""
_EXPOSURE = 0.5
"""Share of the time between two frames that a shutter is open, as a webcam's is in room light."""
_LONGEST = 0.15
"""Longest blur, a share of the crop's side: faster faces are lost anyway."""


class Smoothed:
    """Measurements that follow the frames' slowly. None is a frame without one."""

    def __init__(self) -> None:
        self._value: Floats | None = None

    def __call__(self, measured: Floats | None) -> Floats | None:
        if measured is not None:
            self._value = measured if self._value is None else self._value + np.float32(_NEWEST) * (measured - self._value)
        return self._value

    def reset(self) -> None:
        self._value = None


class _Levels:
    """A table of levels for each channel, measured anew in every frame and smoothed."""

    def __init__(self, name: str, measure: Callable[[Crop], Floats | None], space: tuple[int, int] | None = None) -> None:
        self._name, self._measure, self._space = name, measure, space
        self._smoothed = Smoothed()

    @property
    def name(self) -> str:
        return self._name

    def finish(self, crop: Crop) -> None:
        levels = self._smoothed(self._measure(crop))
        if levels is None:
            return
        if self._space is None:
            colour.apply_levels(crop.swapped, levels)
            return
        into, back = self._space
        cv2.cvtColor(crop.swapped, into, dst=crop.swapped)
        colour.apply_levels(crop.swapped, levels)
        cv2.cvtColor(crop.swapped, back, dst=crop.swapped)

    def reset(self) -> None:
        self._smoothed.reset()

    def fork(self) -> _Levels:
        return _Levels(self._name, self._measure, self._space)


def _lab(crop: Crop) -> Floats | None:
    step = max(crop.mask.shape[0] // _SAMPLES, 1)
    mask = np.ascontiguousarray(crop.mask[::step, ::step])
    of, to = (
        colour.mean_and_deviation(cv2.cvtColor(np.ascontiguousarray(picture[::step, ::step]), cv2.COLOR_BGR2LAB), mask)
        for picture in (crop.swapped, crop.before)
    )
    return None if of is None or to is None else colour.transfer(of, to)


def _histogram(crop: Crop) -> Floats | None:
    of, to = (colour.histograms(picture, crop.mask) for picture in (crop.swapped, crop.before))
    return None if of is None or to is None else colour.matched(of, to)


class NeckMatch:
    """Turns hue and saturation of the face towards the neck's, where the neck can be seen and is skin; implements `Finish`."""

    def __init__(self) -> None:
        self._neck, self._face = Smoothed(), Smoothed()

    @property
    def name(self) -> str:
        return "neck"

    def finish(self, crop: Crop) -> None:
        own = colour.hue_and_saturation(crop.before, crop.mask)
        neck = colour.hue_and_saturation(_neck(crop))
        skin = neck if own is not None and neck is not None and colour.is_same_skin(neck, own) else None
        to, of = self._neck(skin), self._face(colour.hue_and_saturation(crop.swapped, crop.mask))
        if to is None or of is None:
            return
        colour.apply_matrix(crop.swapped, colour.towards(of, to))

    def reset(self) -> None:
        self._neck.reset()
        self._face.reset()

    def fork(self) -> NeckMatch:
        return NeckMatch()


def _neck(crop: Crop) -> Array:
    """A small picture of what is below the chin."""
    points = crop.face.landmarks.points
    chin, top = points[_CHIN, :2], points[_FOREHEAD, :2]
    down = chin - top
    centre = chin + 0.16 * down
    upright = geometry.region_from_landmarks(points)
    size = 0.3 * float(np.linalg.norm(down))
    return sample(crop.frame, geometry.crop_transform(Region(float(centre[0]), float(centre[1]), size, upright.angle), _NECK), _NECK)


class LowFrequencyMatch:
    """Gives the swapped face the frame's light in broad strokes and leaves its detail alone; implements `Finish`.

    The mesh swapper does the same by vertices.
    """

    def __init__(self, blur: float = 0.14) -> None:
        self._blur = blur
        self._smoothed = Smoothed()

    @property
    def name(self) -> str:
        return "light"

    def finish(self, crop: Crop) -> None:
        shown = crop.mask.any()  # under a hand that covers it all there is nothing of the face to measure
        offsets = self._smoothed(colour.low_frequencies(crop.before, crop.swapped, crop.mask, self._blur) if shown else None)
        if offsets is not None:
            colour.add_small(crop.swapped, offsets)

    def reset(self) -> None:
        self._smoothed.reset()

    def fork(self) -> LowFrequencyMatch:
        return LowFrequencyMatch(self._blur)


class PoissonMatch:
    """Clones the face into the frame's gradients; implements `Finish`. For stills: slow, and it wavers from frame to frame."""

    @property
    def name(self) -> str:
        return "poisson"

    def finish(self, crop: Crop) -> None:
        crop.swapped[...] = colour.clone(crop.before, crop.swapped, crop.mask)

    def reset(self) -> None:
        pass

    def fork(self) -> PoissonMatch:
        return self


class MotionBlur:
    """Blurs the swapped face along the way it moves, as the camera blurs everything around it; implements `Finish`."""

    def __init__(self) -> None:
        self._last: Floats | None = None

    @property
    def name(self) -> str:
        return "motion"

    def finish(self, crop: Crop) -> None:
        five = geometry.five_points(crop.face.landmarks.points)
        last, self._last = self._last, five
        if last is None:
            return
        move = (five - last).mean(0) @ crop.transform[:, :2].T * _EXPOSURE
        length, side = float(np.linalg.norm(move)), crop.mask.shape[0]
        if length < 1:
            return
        move = np.asarray(move * min(1.0, _LONGEST * side / length), np.float32)
        cv2.filter2D(crop.swapped, -1, colour.streak(move), dst=crop.swapped, borderType=cv2.BORDER_REPLICATE)

    def reset(self) -> None:
        self._last = None

    def fork(self) -> MotionBlur:
        return MotionBlur()


@dataclass(frozen=True, slots=True)
class ColourRow:
    make: Callable[[], Finish]
    live: bool
    """Cheap enough, and steady enough, for a camera."""


COLOURS: Mapping[str, ColourRow] = MappingProxyType(
    {
        "lab": ColourRow(lambda: _Levels("lab", _lab, (cv2.COLOR_BGR2LAB, cv2.COLOR_LAB2BGR)), live=True),
        "histogram": ColourRow(lambda: _Levels("histogram", _histogram), live=True),
        "neck": ColourRow(NeckMatch, live=True),
        "light": ColourRow(LowFrequencyMatch, live=True),
        "motion": ColourRow(MotionBlur, live=True),
        "poisson": ColourRow(PoissonMatch, live=False),
    }
)
