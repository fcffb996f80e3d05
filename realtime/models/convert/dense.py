"""Fully connected layers that keep their quantised weights: a quarter of the memory, and of what has to be read at start and at each run.

OpenVINO multiplies by such weights directly when they are bytes turned to floats by a subtraction and a multiplication and by nothing
else; so a batch normalisation behind the layer is worked into them. ONNX Runtime turns them into floats once, when it loads the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from realtime.types import Array

SMALLEST = 1_000_000
"""Weights from which a layer is worth the trouble."""


def dense_weights(network: Any) -> frozenset[str]:
    """Names of the large weights, quantised in blocks along their rows, that feed nothing but one Gemm."""
    stored = {item.name: tuple(item.dims) for item in network.graph.initializer}
    dequantised = [node for node in network.graph.node if node.op_type == "DequantizeLinear" and len(node.input) == 3]
    blocked = {node.output[0] for node in dequantised if _in_blocks(node, stored.get(node.input[0], ()))}
    return frozenset(name for name in blocked if [_is_layer(node) for node in _users(network, name)] == [True])


def compact(network: Any, names: frozenset[str]) -> Any:
    """Write the DequantizeLinear of these weights, in place, as operators that every backend knows. Returns the network."""
    graph = network.graph
    stored = {item.name: item for item in graph.initializer}
    for node in [node for node in graph.node if node.output[0] in names]:
        weights, scale, zero = (numpy_helper.to_array(stored[name]) for name in node.input)
        gain = _absorb_normalisation(graph, stored, node.output[0])
        position = list(graph.node).index(node)
        graph.node.remove(node)
        values, nodes = _expression(node.output[0], weights, scale * gain[:, None], zero)
        for offset, item in enumerate(nodes):
            graph.node.insert(position + offset, item)
        graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in values.items())
        for name in node.input:
            graph.initializer.remove(stored[name])
    return network


def _expression(name: str, weights: Array, scale: Array, zero: Array) -> tuple[dict[str, Array], list[Any]]:
    """(bytes - zero) * scale, reshaped to `name`: weights (n, k), scale and zero (n, blocks). OpenVINO wants the bytes unsigned."""
    blocks = (*scale.shape, weights.shape[1] // scale.shape[1])
    values = {
        f"{name}_bytes": (weights.astype(np.int16) + 128).astype(np.uint8).reshape(blocks),
        f"{name}_zero": (zero.astype(np.int16) + 128).astype(np.uint8)[..., None],
        f"{name}_scale": scale.astype(np.float32)[..., None],
        f"{name}_shape": np.array(weights.shape, np.int64),
    }
    wide, low, centred, scaled = (f"{name}_{step}" for step in ("wide", "low", "centred", "scaled"))
    nodes = [
        helper.make_node("Cast", [f"{name}_bytes"], [wide], to=1),
        helper.make_node("Cast", [f"{name}_zero"], [low], to=1),
        helper.make_node("Sub", [wide, low], [centred]),
        helper.make_node("Mul", [centred, f"{name}_scale"], [scaled]),
        helper.make_node("Reshape", [scaled, f"{name}_shape"], [name]),
    ]
    return values, nodes


def _absorb_normalisation(graph: Any, stored: dict[str, Any], weights: str) -> Array:
    """Work a BatchNormalization behind the layer into its bias and drop it. Returns the factor of each output that the weights need."""
    layer = next(node for node in graph.node if weights in node.input)
    behind = [node for node in graph.node if layer.output[0] in node.input]
    if [node.op_type for node in behind] != ["BatchNormalization"]:
        return np.ones(1, np.float32)
    gamma, beta, mean, variance = (numpy_helper.to_array(stored[name]) for name in behind[0].input[1:])
    gain = gamma / np.sqrt(variance + _options(behind[0]).get("epsilon", 1e-5))
    bias = (numpy_helper.to_array(stored[layer.input[2]]) - mean) * gain + beta
    graph.initializer.remove(stored[layer.input[2]])
    graph.initializer.append(numpy_helper.from_array(bias.astype(np.float32), layer.input[2]))
    for name in behind[0].input[1:]:
        graph.initializer.remove(stored[name])
    layer.output[0] = behind[0].output[0]
    graph.node.remove(behind[0])
    return np.asarray(gain)


def _in_blocks(node: Any, shape: tuple[int, ...]) -> bool:
    """Whether the node turns many bytes to floats, with a scale for each whole block of a row."""
    if len(shape) != 2 or shape[0] * shape[1] < SMALLEST:
        return False
    options = {"axis": 1, "block_size": 0} | _options(node)
    return bool(options["axis"] == 1 and options["block_size"] > 0 and shape[1] % options["block_size"] == 0)


def _is_layer(node: Any) -> bool:
    """A plain x @ weights.T + bias."""
    options = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0} | _options(node)
    return node.op_type == "Gemm" and len(node.input) == 3 and options == {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1}


def _users(network: Any, name: str) -> list[Any]:
    return [node for node in network.graph.node if name in node.input]


def _options(node: Any) -> dict[str, Any]:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}
