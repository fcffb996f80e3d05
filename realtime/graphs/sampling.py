"""From the frame to what a network looks at: bilinear samples of the frame's own bytes, without a picture in between.

Pixels are gathered, because GridSample needs the whole frame as planes of floats first: 100 MB for 3840x2160, of which a crop uses a
hundredth. What lies outside the frame is black, as with cv2.BORDER_CONSTANT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from realtime.graphs.builder import Graph, Value
from realtime.graphs.coordinates import determinant, elements
from realtime.types import Floats

COARSE = 4.0
"""Frame pixels per crop pixel from which four samples are averaged, as `vision.align.crop` halves the picture from there on.

*Measured* under heavy grain, the mesh's jitter in frame pixels: at a pitch of 5, 2.1 against 3.3 with one sample and 1.9 with halving;
at 8.4, 3.7 against 5.0 and 2.2.
"""
LETTERBOX_TAPS = 4
"""Samples per input pixel and axis. Exact at a quarter of the frame's size, 1280 to 320, and free of visible aliasing to a twelfth."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """A frame that can be gathered from."""

    values: Value
    """(height, width, 3), uint8 or float16."""
    height: Value
    """() int32, as is `width`."""
    width: Value


def pixels(graph: Graph, frame: Value, *, gather_bytes: bool) -> Pixels:
    """Prepare a frame (height, width, 3) uint8 BGR of any size.

    TensorRT has no operator on bytes but the cast, so there the frame becomes float16, in which 0..255 is exact. `gather_bytes` spares that
    pass over the whole frame on runtimes that gather bytes.
    """
    shape = graph.op("Shape", frame).cast(np.int32)
    return Pixels(frame if gather_bytes else frame.cast(np.float16), shape.take(0, 0), shape.take(1, 0))


def crop(graph: Graph, source: Pixels, matrix: Value, size: int, *, smooth: bool = False) -> tuple[Value, Value]:
    """Sample the frame where `matrix` (2, 3) float32, from crop to frame pixels, puts the pixels of a `size` x `size` crop.

    Gives the crop (size, size, 3) float32 BGR 0..255, and how much of each pixel lies within the frame, (size, size, 1) float32 0..1.
    `smooth` averages 2 x 2 samples a pixel where the frame is coarsely sampled; without it, and below `COARSE`, this is cv2.warpAffine.
    """
    with graph.scope("crop"):
        spread = _spread(graph, matrix) if smooth else None
        ramp = np.arange(size, dtype=np.float32)
        x, y = (_position(matrix, axis, ramp) for axis in (0, 1))
        columns, across = _taps(graph, x, source.width, spread)
        rows, down = _taps(graph, y, source.height, spread)
        index = rows.reshape(-1, 1, size, size) * source.width + columns
        weight = (down.reshape(-1, 1, size, size) * across).reshape(-1, size, size, 1)
        picked = source.values.reshape(-1, 3).take(index.reshape(-1, size, size), 0).cast(np.float32)
        return (picked * weight).sum(0), weight.sum(0)


def _position(matrix: Value, axis: int, ramp: Floats) -> Value:
    """One frame coordinate of every crop pixel, (size, size). Not by MatMul, which a GPU may do in TF32, 10 bits exact."""
    a, b, c = elements(matrix)[3 * axis : 3 * axis + 3]
    return a * ramp.reshape(1, -1) + (b * ramp.reshape(-1, 1) + c)


def _spread(graph: Graph, matrix: Value) -> Value:
    """How far samples lie from the pixel's place in frame pixels, (): 0 below `COARSE`, then an eighth of the pitch.

    At half the pitch of a halved picture's pixels, 2 x 2 samples are that halving.
    """
    pitch = determinant(matrix).abs().sqrt()
    return (pitch >= COARSE).where(pitch * 0.125, 0.0)


def _taps(graph: Graph, position: Value, limit: Value, spread: Value | None) -> tuple[Value, Value]:
    """The lines of pixels that a position lies between: their numbers (taps, ...) int32, kept within the frame, and weights (taps, ...).

    Two taps a sample; a spread makes two samples. What is outside weighs nothing, and so does a position that is not a number.
    """
    samples = graph.op("Unsqueeze", position, [0])
    if spread is not None:
        samples = samples + spread * np.array([-1, 1], np.float32).reshape(2, 1, 1)
    lines, weights = _between(graph, samples)
    inside = (lines >= 0.0) & (lines <= limit.cast(np.float32) - 1.0)
    weights = inside.where(weights if spread is None else weights * 0.5, 0.0)
    return _kept(lines, limit), weights


