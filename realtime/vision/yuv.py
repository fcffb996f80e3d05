"""Between BGR and I420, the planes that video has: the passes over whole frames.

Two rows of 32 pixels are converted at a time, in whole numbers of 16 bits. *Measured* at 1280x720: half of OpenCV's time each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from realtime.compiled import compiled, emit
from realtime.compiled.ahead import fetch
from realtime.compiled.emit import Value
from realtime.types import Image

Plane = NDArray[np.uint8]
Matrix = NDArray[np.int16]

_BLOCK: Final = 32
"""Pixels: their bytes fill a register of AVX2, two of SSE or NEON (LLVM splits them)."""
_LINE: Final = 64
"""Bytes that come into the cache at once."""

# Y, U and V from B, G and R, in 256ths: ITU-R BT.601-7, 2.5, scaled to luma of 16 to 235 and chroma of 16 to 240.
_LUMA: Final = (25, 129, 66)
_BLUE: Final = (112, -74, -38)
_RED: Final = (-18, -94, 112)

BT601: Final = np.array([129, 25, 52, 102], np.int16)
"""U's share of B, U's of G, V's of G and V's of R in 64ths: 2 (1 - Kb) * 255 / 224 and so on, with Kr = .299 and Kb = .114."""
BT709: Final = np.array([135, 14, 34, 115], np.int16)
"""The same for Kr = .2126 and Kb = .0722, ITU-R BT.709-6."""
_SLOPE: Final = 18997
"""255 / 219 in 64ths, for luma times 257, of which the upper 16 bits are taken."""
_OFFSET: Final = round(16 * 64 * 255 / 219) - 32
"""Black in 64ths, less a half for rounding."""


def convertible(width: int, height: int) -> bool:
    """Whether pictures of that size can be converted here."""
    return width >= _BLOCK and width % 2 == height % 2 == 0


def warm_up() -> None:
    """Compile or load both ways, so that the first frame is not late."""
    planes, image = np.empty((3, _BLOCK), np.uint8), np.zeros((2, _BLOCK, 3), np.uint8)
    to_i420(image, planes)
    from_i420(planes, image)


def to_i420(image: Image, planes: Plane) -> None:
    """Convert `image` (h, w, 3) uint8 BGR, h and w even, into `planes` (h * 3 / 2, w) uint8: Y, then U and V at half the size.

    BT.601, limited range; U and V are those of the mean of four pixels. Within a level and a half of exact arithmetic.
    """
    if image.shape[1] < _BLOCK:
        cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420, dst=planes)
    else:
        _to_i420(image, planes)


def from_i420(planes: Plane, image: Image) -> None:
    """Convert `planes`, see `to_i420`, into `image` (h, w, 3) uint8 BGR, h and w even."""
    height, width, _ = image.shape
    if width < _BLOCK:
        cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420, dst=image)
        return
    flat, luma, chroma = planes.reshape(-1), height * width, height * width // 4
    from_planes(flat[:luma], flat[luma : luma + chroma], flat[luma + chroma :], (width, width // 2), BT601, image)


def from_planes(luma: Plane, blue: Plane, red: Plane, strides: tuple[int, int], matrix: Matrix, image: Image) -> None:
    """Convert planes of limited range into `image` (h, w, 3) uint8 BGR, of a size that is `convertible`.

    `luma`, `blue` (U) and `red` (V) are flat bytes, whose rows are `strides` apart: that of luma and that of the others.
    `matrix`: `BT601` or `BT709`. Within two levels of exact arithmetic with each colour sample standing for four pixels.
    """
    _from_planes(luma, blue, red, *strides, matrix, image)


@compiled("void(u1[:,:,::1], u1[:,::1])")
def _to_i420(image: Image, planes: Plane) -> None:
    height, width, _ = image.shape
    luma, chroma = height * width, height * width // 4
    for y in range(0, height, 2):
        for block in range(0, width, _BLOCK):
            x = min(block, width - _BLOCK)  # the last one reaches back over pixels that were converted already
            pixel, sample = y * width + x, luma + (y * width // 2 + x) // 2
            for row in (2, 3):  # the next two: a quarter of the time of a picture that is not in the cache
                fetch(image, 3 * (pixel + row * width))
                fetch(image, 3 * (pixel + row * width) + _LINE)
            _pack(image, 3 * pixel, 3 * width, planes, pixel, width, sample, sample + chroma)


@compiled("void(u1[::1], u1[::1], u1[::1], i8, i8, i2[::1], u1[:,:,::1])")
def _from_planes(luma: Plane, blue: Plane, red: Plane, luma_stride: int, chroma_stride: int, matrix: Matrix, image: Image) -> None:
    height, width, _ = image.shape
    for y in range(0, height, 2):
        for block in range(0, width, _BLOCK):
            x = min(block, width - _BLOCK)
            sample = y // 2 * chroma_stride + x // 2
            _unpack(luma, y * luma_stride + x, luma_stride, blue, red, sample, matrix, image, 3 * (y * width + x), 3 * width)


@emit.intrinsic
def _pack(typing: Any, image: Any, at: Any, stride: Any, planes: Any, luma: Any, luma_stride: Any, blue: Any, red: Any) -> Any:
    """A block of two rows, `stride` bytes apart, of the image at byte `at` into the planes at the bytes `luma`, `blue` and `red`."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, at, stride, _, luma, luma_stride, blue, red = args
        pixels, out = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 3))
        rows = [_channels(b, emit.at(b, pixels, at)), _channels(b, emit.at(b, pixels, b.add(at, stride)))]
        for row, place in zip(rows, (luma, b.add(luma, luma_stride)), strict=True):
            emit.store_bytes(b, b.add(b.lshr(_mixed(b, row, _LUMA), _like(row[0], 8)), _like(row[0], 16)), emit.at(b, out, place))
        mean = [_mean_of_four(b, *pair) for pair in zip(*rows, strict=True)]
        for weights, place in ((_BLUE, blue), (_RED, red)):
            emit.store_bytes(b, b.add(b.ashr(_mixed(b, mean, weights), _like(mean[0], 8)), _like(mean[0], 128)), emit.at(b, out, place))
        return context.get_dummy_value()

    return types.void(image, at, stride, planes, luma, luma_stride, blue, red), generate


