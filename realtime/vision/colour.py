"""Making a swapped face match the light of the frame it is put into. Pictures are (n, n, 3) uint8 BGR, masks (n, n) uint8.

What is measured comes back as small arrays, so that callers can smooth it from frame to frame; what is applied changes a picture in place.
"""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from realtime.compiled import compiled
from realtime.types import Array, Floats, Image
from realtime.vision.masks import Mask

SHOWN = 128
"""From this level of the mask on a pixel counts as part of the swapped face."""
_SAMPLES = 64
"""Rows and columns of a picture that are looked at where a mean of all would hardly be another."""
_SMALL = 32
"""Side of the picture that low frequencies are compared in."""


@compiled("i8(u1[:,:,::1], u1[:,::1], u1, f8[::1])", fastmath=True)
def sum_masked(image: Image, mask: Mask, least: int, sums: Array) -> int:
    """Sums of the three channels and of their squares, `sums` (6,) float64, where the mask is at least `least`; returns how many pixels."""
    height, width, _ = image.shape
    count = 0
    sums[:] = 0
    for y in range(height):
        for x in range(width):
            if mask[y, x] >= least:
                count += 1
                for k in range(3):
                    value = np.float64(image[y, x, k])
                    sums[k] += value
                    sums[3 + k] += value * value
    return count


def mean_and_deviation(image: Image, mask: Mask) -> Floats | None:
    """(2, 3) float32: mean and standard deviation of each channel under the mask; None when it shows hardly anything."""
    sums = np.empty(6, np.float64)
    count = sum_masked(image, mask, SHOWN, sums)
    if count < 16:
        return None
    mean = sums[:3] / count
    return np.stack([mean, np.sqrt(np.maximum(sums[3:] / count - mean * mean, 0))]).astype(np.float32)


def transfer(of: Floats, to: Floats) -> Floats:
    """(256, 3) float32: levels moved from one mean and deviation (2, 3) to another.

    Reinhard et al., "Color transfer between images" (2001). The deviation grows or shrinks by half at most: an expression's shadow in one
    of the two faces must not turn into contrast.
    """
    gain = np.clip((to[1] + 1) / (of[1] + 1), 1 / 1.5, 1.5)
    levels = np.arange(256, dtype=np.float32)[:, None]
    return np.asarray((levels - of[0]) * gain + to[0], np.float32)


def histograms(image: Image, mask: Mask) -> Floats | None:
    """(256, 3) float32: share of the pixels under the mask up to each level, by channel; None when the mask shows hardly anything."""
    shown = cv2.compare(mask, SHOWN, cv2.CMP_GE)
    counts = np.stack([cv2.calcHist([image], [channel], shown, [256], [0, 256]).ravel() for channel in range(3)], 1)
    total = counts.sum(0)
    return None if total[0] < 16 else np.asarray(counts.cumsum(0) / total, np.float32)


def matched(of: Floats, to: Floats) -> Floats:
    """(256, 3) float32: levels moved so that one cumulative histogram (256, 3) becomes another."""
    return np.stack([np.searchsorted(to[:, k], of[:, k]) for k in range(3)], 1).astype(np.float32)


def apply_levels(image: Image, levels: Floats) -> None:
    """Replace each channel's values by a table (256, 3), rounded and limited."""
    table = np.clip(np.rint(levels), 0, 255).astype(np.uint8)[:, None]
    cv2.LUT(image, table, dst=image)


def low_frequencies(before: Image, swapped: Image, mask: Mask, blur: float) -> Floats:
    """(32, 32, 3) float32: by how much `before` is brighter than `swapped`, in broad strokes of `blur` (a share of the side).

    Only pixels under the mask speak, so that a hand or the background beside the face has no say.
    """
    weight = np.asarray(cv2.resize(mask, (_SMALL, _SMALL), interpolation=cv2.INTER_AREA), np.float32) + np.float32(0.5)
    difference = _small(before) - _small(swapped)
    difference *= weight[..., None]
    cv2.GaussianBlur(difference, (0, 0), blur * _SMALL, dst=difference)
    cv2.GaussianBlur(weight, (0, 0), blur * _SMALL, dst=weight)
    difference /= weight[..., None]
    return difference


def _small(image: Image) -> Floats:
    return np.asarray(cv2.resize(image, (_SMALL, _SMALL), interpolation=cv2.INTER_AREA), np.float32)


