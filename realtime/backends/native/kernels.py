"""The layers of a small convolutional network and the loop over them: one call into machine code a frame.

Everything lives in one float32 array, the arena, and is named by its offset there: pictures (height + 2, width + 2, channels) with a border
of zeros, the planar input, scratch rows. Weights lie in another, packed in the order in which they are read. A depthwise convolution is
worked out a row at a time and at once multiplied by the pointwise one that follows, so that what lies between never leaves the first cache.
"""

from __future__ import annotations

from typing import Any, Final

from numba import types

from realtime.compiled import compiled, emit, inner
from realtime.compiled.emit import LANES, TILE

STEM: Final = 0
"""3 x 3, stride 2, from planes. As every layer, with a bias before and PReLU after."""
BLOCK: Final = 1
"""Depthwise 3 x 3, then pointwise, plus the block's own input."""
HALVING: Final = 2
"""The same with stride 2, plus the largest of each 2 x 2 of the input."""
POINTWISE: Final = 3
DENSE: Final = 4
"""Every value of the picture with every output."""
FIELDS: Final = 9
"""Of a step: kind, source, destination, height and width of the result, channels in and out, weights, extra (a table, or scratch)."""


def _tile(pixels: int, vectors: int, table: bool = False) -> Any:
    """An intrinsic: `pixels` pixels times `vectors` vectors of output channels, all sums kept in registers.

    out[p, c] = prelu(bias[c] + residual[p, c] + sum over k of x[p, k] * w[k, c]). Weights: biases, slopes, then a row of channels for
    each k. With `table` x[p, k] is at the offset that the table gives for k, else at k.
    """
    width = vectors * LANES

    @emit.intrinsic
    def tile(typing: Any, a: Any, x: Any, step: Any, w: Any, at: Any, depth: Any, where: Any, residual: Any, rstep: Any, out: Any,
             ostep: Any) -> Any:  # fmt: skip
        def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            _, x, step, _, at, depth, _, residual, rstep, out, ostep = args
            arena, offsets = emit.data(context, b, kinds[0], args[0]), emit.data(context, b, kinds[6], args[6])
            weights = emit.at(b, emit.data(context, b, kinds[3], args[3]), at)
            rows = emit.at(b, weights, 2 * width)

            def pixel(base: Any, stride: Any, p: int) -> Any:
                return emit.at(b, emit.at(b, arena, base), b.mul(stride, emit.number(p)))

            pictures = [pixel(x, step, p) for p in range(pixels)]
            sums = [
                b.fadd(emit.load(b, emit.at(b, weights, v * LANES)), emit.load(b, emit.at(b, pixel(residual, rstep, p), v * LANES)))
                for p in range(pixels)
                for v in range(vectors)
            ]

            def accumulate(k: Any, sums: list[Any]) -> list[Any]:
                row = emit.at(b, rows, b.mul(k, emit.number(width)))
                columns = [emit.load(b, emit.at(b, row, v * LANES)) for v in range(vectors)]
                offset = b.load(emit.at(b, offsets, k)) if table else k
                values = [emit.splat(b, b.load(emit.at(b, picture, offset))) for picture in pictures]
                return [emit.multiply_add(b, values[n // vectors], columns[n % vectors], total) for n, total in enumerate(sums)]

            sums = emit.loop(b, depth, sums, accumulate)
            slopes = [emit.load(b, emit.at(b, weights, width + v * LANES)) for v in range(vectors)]
            for n, total in enumerate(sums):
                p, v = divmod(n, vectors)
                emit.store(b, emit.rectified(b, total, slopes[v]), emit.at(b, pixel(out, ostep, p), v * LANES))
            return context.get_dummy_value()

        return types.void(a, x, step, w, at, depth, where, residual, rstep, out, ostep), generate

    return tile


_six, _three, _one = _tile(6, 2), _tile(3, 2), _tile(1, 2)
_six_scattered = _tile(6, 2, table=True)
_wide = _tile(1, 8)
WIDE: Final = 8 * LANES
"""Output channels of a tile of the dense layer, where there is but one pixel."""


@emit.intrinsic
def _depthwise_row(typing: Any, a: Any, x: Any, row: Any, step: Any, w: Any, at: Any, channels: Any, count: Any, out: Any) -> Any:
    """`count` pixels of a depthwise 3 x 3 from the window whose corner is at x. Weights for eight channels: biases, then nine taps."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, x, row, step, _, at, channels, count, out = args
        arena = emit.data(context, b, signature.args[0], args[0])
        weights = emit.at(b, emit.data(context, b, signature.args[4], args[4]), at)
        corner, target = emit.at(b, arena, x), emit.at(b, arena, out)

        def group(n: Any, _: list[Any]) -> list[Any]:
            first, own = b.mul(n, emit.number(LANES)), emit.at(b, weights, b.mul(n, emit.number(10 * LANES)))
            bias, *taps = (emit.load(b, emit.at(b, own, t * LANES)) for t in range(10))

            def pixel(i: Any, _: list[Any]) -> list[Any]:
                window, total = emit.at(b, corner, b.add(first, b.mul(i, step))), bias
                for t, tap in enumerate(taps):
                    offset = b.add(b.mul(row, emit.number(t // 3)), b.mul(channels, emit.number(t % 3)))
                    total = emit.multiply_add(b, emit.load(b, emit.at(b, window, offset)), tap, total)
                emit.store(b, total, emit.at(b, target, b.add(first, b.mul(i, channels))))
                return []

            emit.loop(b, count, [], pixel)
            return []

        emit.loop(b, b.sdiv(channels, emit.number(LANES)), [], group)
        return context.get_dummy_value()

    return types.void(a, x, row, step, w, at, channels, count, out), generate


@emit.intrinsic
def _pool_row(typing: Any, a: Any, x: Any, row: Any, channels: Any, count: Any, out: Any) -> Any:
    """`count` pixels, each the largest of 2 x 2 from x on."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, x, row, channels, count, out = args
        arena = emit.data(context, b, signature.args[0], args[0])
        corner, target = emit.at(b, arena, x), emit.at(b, arena, out)

        def pixel(i: Any, _: list[Any]) -> list[Any]:
            window, to = emit.at(b, corner, b.mul(i, b.mul(channels, emit.number(2)))), emit.at(b, target, b.mul(i, channels))

            def group(n: Any, _: list[Any]) -> list[Any]:
                own = b.mul(n, emit.number(LANES))
                places = (own, b.add(own, channels), b.add(own, row), b.add(own, b.add(row, channels)))
                four = [emit.load(b, emit.at(b, window, place)) for place in places]
                top, bottom = emit.larger(b, four[0], four[1]), emit.larger(b, four[2], four[3])
                emit.store(b, emit.larger(b, top, bottom), emit.at(b, to, own))
                return []

            emit.loop(b, b.sdiv(channels, emit.number(LANES)), [], group)
            return []

        emit.loop(b, count, [], pixel)
        return context.get_dummy_value()

    return types.void(a, x, row, channels, count, out), generate


_layer = inner(error_model="numpy")


@_layer
def _pointwise_row(a, w, table, x, at, width, ci, co, residual, out):  # type: ignore[no-untyped-def]
    """A row of pixels times the pointwise weights, `residual` (-1: none; the first `ci` channels have one) added. Offset 0 holds zeros."""
    for tile in range(co // TILE):
        own, r, rstep = at + tile * TILE * (2 + ci), 0, 0
        if residual >= 0 and tile * TILE < ci:
            r, rstep = residual + tile * TILE, ci
        n = 0
        while n + 6 <= width:
            _six(a, x + n * ci, ci, w, own, ci, table, r + n * rstep, rstep, out + n * co + tile * TILE, co)
            n += 6
        while n + 3 <= width:
            _three(a, x + n * ci, ci, w, own, ci, table, r + n * rstep, rstep, out + n * co + tile * TILE, co)
            n += 3
        while n < width:
            _one(a, x + n * ci, ci, w, own, ci, table, r + n * rstep, rstep, out + n * co + tile * TILE, co)
            n += 1


@_layer
def _stem(a, w, table, x, out, height, width, co, at, extra):  # type: ignore[no-untyped-def]
    """`extra`: where this layer's offsets begin in the table; before them how many there are, and the floats from row to row."""
    depth, row = table[extra], table[extra + 1]
    offsets = table[extra + 2 : extra + 2 + depth]
    for y in range(height):
        for n in range(0, width, 6):
            _six_scattered(a, x + 2 * y * row + 2 * n, 2, w, at, depth, offsets, 0, 0, out + ((y + 1) * (width + 2) + n + 1) * co, co)


@_layer
def _block(a, w, table, x, out, height, width, ci, co, at, scratch):  # type: ignore[no-untyped-def]
    row = (width + 2) * ci
    for y in range(height):
        _depthwise_row(a, x + y * row, row, ci, w, at, ci, width, scratch)
        to = out + ((y + 1) * (width + 2) + 1) * co
        _pointwise_row(a, w, table, scratch, at + 10 * ci, width, ci, co, x + (y + 1) * row + ci, to)


@_layer
def _halving(a, w, table, x, out, height, width, ci, co, at, scratch):  # type: ignore[no-untyped-def]
    row, pooled = (2 * width + 2) * ci, scratch + width * ci
    for y in range(height):
        corner = x + (2 * y + 1) * row + ci
        _depthwise_row(a, corner, row, 2 * ci, w, at, ci, width, scratch)
        _pool_row(a, corner, row, ci, width, pooled)
        _pointwise_row(a, w, table, scratch, at + 10 * ci, width, ci, co, pooled, out + ((y + 1) * (width + 2) + 1) * co)


@_layer
def _rows(a, w, table, x, out, height, width, ci, co, at):  # type: ignore[no-untyped-def]
    for y in range(height):
        start = (y + 1) * (width + 2) + 1
        _pointwise_row(a, w, table, x + start * ci, at, width, ci, co, -1, out + start * co)


@_layer
def _dense(a, w, table, x, out, height, width, ci, co, at, scratch):  # type: ignore[no-untyped-def]
    """All of the picture at once; the result is a bare vector of `co` values."""
    depth = height * width * ci
    for y in range(height):
        start = x + ((y + 1) * (width + 2) + 1) * ci
        for n in range(width * ci):  # a loop because numba takes seconds to compile an assignment of slices
            a[scratch + y * width * ci + n] = a[start + n]
    tile = WIDE if co % WIDE == 0 else TILE
    for n in range(0, co, tile):
        own = at + n * (2 + depth)
        if tile == WIDE:
            _wide(a, scratch, 0, w, own, depth, table, 0, 0, out + n, 0)
        else:
            _one(a, scratch, 0, w, own, depth, table, 0, 0, out + n, 0)


@compiled("void(i8[:,::1], f4[::1], f4[::1], i8[::1])", error_model="numpy")
def execute(steps, arena, weights, table):  # type: ignore[no-untyped-def]
    """Run every step, (n, FIELDS) int64, in order: from the input in the arena to the outputs there."""
    for n in range(len(steps)):
        kind, x, out, height, width, ci, co, at, extra = steps[n]
        if kind == STEM:
            _stem(arena, weights, table, x, out, height, width, co, at, extra)
        elif kind == BLOCK:
            _block(arena, weights, table, x, out, height, width, ci, co, at, extra)
        elif kind == HALVING:
            _halving(arena, weights, table, x, out, height, width, ci, co, at, extra)
        elif kind == POINTWISE:
            _rows(arena, weights, table, x, out, height, width, ci, co, at)
        else:
            _dense(arena, weights, table, x, out, height, width, ci, co, at, extra)