@emit.intrinsic
def _unpack(
    typing: Any, luma: Any, at: Any, stride: Any, blue: Any, red: Any, sample: Any, matrix: Any, image: Any, pixel: Any, pixel_stride: Any
) -> Any:
    """A block of two rows, from the luma's bytes `at` and `stride` after it, and the others' byte `sample`, to the image's byte `pixel`."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, at, stride, _, _, sample, _, _, pixel, pixel_stride = args
        light, *chroma, weights, out = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 3, 4, 6, 7))
        u, v = (_doubled(b, _signed(b, emit.at(b, plane, sample))) for plane in chroma)
        to_blue, blue_to_green, red_to_green, to_red = (emit.splat(b, b.load(emit.at(b, weights, n)), _BLOCK) for n in range(4))
        green = b.add(b.mul(u, blue_to_green), b.mul(v, red_to_green))
        shares = (b.mul(u, to_blue), b.neg(green), b.mul(v, to_red))
        for row in range(2):
            grey = _grey(b, emit.at(b, light, b.add(at, stride) if row else at))
            levels = [_level(b, _sum(b, grey, share)) for share in shares]
            _store_channels(b, levels, emit.at(b, out, b.add(pixel, pixel_stride) if row else pixel))
        return context.get_dummy_value()

    return types.void(luma, at, stride, blue, red, sample, matrix, image, pixel, pixel_stride), generate


def _shorts(b: Any, address: Value, count: int) -> Value:
    """`count` bytes as whole numbers of 16 bits."""
    return b.zext(_bytes(b, address, count), ir.VectorType(ir.IntType(16), count))


def _bytes(b: Any, address: Value, count: int) -> Value:
    return b.load(b.bitcast(address, ir.VectorType(ir.IntType(8), count).as_pointer()), align=1)


def _like(values: Value, number: int) -> Value:
    """The number in every lane."""
    return ir.Constant(values.type, [number] * values.type.count)


def _channels(b: Any, address: Value) -> list[Value]:
    """B, G and R of a row's block, each as 32 numbers of 16 bits."""
    pixels = _bytes(b, address, 3 * _BLOCK)
    kind = ir.VectorType(ir.IntType(16), _BLOCK)
    return [b.zext(emit.shuffled(b, pixels, range(channel, 3 * _BLOCK, 3)), kind) for channel in range(3)]


