"""Replace quantised constant weights by the floats they stand for.

ONNX Runtime's processor provider rejects block-wise DequantizeLinear when it runs, and folded weights are what the other backends
make of it anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from realtime.types import Array


def fold(network: Any, but: frozenset[str] = frozenset()) -> Any:
    """Compute, in place, every DequantizeLinear and Reshape of constants, and drop what is then unused. Returns the network.

    The constants named in `but` stay as the file computes them. Names of weights listed as graph inputs (as files before ONNX's fourth
    version have it) are dropped too.
    """
    constants = {item.name: numpy_helper.to_array(item) for item in network.graph.initializer}
    stored = set(constants)
    kept = [node for node in network.graph.node if node.output[0] in but or not _computed(node, constants, stored)]
    used = {name for node in kept for name in node.input} | {output.name for output in network.graph.output}
    _replace(network.graph.node, kept)
    _replace(network.graph.input, [item for item in network.graph.input if item.name in used and item.name not in constants])
    old = [item for item in network.graph.initializer if item.name in used]
    new = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items() if name in used - stored]
    _replace(network.graph.initializer, old + new)
    return network


def _computed(node: Any, constants: dict[str, Array], stored: set[str]) -> bool:
    """Whether the node's result is now among the constants."""
    if not all(name in constants for name in node.input if name):
        return False
    values = [constants[name] for name in node.input if name]
    if node.op_type == "DequantizeLinear":
        options = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        constants[node.output[0]] = dequantise(*values, axis=options.get("axis", 1), block=options.get("block_size", 0))
        return True
    if node.op_type == "Reshape" and node.input[0] not in stored:
        constants[node.output[0]] = values[0].reshape([int(side) for side in values[1]])
        return True
    return False


def dequantise(values: Array, scale: Array, zero: Array | None = None, *, axis: int = 1, block: int = 0) -> Array:
    """(values - zero) * scale as float32, by the definition of ONNX DequantizeLinear 21.

    `scale` and `zero` hold one number for all, one for each index along `axis`, or, with `block` > 0, one for each run of `block`
    indices along `axis`.
    """
    zero = np.zeros_like(scale, np.int8) if zero is None else zero
    if block:
        index = np.arange(values.shape[axis]) // block
        scale, zero = np.take(scale, index, axis), np.take(zero, index, axis)
    elif scale.ndim == 1:
        shape = [-1 if dim == axis % values.ndim else 1 for dim in range(values.ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return np.asarray((values.astype(np.float32) - zero.astype(np.float32)) * scale, np.float32)


def _replace(field: Any, items: list[Any]) -> None:
    """Set a repeated field; its own items must be copied before they are cleared."""
    copies = [type(item).FromString(item.SerializeToString()) for item in items]
    del field[:]
    field.extend(copies)