def _between(graph: Graph, samples: Value) -> tuple[Value, Value]:
    """For samples (n, ...) the pixels before and after, (2n, ...) float32, and how much each counts: one less the distance."""
    low = graph.op("Floor", samples)
    lines = graph.concat(low, low + 1.0, axis=0)
    return lines, 1.0 - (lines - graph.concat(samples, samples, axis=0)).abs()


def _kept(lines: Value, limit: Value) -> Value:
    """Line numbers as int32 within the frame. Limited as integers: what a conversion makes of a number that is none is anyone's guess."""
    return lines.cast(np.int32).clip(np.int32(0), limit - np.int32(1))


def letterbox(graph: Graph, source: Pixels, size: int) -> tuple[Value, Value]:
    """The whole frame shrunk (or grown) into the top-left of a square, its longer side `size` pixels, the rest black.

    Gives (size, size, 3) float32 BGR 0..255, and (2,) float32: frame pixels per pixel of the square across and down.
    """
    with graph.scope("letterbox"):
        sides = [source.width.cast(np.float32), source.height.cast(np.float32)]
        longest = sides[0].at_least(sides[1])
        fitted = [graph.op("Round", side * float(size) / longest).at_least(1.0) for side in sides]
        scales = [side / fit for side, fit in zip(sides, fitted, strict=True)]
        columns, across = _averaged(graph, scales[0], fitted[0], source.width, size)
        rows, down = _averaged(graph, scales[1], fitted[1], source.height, size)
        low = (source.values.take(rows, 0).cast(np.float32) * down.reshape(-1, size, 1, 1)).sum(0)
        image = (low.take(columns, 1) * across.reshape(1, -1, size, 1)).sum(1)
        return image, graph.concat(scales[0].reshape(1), scales[1].reshape(1), axis=0)


def _averaged(graph: Graph, scale: Value, fitted: Value, limit: Value, size: int) -> tuple[Value, Value]:
    """Taps of an average over `scale` pixels for each pixel of the square: numbers (taps, size) int32 and weights (taps, size).

    Samples (scale - 1) / (taps - 1) apart are, taken together with the bilinear weights, an exact average for a scale of 1, 2, 3 and 4.
    """
    numbers = np.arange(size, dtype=np.float32)
    apart = (scale - 1.0).at_least(0.0) * (1 / (LETTERBOX_TAPS - 1))
    offsets = np.arange(LETTERBOX_TAPS, dtype=np.float32).reshape(-1, 1) - (LETTERBOX_TAPS - 1) / 2
    samples = scale * (numbers + np.float32(0.5)) - 0.5 + apart * offsets
    lines, weights = _between(graph, samples)
    shown = fitted > numbers
    return _kept(lines, limit), shown.where(weights * (1 / LETTERBOX_TAPS), 0.0)


def planes(image: Value, *, rgb: bool, scale: float = 1.0, mean: tuple[float, ...] = (0.0,), std: tuple[float, ...] = (1.0,)) -> Value:
    """(h, w, 3) BGR to network input (1, 3, h, w): (x * scale - mean) / std, mean and std in the order of the result's planes."""
    order = image.take(np.array([2, 1, 0]), 2) if rgb else image
    factor = np.float32(scale) / np.asarray(std, np.float32)
    shift = np.asarray(mean, np.float32) / np.asarray(std, np.float32)
    normal = order * factor
    normal = normal - shift if np.any(shift) else normal
    return image.graph.op("Unsqueeze", normal.transpose(2, 0, 1), [0])


def interleaved(image: Value, *, rgb: bool) -> Value:
    """Planes (1, 3, h, w) to (h, w, 3) BGR."""
    rows = image.graph.op("Squeeze", image, [0]).transpose(1, 2, 0)
    return rows.take(np.array([2, 1, 0]), 2) if rgb else rows


def to_bytes(image: Value) -> Value:
    """0..255 rounded to uint8; what is beyond is limited."""
    return image.graph.op("Round", image.clip(0.0, 255.0)).cast(np.uint8)
