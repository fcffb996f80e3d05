"""Twins as they come in half precision: what goes in and out is float16."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto, TensorProto, helper


def halved(model: Any) -> Any:
    """A copy of a float32 twin that takes and gives float16; what it computes between stays as it is."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for port in graph.input:
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
        for node in graph.node:
            node.input[:] = [f"{name}_wide" if name == port.name else name for name in node.input]
        graph.node.insert(0, helper.make_node("Cast", [port.name], [f"{port.name}_wide"], to=TensorProto.FLOAT))
    for port in graph.output:
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
        for node in graph.node:
            node.output[:] = [f"{name}_wide" if name == port.name else name for name in node.output]
        graph.node.append(helper.make_node("Cast", [f"{port.name}_wide"], [port.name], to=TensorProto.FLOAT16))
    return made
