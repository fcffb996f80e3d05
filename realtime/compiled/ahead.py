"""Bytes of a picture fetched into the processor's cache before they are needed.

Between two frames of a camera other work takes the cache, so a kernel finds its picture in memory. The processor fetches ahead by itself
within a page of 4 KB, about one line of a picture, but not from one line to the next.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from realtime.compiled import emit

_READ, _SOON, _DATA = (ir.Constant(ir.IntType(32), value) for value in (0, 3, 1))


@emit.intrinsic
def fetch(typing: Any, array: Any, at: Any) -> Any:
    """Begin to fetch the line of the cache in which byte `at` of a uint8 array lies; a place outside of it does no harm."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        place = emit.at(b, emit.data(context, b, signature.args[0], args[0]), args[1])
        kind = ir.FunctionType(ir.VoidType(), [place.type, *(value.type for value in (_READ, _SOON, _DATA))])
        b.call(cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0"), [place, _READ, _SOON, _DATA])
        return context.get_dummy_value()

    return types.void(array, at), generate