@compiled("void(u1[:,:,::1], f4[:,:,::1])", fastmath=True)
def add_small(image: Image, offsets: Floats) -> None:
    """Add a smaller picture of offsets (m, m, 3), enlarged bilinearly, limited to 0..255."""
    height, width, _ = image.shape
    rows, columns, _ = offsets.shape
    half, most = np.float32(0.5), np.float32(255)
    line = np.empty((columns, 3), np.float32)
    left, share = np.empty(width, np.int32), np.empty(width, np.float32)
    for x in range(width):
        u = min(max((np.float32(x) + half) * np.float32(columns) / np.float32(width) - half, np.float32(0)), np.float32(columns - 1))
        left[x] = min(np.int32(u), columns - 2)
        share[x] = u - np.float32(left[x])
    for y in range(height):
        v = min(max((np.float32(y) + half) * np.float32(rows) / np.float32(height) - half, np.float32(0)), np.float32(rows - 1))
        v0 = min(int(v), rows - 2)
        b = v - np.float32(v0)
        for u0 in range(columns):
            for k in range(3):
                line[u0, k] = offsets[v0, u0, k] + b * (offsets[v0 + 1, u0, k] - offsets[v0, u0, k])
        for x in range(width):
            u0, a = left[x], share[x]
            for k in range(3):
                value = np.float32(image[y, x, k]) + line[u0, k] + a * (line[u0 + 1, k] - line[u0, k])
                image[y, x, k] = np.uint8(min(max(value, np.float32(0)), most) + half)


def hue_and_saturation(image: Image, mask: Mask | None = None) -> Floats | None:
    """(2,) float32: the mean hue in OpenCV's half degrees, 0..180, weighted by saturation, and the median saturation 0..255.

    Pixels that are nearly black or white have no say. None when too few are left.
    """
    step = max(image.shape[0] // _SAMPLES, 1)
    pixels = cv2.cvtColor(np.ascontiguousarray(image[::step, ::step]), cv2.COLOR_BGR2HSV).reshape(-1, 3)
    speaks = (pixels[:, 2] > 40) & (pixels[:, 2] < 250) & (pixels[:, 1] > 10)
    if mask is not None:
        speaks &= mask[::step, ::step].ravel() >= SHOWN
    chosen = pixels[speaks].astype(np.float32)
    if len(chosen) < 16:
        return None
    turn = chosen[:, 0] * np.float32(np.pi / 90)
    hue = np.arctan2((np.sin(turn) * chosen[:, 1]).sum(), (np.cos(turn) * chosen[:, 1]).sum()) * 90 / np.pi
    return np.array([hue % 180, np.median(chosen[:, 1])], np.float32)


def is_same_skin(one: Floats, other: Floats) -> bool:
    """Whether two hues and saturations may be of one person's skin: a collar, a scarf or hair is not."""
    turn = abs((one[0] - other[0] + 90) % 180 - 90)
    return bool(turn < 12 and 0.4 < (one[1] + 1) / (other[1] + 1) < 2.5)


def towards(of: Floats, to: Floats) -> Floats:
    """(3, 3) float32: what BGR colours are multiplied by to get from one hue and saturation to another; greys stay as they are.

    A turn and a scaling around the axis of the greys: linear, where HSV itself would take two conversions of the whole picture.
    """
    turn = np.radians(2 * float((to[0] - of[0] + 90) % 180 - 90))
    scale = float(np.clip((to[1] + 1) / (of[1] + 1), 0.6, 1.6))
    grey = np.full((3, 3), 1 / 3)
    across = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / np.sqrt(3)  # the cross product with the grey axis, in the order B, G, R
    return np.asarray(grey + scale * (np.cos(turn) * (np.eye(3) - grey) - np.sin(turn) * across), np.float32)


def apply_matrix(image: Image, matrix: Floats) -> None:
    """Multiply every colour by a matrix (3, 3), rounded and limited."""
    cv2.transform(image, matrix, dst=image)


def clone(before: Image, swapped: Image, mask: Mask) -> Image:
    """`swapped` with the light of `before`: Pérez et al., "Poisson image editing" (2003), by OpenCV. Tens of milliseconds: for stills."""
    shown = np.where(mask >= SHOWN, np.uint8(255), np.uint8(0))
    shown[[0, -1]] = shown[:, [0, -1]] = 0  # it needs a border
    left, top, width, height = cv2.boundingRect(shown)
    if width < 3 or height < 3:
        return swapped
    centre = (left + width // 2, top + height // 2)
    return cast(Image, cv2.seamlessClone(swapped, before, shown, centre, cv2.NORMAL_CLONE))


def streak(move: Floats) -> Floats:
    """The kernel (k, k) float32 that blurs along a move (2,) in pixels, k odd; (1, 1) for none."""
    reach = int(np.ceil(np.abs(move).max() / 2))
    size = 2 * reach + 1
    kernel = np.zeros((size, size), np.float32)
    for at in (np.arange(8 * reach + 1) + 0.5) / (8 * reach + 1) - 0.5:
        x, y = reach + at * move[0], reach + at * move[1]
        x0, y0 = min(int(x), max(size - 2, 0)), min(int(y), max(size - 2, 0))
        a, b = x - x0, y - y0
        if size == 1:
            kernel[0, 0] += 1
            continue
        kernel[y0 : y0 + 2, x0 : x0 + 2] += np.array([[(1 - a) * (1 - b), a * (1 - b)], [(1 - a) * b, a * b]], np.float32)
    return np.asarray(kernel / kernel.sum(), np.float32)
