"""Vector instructions for the inner loops: what LLVM does not find by itself in a loop over arrays.

Pictures are stored with channels last and a border of one zero pixel, so that a 3 x 3 window needs no special case at the edge and eight
channels of a pixel are one register. Vectors are eight floats wide: a register of AVX, two of SSE or NEON (LLVM splits them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.extending import intrinsic as _intrinsic

LANES = 8
TILE = 2 * LANES
"""Output channels of one tile."""
FLOAT = ir.FloatType()
_INT, _SHORT = ir.IntType(64), ir.IntType(32)
_CONTRACT = ("contract", "nsz")
"""Multiplications and additions may be fused; nothing else is given up, and a bad number stays one."""
Value = Any


def intrinsic(function: Callable[..., Any]) -> Any:
    """numba's decorator: a function of the types of its arguments, which gives a signature and what emits the instructions."""
    return _intrinsic(function)


def _vector(lanes: int) -> Any:
    return ir.VectorType(FLOAT, lanes)


def number(n: int) -> Value:
    return ir.Constant(_INT, n)


def data(context: Any, b: Any, kind: Any, array: Value) -> Value:
    """Address of the first element of a numba array."""
    return context.make_array(kind)(context, b, array).data


def at(b: Any, base: Value, offset: Value | int) -> Value:
    return b.gep(base, [number(offset) if isinstance(offset, int) else offset])


def real(x: float) -> Value:
    return ir.Constant(FLOAT, x)


def constant(values: Sequence[float]) -> Value:
    return ir.Constant(_vector(len(values)), list(values))


def load(b: Any, address: Value, lanes: int = LANES) -> Value:
    return b.load(b.bitcast(address, _vector(lanes).as_pointer()), align=4)


def store(b: Any, value: Value, address: Value) -> None:
    b.store(value, b.bitcast(address, value.type.as_pointer()), align=4)


def load_bytes(b: Any, address: Value) -> Value:
    """Eight bytes as floats."""
    bytes_ = b.load(b.bitcast(address, ir.VectorType(ir.IntType(8), LANES).as_pointer()), align=1)
    return floats(b, b.zext(bytes_, ir.VectorType(_SHORT, LANES)))


def load_byte(b: Any, address: Value) -> Value:
    """A byte as an offset."""
    return b.zext(b.load(address), _INT)


def store_byte(b: Any, value: Value, address: Value) -> None:
    """The low byte of a whole number."""
    b.store(b.trunc(value, ir.IntType(8)), address)


def store_bytes(b: Any, values: Value, address: Value) -> None:
    """The low byte of each of the whole numbers."""
    small = b.trunc(values, ir.VectorType(ir.IntType(8), values.type.count))
    b.store(small, b.bitcast(address, small.type.as_pointer()), align=1)


def lane(b: Any, vector: Value, n: int) -> Value:
    return b.extract_element(vector, ir.Constant(_SHORT, n))


def with_lane(b: Any, vector: Value, value: Value, n: int) -> Value:
    return b.insert_element(vector, value, ir.Constant(_SHORT, n))


def shuffled(b: Any, vector: Value, order: Sequence[int]) -> Value:
    """The vector's lanes in another order, or some of them."""
    return b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), ir.Constant(ir.VectorType(_SHORT, len(order)), list(order)))


def splat(b: Any, scalar: Value, lanes: int = LANES) -> Value:
    """The number, of whatever kind, in every lane."""
    return shuffled(b, with_lane(b, ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined), scalar, 0), (0,) * lanes)


def wholes(values: Sequence[int]) -> Value:
    """A constant of whole numbers of 32 bits."""
    return ir.Constant(ir.VectorType(_SHORT, len(values)), list(values))


def filled(value: int, lanes: int, bits: int = 32) -> Value:
    """A constant with one whole number in every lane."""
    return ir.Constant(ir.VectorType(ir.IntType(bits), lanes), [value] * lanes)


def positions(b: Any, start: Value, step: Value, lanes: int) -> Value:
    """start, start + step, ... in 32 bits."""
    return b.add(splat(b, short(b, start), lanes), b.mul(splat(b, short(b, step), lanes), wholes(range(lanes))))


def short(b: Any, value: Value) -> Value:
    """The low 32 bits of a whole number."""
    return b.trunc(value, _SHORT)


def load_word(b: Any, address: Value) -> Value:
    """Four bytes as one whole number of 32 bits."""
    return b.load(b.bitcast(address, _SHORT.as_pointer()), align=1)


def cut(b: Any, values: Value) -> Value:
    """Whole numbers of 32 bits, rounded towards zero."""
    return b.fptosi(values, ir.VectorType(_SHORT, values.type.count))


def whole(b: Any, values: Value) -> Value:
    """The nearest whole numbers to values that are not negative."""
    return cut(b, b.fadd(values, constant((0.5,) * values.type.count)))


def floats(b: Any, values: Value) -> Value:
    return b.sitofp(values, _vector(values.type.count))


def index(b: Any, value: Value) -> Value:
    """A whole number of 32 bits that is not negative, as an offset."""
    return b.zext(value, _INT)


def multiply_add(b: Any, x: Value, y: Value, total: Value) -> Value:
    return b.fadd(total, b.fmul(x, y, flags=_CONTRACT), flags=_CONTRACT)


def rectified(b: Any, x: Value, slope: Value) -> Value:
    """x where it is positive, else x times `slope`: PReLU. What is not a number stays so."""
    return b.select(b.fcmp_ordered(">", x, constant((0.0,) * x.type.count)), x, b.fmul(x, slope))


def larger(b: Any, x: Value, y: Value) -> Value:
    """y also where x is not a number."""
    return b.select(b.fcmp_ordered(">", x, y), x, y)


def smaller(b: Any, x: Value, y: Value) -> Value:
    """y also where x is not a number."""
    return b.select(b.fcmp_ordered("<", x, y), x, y)


def loop(b: Any, count: Value, carried: Sequence[Value], body: Callable[[Value, list[Value]], list[Value]]) -> list[Value]:
    """`body(i, values)` for i = 0 .. count - 1, at least once; its result is the values of the next round and, at last, of the loop."""
    before, head = b.block, b.append_basic_block("loop")
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(_INT)
    index.add_incoming(number(0), before)
    values = []
    for start in carried:
        value = b.phi(start.type)
        value.add_incoming(start, before)
        values.append(value)
    results = body(index, values)
    following, last, end = b.add(index, number(1)), b.block, b.append_basic_block("end")
    index.add_incoming(following, last)
    for value, result in zip(values, results, strict=True):
        value.add_incoming(result, last)
    b.cbranch(b.icmp_signed("<", following, count), head, end)
    b.position_at_end(end)
    return results
