"""How a swapped face is fitted into the frame: its colours, and how far it reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from realtime.graphs.builder import Graph, Value
from realtime.types import Floats

YCC_FROM_BGR = np.array([[0.114, 0.587, 0.299], [0.5, -0.331264, -0.168736], [-0.081312, -0.418688, 0.5]], np.float32)
"""Luma and two colour differences by ITU-R BT.601, full range, as in JPEG: rows Y, Cb, Cr of stored (gamma-encoded) B, G, R.

Light changes luma far more than hue, so mean and spread are matched apart for each of these three; in B, G, R a warm lamp would
stretch one colour and tint the face.
"""
MOST_GAIN = 2.0
"""The spread is at most doubled or halved: a face half in shadow would otherwise turn the noise of an even patch into blotches."""
_BLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Mask:
    """How far a patch is shown. Shares are of the crop's side or of the ellipse's radius."""

    border: float = 0.08
    """Width of the fade towards the crop's four sides; 0 for none."""
    ellipse: bool = True
    """Also fade towards the ellipse in the box of the mesh."""
    feather: float = 0.25
    """Width of that fade, inwards from the ellipse."""


def match(graph: Graph, patch: Value, target: Value, weight: Value) -> Value:
    """`patch` (s, s, 3) float32 BGR 0..255 with the mean and spread of `target`, both taken where `weight` (s, s, 1) says, in YCbCr."""
    with graph.scope("match"):
        share = weight / weight.sum(0, 1, keep=True).at_least(_BLACK)
        ours, theirs = graph.op("MatMul", patch, YCC_FROM_BGR.T), graph.op("MatMul", target, YCC_FROM_BGR.T)
        (mean, spread), (wanted_mean, wanted_spread) = _moments(ours, share), _moments(theirs, share)
        gain = (wanted_spread / spread.at_least(_BLACK)).clip(1 / MOST_GAIN, MOST_GAIN)
        return graph.op("MatMul", (ours - mean) * gain + wanted_mean, np.linalg.inv(YCC_FROM_BGR.astype(np.float64)).T.astype(np.float32))


def _moments(image: Value, share: Value) -> tuple[Value, Value]:
    """Mean and standard deviation of each channel, (1, 1, 3), under weights (s, s, 1) that add up to 1."""
    mean = (image * share).sum(0, 1, keep=True)
    offset = image - mean
    return mean, (offset * offset * share).sum(0, 1, keep=True).sqrt()


def soft_mask(graph: Graph, points: Value, size: int, options: Mask) -> Value:
    """(size, size, 1) float32 0..1: where the patch is shown, given the mesh (n, 2) in crop pixels."""
    with graph.scope("soft_mask"):
        border = border_mask(size, options.border).reshape(size, size, 1)
        return ellipse_mask(graph, points, size, options.feather) * border if options.ellipse else graph.constant(border)


def border_mask(size: int, share: float) -> Floats:
    """(size, size) float32: 1 inside, falling to 0 half a pixel beyond the sides, smoothly over `share` of the side."""
    if share <= 0:
        return np.ones((size, size), np.float32)
    numbers = np.arange(size)
    ramp = np.clip((np.minimum(numbers, numbers[::-1]) + 0.5) / (share * size), 0, 1)
    smooth = ramp * ramp * (3 - 2 * ramp)
    return np.outer(smooth, smooth).astype(np.float32)


def ellipse_mask(graph: Graph, points: Value, size: int, feather: float) -> Value:
    """(size, size, 1) float32: 0 on the ellipse in the upright box of the points, rising inwards over `feather` of its radius to 1."""
    low, high = points.min(0), points.max(0)
    centre, radius = (low + high) * 0.5, ((high - low) * 0.5).at_least(1.0)
    ramp = np.arange(size, dtype=np.float32)
    across = (ramp.reshape(1, -1, 1) - centre.take(0, 0)) / radius.take(0, 0)
    down = (ramp.reshape(-1, 1, 1) - centre.take(1, 0)) / radius.take(1, 0)
    inwards = ((1.0 - (across * across + down * down).sqrt()) * (1 / feather)).clip(0.0, 1.0)
    return inwards * inwards * (3.0 - inwards * 2.0)
