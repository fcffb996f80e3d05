"""The one pass over full-resolution pixels: texture, tone curve, offset and opacity, from a coarse grid of attributes.

A pixel is a handful of vector instructions: its place in the texture in one register of four floats, offsets and opacity in another, both
stepped by one addition; the four texels around the place in two registers of eight.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from realtime.compiled import emit
from realtime.compiled.ahead import fetch
from realtime.types import Array, Image
from realtime.vision.mesh.maths import helper, kernel
from realtime.vision.mesh.raster import CHANNELS

_FOUR: Final = 4
_PLACE, _SHADE = 0, 2
"""Channels of a node as in `raster`: u, v, then blue, green and red offset and opacity, read four at a time."""


def pack(texture: Image) -> Array:
    """(S, S, 3) uint8 BGR -> (S, S, 4): two texels side by side are eight bytes, one load."""
    return np.ascontiguousarray(np.dstack([texture, np.zeros(texture.shape[:2], np.uint8)]))


@emit.intrinsic
def _look_up(typing: Any, nodes: Any, corner: Any, below: Any, step: Any, texture: Any, side: Any, texels: Any, first: Any, width: Any,
             rows: Any, columns: Any) -> Any:  # fmt: skip
    """The texture's levels in one cell of `rows` x `columns` pixels, the first of them at index `first` of rows `width` pixels wide.

    `corner` and `below` are the indices of the cell's upper and lower left node. Attributes are bilinear between the four nodes.
    """

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, corner, below, step, _, side, _, first, width, rows, columns = args
        nodes, texture, texels = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 4, 6))
        limits = _place_limits(b, side)
        place = _bilinear(b, nodes, (corner, below), _PLACE, step, lambda values: _places(b, values, *limits))

        def pixel(index: Any, place: Any) -> None:
            emit.store_bytes(b, _texel(b, texture, side, place), emit.at(b, texels, b.mul(index, emit.number(4))))

        _each_pixel(b, place, first, width, rows, columns, pixel)
        return context.get_dummy_value()

    return types.void(nodes, corner, below, step, texture, side, texels, first, width, rows, columns), generate


def _colouring(careful: bool) -> Any:
    """An intrinsic that turns a cell's levels into colours and opacities: through the tone curve, then the offsets.

    Not `careful`, a pixel is written as four bytes, the fourth of which is the next pixel's first: that one must be painted later, or be
    transparent.
    """

    @emit.intrinsic
    def colour_in(typing: Any, nodes: Any, corner: Any, below: Any, step: Any, texels: Any, tones: Any, colour: Any, alpha: Any,
                  offset: Any, first: Any, width: Any, rows: Any, columns: Any) -> Any:  # fmt: skip
        def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
            _, corner, below, step, _, _, _, _, offset, first, width, rows, columns = args
            nodes, texels, tones, colour, alpha = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 4, 5, 6, 7))
            shade = _bilinear(b, nodes, (corner, below), _SHADE, step, lambda values: _levels(b, values))

            def pixel(index: Any, shade: Any) -> None:
                toned = _toned(b, tones, emit.at(b, texels, b.mul(index, emit.number(4))))
                levels = emit.larger(b, b.fadd(toned, shade), emit.constant((0.0,) * _FOUR))
                levels = emit.cut(b, emit.smaller(b, levels, emit.constant((255.5,) * _FOUR)))
                at = b.add(offset, index)
                start = emit.at(b, colour, b.mul(at, emit.number(3)))
                if careful:
                    for channel in range(3):
                        emit.store_byte(b, emit.lane(b, levels, channel), emit.at(b, start, channel))
                else:
                    emit.store_bytes(b, levels, start)
                emit.store_byte(b, emit.lane(b, levels, 3), emit.at(b, alpha, at))

            _each_pixel(b, shade, first, width, rows, columns, pixel)
            return context.get_dummy_value()

        return types.void(nodes, corner, below, step, texels, tones, colour, alpha, offset, first, width, rows, columns), generate

    return colour_in


_colour_in, _colour_in_carefully = _colouring(False), _colouring(True)


def _each_pixel(b: Any, values: Any, first: Any, width: Any, rows: Any, columns: Any, pixel: Any) -> None:
    """`pixel(index, value)` for all of a cell, with a value that changes by columns and rows as `_bilinear` says."""
    start, across, down, twist = values

    def row(y: Any, state: list[Any]) -> list[Any]:
        at = b.add(first, b.mul(y, width))

        def column(x: Any, now: list[Any]) -> list[Any]:
            pixel(b.add(at, x), now[0])
            return [b.fadd(now[0], state[1])]

        emit.loop(b, columns, [state[0]], column)
        return [b.fadd(state[0], down), b.fadd(state[1], twist)]

    emit.loop(b, rows, [start, across], row)


def _place_limits(b: Any, side: Any) -> tuple[Any, Any]:
    """The texture's side, and the largest place, as vectors."""
    size = b.sitofp(side, emit.FLOAT)
    return emit.splat(b, size, _FOUR), emit.splat(b, b.fsub(size, emit.real(1.01)), _FOUR)


def _places(b: Any, values: Any, side: Any, last: Any) -> Any:
    """From 0..1 across the texture to texels, a little inside its border."""
    place = b.fsub(b.fmul(values, side), emit.constant((0.5,) * _FOUR))
    return emit.smaller(b, emit.larger(b, place, emit.constant((0.004,) * _FOUR)), last)


def _levels(b: Any, values: Any) -> Any:
    """Offsets as they are and opacity as 0..255, with the half that turns cutting off into rounding."""
    return b.fadd(b.fmul(values, emit.constant((1.0, 1.0, 1.0, 255.0))), emit.constant((0.5,) * _FOUR))


