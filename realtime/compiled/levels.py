"""Bilinear samples of pictures of bytes, four pixels of a line at once, in whole numbers of 16 bits.

Floats take registers twice as wide, and one pixel at a time leaves most of a register empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir

from realtime.compiled.emit import Value, at, filled, positions, short, shuffled, splat, with_lane

FOUR: Final = 4
BITS: Final = 16
"""Of a position, after the point."""
_DOWN, _ACROSS = 7, 6
"""Bits of the shares of the lower and of the right pixel: a level times 128, and one in half levels times 64, are less than 2 to the 15."""
_BYTE, _SHORT, _INT, _LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def blended(b: Any, pixels: Value, stride: Value, start: tuple[Value, Value], step: tuple[Value, Value], channels: int) -> Value:
    """Four neighbours of a line as sixteen bytes, the first `channels` of every four of them. Within one level of the exact value.

    `start`: column and row of the first, `step`: from each to the next, in 65536ths of a pixel, which must fit in 31 bits. `stride`: bytes
    of a row. Reads eight bytes from the pixel at or before each position on, in its row and in the next.
    """
    x, y = (positions(b, *line, FOUR) for line in zip(start, step, strict=True))
    row = b.mul(b.ashr(y, filled(BITS, FOUR)), splat(b, short(b, stride), FOUR))
    offsets = b.add(row, b.mul(b.ashr(x, filled(BITS, FOUR)), filled(channels, FOUR)))
    upper = lower = ir.Constant(ir.VectorType(_LONG, FOUR), ir.Undefined)
    for n in range(FOUR):
        place = at(b, pixels, b.sext(b.extract_element(offsets, ir.Constant(_INT, n)), _LONG))
        upper, lower = with_lane(b, upper, _eight(b, place), n), with_lane(b, lower, _eight(b, b.gep(place, [stride])), n)
    column = _between(b, _wide(b, upper), _wide(b, lower), _share(b, y, _DOWN, 8), _DOWN, _DOWN - 1)
    near = shuffled(b, column, [8 * n + k for n in range(FOUR) for k in range(FOUR)])
    far = shuffled(b, column, [8 * n + min(channels + k, 7) for n in range(FOUR) for k in range(FOUR)])
    mixed = _between(b, near, far, _share(b, x, _ACROSS, FOUR), _ACROSS, _ACROSS + 1)
    return b.trunc(mixed, ir.VectorType(_BYTE, mixed.type.count))


def put(b: Any, values: Value, order: Sequence[int], address: Value) -> None:
    """Store some of the lanes one after the other."""
    taken = shuffled(b, values, order)
    b.store(taken, b.bitcast(address, taken.type.as_pointer()), align=1)


def _share(b: Any, places: Value, bits: int, lanes: int) -> Value:
    """The upper `bits` of what is after the point, each for so many lanes."""
    shifted = b.lshr(places, filled(BITS - bits, FOUR))
    share = b.trunc(b.and_(shifted, filled((1 << bits) - 1, FOUR)), ir.VectorType(_SHORT, FOUR))
    return shuffled(b, share, [n // lanes for n in range(FOUR * lanes)])


def _between(b: Any, near: Value, far: Value, share: Value, bits: int, drop: int) -> Value:
    """near + (far - near) * share, `share` in parts of 2 to the `bits`, the lowest `drop` bits of the product rounded away."""
    count = near.type.count
    exact = b.add(b.shl(near, filled(bits, count, 16)), b.mul(b.sub(far, near), share))
    return b.lshr(b.add(exact, filled(1 << (drop - 1), count, 16)), filled(drop, count, 16))


def _eight(b: Any, address: Value) -> Value:
    return b.load(b.bitcast(address, _LONG.as_pointer()), align=1)


def _wide(b: Any, values: Value) -> Value:
    """The bytes of whole numbers of 64 bits as ones of 16 bits."""
    count = 8 * values.type.count
    return b.zext(b.bitcast(values, ir.VectorType(_BYTE, count)), ir.VectorType(_SHORT, count))

