"""Foreign networks, made ready to become part of a graph of ours: one opset, no clashing names, no surprises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import compose, helper, inliner, version_converter

from realtime.errors import ModelError
from realtime.graphs.builder import OPSET, Graph, Value

_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a network. A dimension that is not fixed is 0; a shape that is not stated is empty."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def is_square_image(self) -> bool:
        """Three planes of one fixed side; the batch may be open."""
        return len(self.shape) == 4 and self.shape[1] == 3 and self.shape[2] == self.shape[3] > 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def load(network: Path | Any) -> Any:
    """An onnx.ModelProto of the caller's own: read from a file, weights beside it included, or a copy of one in memory.

    Raises ModelError when the file cannot be read or is no ONNX model.
    """
    if not isinstance(network, Path):
        copy = onnx.ModelProto()
        copy.CopyFrom(network)
        return copy
    try:
        model = onnx.load(network)
    except Exception as error:  # a broken file surfaces as protobuf's, onnx's or the system's errors
        raise _unreadable(network) from error
    if not model.graph.output:  # an empty file is a valid, empty message
        raise _unreadable(network)
    return model


def _unreadable(path: Path) -> ModelError:
    return ModelError(f"{path.name} cannot be read as an ONNX model with its weights: get the file anew")


def opset(network: Any) -> int:
    """The version of the standard operators that a model is written in."""
    return max((int(entry.version) for entry in network.opset_import if entry.domain in _STANDARD), default=1)


def common_opset(*networks: Any) -> int:
    """The version in which a graph that holds all these must be written: ours or the newest of theirs."""
    return max(OPSET, *(opset(network) for network in networks))


def inputs(network: Any) -> list[Port]:
    """What a model wants to be fed; old files list their weights as inputs too, which these are not."""
    weights = {weight.name for weight in network.graph.initializer}
    return [_port(value) for value in network.graph.input if value.name not in weights]


def outputs(network: Any) -> list[Port]:
    return [_port(value) for value in network.graph.output]


def prepare(network: Any, prefix: str, version: int) -> Any:
    """The model with every name prefixed, in opset `version`, without local functions. Works in place where it can.

    Raises ModelError when the model cannot be brought to that opset.
    """
    try:
        if network.functions:
            network = inliner.inline_local_functions(network)
        if opset(network) < version:
            network = version_converter.convert_version(network, version)
    except Exception as error:  # the converter raises RuntimeError, or its own kinds without a common base
        raise ModelError(f"the network {prefix.strip('/')} cannot be brought from opset {opset(network)} to {version}: {error}") from error
    return compose.add_prefix(network, prefix, rename_functions=False, inplace=True)


def splice(graph: Graph, network: Any, prefix: str, feeds: dict[str, Value]) -> dict[str, Value]:
    """Put a loaded model into the graph: its outputs by their own names, as float32 whatever its own type is.

    `feeds` are float32 values by the network's input names. The model is used up. Raises ModelError when they are not all its inputs.
    """
    ports = inputs(network)
    if {port.name for port in ports} != set(feeds):
        raise ModelError(f"the network wants the inputs {[port.name for port in ports]}, not {sorted(feeds)}")
    produced = outputs(network)
    network = prepare(network, prefix, graph.opset)
    results = graph.splice(network, {prefix + port.name: _cast(feeds[port.name], port, port.dtype) for port in ports})
    return {port.name: _cast(results[prefix + port.name], port, np.dtype(np.float32)) for port in produced}


def _cast(value: Value, port: Port, dtype: np.dtype[Any]) -> Value:
    """From or to float32 at a port that is of another type."""
    return value if port.dtype == np.float32 else value.cast(dtype.type)


def _port(value: Any) -> Port:
    tensor = value.type.tensor_type
    shape = tuple(int(dim.dim_value) for dim in tensor.shape.dim)
    return Port(value.name, shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