def _mixed(b: Any, channels: Sequence[Value], weights: Sequence[int]) -> Value:
    """The weighted sum, and a half of 256 for rounding."""
    total = _like(channels[0], 128)
    for channel, weight in zip(channels, weights, strict=True):
        total = b.add(total, b.mul(channel, _like(channel, weight)))
    return total


def _mean_of_four(b: Any, upper: Value, lower: Value) -> Value:
    """Of two pixels side by side and the two below, rounded."""
    column = b.add(upper, lower)
    total = b.add(emit.shuffled(b, column, range(0, _BLOCK, 2)), emit.shuffled(b, column, range(1, _BLOCK, 2)))
    return b.lshr(b.add(total, _like(total, 2)), _like(total, 2))


def _signed(b: Any, address: Value) -> Value:
    """A block's samples of U or V, about zero."""
    samples = _shorts(b, address, _BLOCK // 2)
    return b.sub(samples, _like(samples, 128))


def _doubled(b: Any, values: Value) -> Value:
    """Each number twice, for two pixels."""
    return emit.shuffled(b, values, [n // 2 for n in range(2 * values.type.count)])


def _grey(b: Any, address: Value) -> Value:
    """The luma's share of a colour in 64ths, with a half for rounding."""
    luma = _shorts(b, address, _BLOCK)
    wide = ir.VectorType(ir.IntType(32), _BLOCK)
    # LLVM knows the upper half of a product of 16 bits each as one instruction.
    product = b.mul(b.zext(b.mul(luma, _like(luma, 257)), wide), ir.Constant(wide, [_SLOPE] * _BLOCK))
    scaled = b.trunc(b.lshr(product, ir.Constant(wide, [16] * _BLOCK)), luma.type)
    return b.sub(scaled, _like(scaled, _OFFSET))


def _sum(b: Any, x: Value, y: Value) -> Value:
    """Ends at 32767: the brightest yellow and blue are more."""
    kind = x.type
    add = cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind, kind]), f"llvm.sadd.sat.v{kind.count}i16")
    return b.call(add, [x, y])


def _level(b: Any, colour: Value) -> Value:
    """A colour in 64ths as a byte."""
    level = b.ashr(colour, _like(colour, 6))
    level = b.select(b.icmp_signed(">", level, _like(level, 0)), level, _like(level, 0))
    level = b.select(b.icmp_signed("<", level, _like(level, 255)), level, _like(level, 255))
    return b.trunc(level, ir.VectorType(ir.IntType(8), _BLOCK))


def _store_channels(b: Any, channels: Sequence[Value], address: Value) -> None:
    """B, G and R, 32 bytes each, one pixel after another."""
    blue, green, red = channels
    both = b.shuffle_vector(blue, green, _order(range(2 * _BLOCK)))
    padded = b.shuffle_vector(red, ir.Constant(red.type, ir.Undefined), _order(range(2 * _BLOCK)))
    order = [channel * _BLOCK + n for n in range(_BLOCK) for channel in range(3)]
    pixels = b.shuffle_vector(both, padded, _order(order))
    b.store(pixels, b.bitcast(address, pixels.type.as_pointer()), align=1)


def _order(lanes: Sequence[int]) -> Value:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
