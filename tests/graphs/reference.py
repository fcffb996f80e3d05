"""The swap by numpy, OpenCV and `vision`, step by step as a program without graphs would do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from realtime.graphs.colour import MOST_GAIN
from realtime.graphs.follow import Swap
from realtime.types import Array, Floats, Image
from realtime.vision import align, geometry

_COLOURS = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
"""Y, Cb, Cr of R, G, B by ITU-R BT.601, full range."""


@dataclass(frozen=True)
class Swapped:
    patch: Image
    matrix: Array
    mask: Array


def swap(image: Image, landmarks: Floats, latent: Floats, options: Swap, size: int, network: Callable[[Array, Array], Array]) -> Swapped:
    transform = geometry.similarity(geometry.five_points(landmarks), options.template)
    crop = align.crop(image, transform, size)
    step = slice(None, None, -1 if options.order == "rgb" else 1)
    mean, std = (np.array(values, np.float32) for values in (options.mean, options.std))
    planes = ((crop[..., step].astype(np.float32) / 255 - mean) / std).transpose(2, 0, 1)[None]
    output = network(planes, latent)[0].transpose(1, 2, 0)
    if options.denormalise:
        output = output * std + mean
    patch = np.clip(output[..., step] * 255, 0, 255)
    mask = soft_mask(geometry.apply(transform, landmarks[:, :2]), size, options)
    if options.match_colour:
        within = cv2.warpAffine(np.ones(image.shape[:2], np.float32), transform, (size, size))
        patch = match(patch, crop.astype(np.float32), mask * within)
    matrix = geometry.invert(transform)
    return Swapped(np.clip(np.rint(patch), 0, 255).astype(np.uint8), matrix, np.rint(mask * 255).astype(np.uint8))


def match(patch: Array, target: Array, weight: Array) -> Array:
    """(s, s, 3) BGR: mean and deviation of each of Y, Cb, Cr taken from the target, under weights (s, s)."""
    ours, theirs = (pixels[..., ::-1] @ _COLOURS.T for pixels in (patch, target))
    share = (weight / weight.sum())[..., None]
    result = np.empty_like(ours)
    for channel in range(3):
        (mean, deviation), (wanted, spread) = (_moments(values[..., channel], share[..., 0]) for values in (ours, theirs))
        gain = np.clip(spread / max(deviation, 1e-3), 1 / MOST_GAIN, MOST_GAIN)
        result[..., channel] = (ours[..., channel] - mean) * gain + wanted
    return np.asarray((result @ np.linalg.inv(_COLOURS).T)[..., ::-1])


def _moments(values: Array, share: Array) -> tuple[float, float]:
    mean = float((values * share).sum())
    return mean, float(np.sqrt(((values - mean) ** 2 * share).sum()))


def soft_mask(points: Floats, size: int, options: Swap) -> Array:
    """(s, s) 0..1, pixel by pixel as its options describe it."""
    box, shape = geometry.bounds(points), options.mask
    y, x = np.mgrid[:size, :size].astype(np.float64)
    result = np.ones((size, size))
    if shape.border:
        for along in (x, y):
            result *= _smooth((np.minimum(along, size - 1 - along) + 0.5) / (shape.border * size))
    if shape.ellipse:
        (centre_x, centre_y), radius_x, radius_y = box.centre, box.width / 2, box.height / 2
        result *= _smooth((1 - np.hypot((x - centre_x) / radius_x, (y - centre_y) / radius_y)) / shape.feather)
    return result


def _smooth(ramp: Array) -> Array:
    ramp = np.clip(ramp, 0, 1)
    return np.asarray(ramp**2 * (3 - 2 * ramp))