def _bilinear(b: Any, nodes: Any, rows: tuple[Any, Any], channel: int, step: Any, scaled: Any) -> tuple[Any, Any, Any, Any]:
    """Four channels at a cell's first pixel, their change a column, their change a row, and that of the change a column."""
    starts = [b.add(b.mul(row, emit.number(CHANNELS)), emit.number(channel)) for row in rows]
    places = [place for start in starts for place in (start, b.add(start, emit.number(CHANNELS)))]
    p, q, r, s = (scaled(emit.load(b, emit.at(b, nodes, place), _FOUR)) for place in places)
    share = emit.splat(b, b.fdiv(emit.real(1.0), b.sitofp(step, emit.FLOAT)), _FOUR)
    across, down = b.fsub(q, p), b.fsub(r, p)
    twist = b.fsub(b.fsub(s, r), across)
    return p, b.fmul(across, share), b.fmul(down, share), b.fmul(b.fmul(twist, share), share)


def _texel(b: Any, texture: Any, side: Any, place: Any) -> Any:
    """Levels at a place in the texture, (blue, green, red, 0), cut off."""
    corner = emit.cut(b, place)
    share = b.fsub(place, emit.floats(b, corner))
    left, top = (emit.index(b, emit.lane(b, corner, n)) for n in (0, 1))
    at = b.mul(b.add(b.mul(top, side), left), emit.number(4))
    upper = emit.load_bytes(b, emit.at(b, texture, at))
    lower = emit.load_bytes(b, emit.at(b, texture, b.add(at, b.mul(side, emit.number(4)))))
    column = emit.multiply_add(b, b.fsub(lower, upper), emit.shuffled(b, share, (1,) * 8), upper)
    near, far = emit.shuffled(b, column, (0, 1, 2, 3)), emit.shuffled(b, column, (4, 5, 6, 7))
    return emit.cut(b, emit.multiply_add(b, b.fsub(far, near), emit.shuffled(b, share, (0,) * 4), near))


def _toned(b: Any, tones: Any, texel: Any) -> Any:
    """Three levels in memory through the curve of each channel."""
    result = emit.constant((0.0,) * _FOUR)
    for channel in range(3):
        level = emit.load_byte(b, emit.at(b, texel, channel))
        result = emit.with_lane(b, result, b.load(emit.at(b, tones, b.add(level, emit.number(256 * channel)))), channel)
    return result


@helper
def _between(tones: Array) -> Array:
    """The curve half a level on: what a level that was cut off stands for."""
    out = np.empty((3, 256), np.float32)
    for channel in range(3):
        for level in range(256):
            out[channel, level] = np.float32(0.5) * (tones[channel, level] + tones[channel, min(level + 1, 255)])
    return out


@kernel
def paint(nodes: Array, step: int, texture: Array, tones: Array, colour: Array, alpha: Array) -> None:
    """Fill a patch from the grid's nodes; attributes are bilinear inside each cell.

    nodes: (rows, columns, CHANNELS) as in `raster`, `step` pixels apart, reaching at least over the patch; texture: packed (S, S, 4);
    tones: (3, 256) float32 levels; colour: (h, w, 3) uint8 out, written only where the opacity can be more than zero;
    alpha: (h, w) uint8 out, written everywhere.
    """
    height, width = alpha.shape
    opacity = alpha.reshape(-1)
    for at in range(len(opacity)):
        opacity[at] = 0
    across, columns, curve = nodes.shape[1], (width + step - 1) // step, _between(tones)
    texels = np.empty((step * width, 4), np.uint8)  # of one row of cells: stays in the first cache
    for row in range((height + step - 1) // step):
        y, high = row * step, min(step, height - row * step)
        for column in range(columns):
            if _seen(nodes, row, column):
                x, corner = column * step, row * across + column
                wide = min(step, width - x)
                if row + 2 < len(nodes) and column % 2 == 0:  # two cells take about a line of the cache
                    _fetch_below(nodes, row + 1, column, step, texture)
                _look_up(nodes, corner, corner + across, step, texture, len(texture), texels, x, width, high, wide)
        for column in range(columns):
            if _seen(nodes, row, column):
                x, corner = column * step, row * across + column
                wide, at = min(step, width - x), y * width
                if column == columns - 1:
                    _colour_in_carefully(nodes, corner, corner + across, step, texels, curve, colour, alpha, at, x, width, high, wide)
                else:
                    _colour_in(nodes, corner, corner + across, step, texels, curve, colour, alpha, at, x, width, high, wide)


@helper
def _fetch_below(nodes: Array, row: int, column: int, step: int, texture: Array) -> None:
    """Have what the cell will look up fetched from the texture, along its left side, a texel down every half pixel."""
    side, count = len(texture), 2 * step
    u, v = nodes[row, column, 0] * np.float32(side), nodes[row, column, 1] * np.float32(side)
    across = (nodes[row + 1, column, 0] * np.float32(side) - u) / np.float32(count)
    down = (nodes[row + 1, column, 1] * np.float32(side) - v) / np.float32(count)
    for _ in range(count):
        fetch(texture, (int(v) * side + int(u)) * 4)
        u += across
        v += down


@helper
def _seen(nodes: Array, row: int, column: int) -> Any:
    """Whether a cell can be anything but transparent."""
    return nodes[row, column, 5] + nodes[row, column + 1, 5] + nodes[row + 1, column, 5] + nodes[row + 1, column + 1, 5] > 0
