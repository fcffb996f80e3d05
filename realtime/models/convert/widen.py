"""A half-precision network in single precision: what a run falls back to when numbers grow beyond 65504."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def widen(network: Any) -> Any:
    """The onnx.ModelProto, changed in place: every float16 tensor is float32, inputs and outputs too, and so are casts to float16."""
    from onnx import TensorProto

    graph = network.graph
    del graph.value_info[:]  # says float16 of what no longer is
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for tensor in (*graph.initializer, *_constants(graph)):
        _widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
    return network


def _constants(graph: Any) -> Iterator[Any]:
    """Tensors that nodes hold as attributes."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


def _widen_tensor(tensor: Any) -> None:
    from onnx import TensorProto, numpy_helper

    if tensor.data_type == TensorProto.FLOAT16:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
