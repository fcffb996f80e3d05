"""Bytes raised and lowered by a pattern, and counted where they resemble their neighbours: each one pass over a plane.

32 bytes at a time, with the processor's own saturating arithmetic.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from realtime.compiled import compiled, emit, prepare
from realtime.compiled.emit import Value

Plane = NDArray[np.uint8]

_BLOCK: Final = 32
"""Bytes: a register of AVX2, two of SSE or NEON (LLVM splits them)."""


def warm_up() -> None:
    """Compile or load what is here, so that the first frame is not late."""
    prepare(shift, alike)


@compiled("void(u1[:,::1], u1[:,::1], u1[:,::1], i4[::1])")
def shift(plane: Plane, up: Plane, down: Plane, rows: NDArray[np.int32]) -> None:
    """plane = plane + up - down, in place, ending at 0 and at 255.

    plane: (h, w) uint8; up, down: (n, w) uint8, of which row `rows[y]` (h,) int32 is for the plane's row y.
    """
    height, width = plane.shape
    for y in range(height):
        begin, pattern = y * width, rows[y] * width
        for x in range(0, width - _BLOCK + 1, _BLOCK):
            _shift_block(plane, begin + x, up, down, pattern + x)
        for x in range(width - width % _BLOCK, width):
            raised = np.int64(plane[y, x]) + np.int64(up[rows[y], x])
            plane[y, x] = max(min(raised, np.int64(255)) - np.int64(down[rows[y], x]), np.int64(0))


@compiled("i8(u1[:,::1], i8, i8, u1)")
def alike(plane: Plane, every: int, reach: int, most: int) -> int:
    """In how many places of every `every`-th row (h, w) uint8 a byte and that `reach` after it are at most `most` apart."""
    height, width = plane.shape
    count, places = 0, width - reach
    for y in range(0, height, every):
        begin = y * width
        for x in range(0, places - _BLOCK + 1, _BLOCK):
            count += _alike_in_block(plane, begin + x, begin + x + reach, most)
        for x in range(max(places - places % _BLOCK, 0), places):
            if abs(np.int64(plane[y, x]) - np.int64(plane[y, x + reach])) <= np.int64(most):
                count += 1
    return count


@emit.intrinsic
def _shift_block(typing: Any, plane: Any, at: Any, up: Any, down: Any, pattern: Any) -> Any:
    """`_BLOCK` bytes from byte `at` of the plane on, by those from byte `pattern` on."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _, at, _, _, pattern = args
        pixels, *shifts = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 2, 3))
        raised = _saturating(b, "uadd", _bytes(b, pixels, at), _bytes(b, shifts[0], pattern))
        lowered = _saturating(b, "usub", raised, _bytes(b, shifts[1], pattern))
        b.store(lowered, b.bitcast(emit.at(b, pixels, at), lowered.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(plane, at, up, down, pattern), generate


@emit.intrinsic
def _alike_in_block(typing: Any, plane: Any, here: Any, there: Any, most: Any) -> Any:
    """How many of `_BLOCK` bytes from byte `here` on are at most `most` from those from byte `there` on."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        pixels = emit.data(context, b, signature.args[0], args[0])
        one, other = (_bytes(b, pixels, place) for place in args[1:3])
        apart = b.or_(_saturating(b, "usub", one, other), _saturating(b, "usub", other, one))
        is_alike = b.icmp_unsigned("<=", apart, emit.splat(b, args[3], _BLOCK))
        return b.zext(b.ctpop(b.bitcast(is_alike, ir.IntType(_BLOCK))), ir.IntType(64))

    return types.int64(plane, here, there, most), generate


def _bytes(b: Any, data: Value, offset: Value) -> Value:
    address = b.bitcast(emit.at(b, data, offset), ir.VectorType(ir.IntType(8), _BLOCK).as_pointer())
    return b.load(address, align=1)


def _saturating(b: Any, operation: str, x: Value, y: Value) -> Value:
    """x + y ("uadd") or x - y ("usub") of bytes, which ends at 255 or at 0."""
    kind = x.type
    name = f"llvm.{operation}.sat.v{kind.count}i8"
    return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind, kind]), name), [x, y])
