"""Tiny ONNX files for the backends' tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def affine(path: Path, *, batch: int | str = 1, width: int | str = 4) -> Path:
    """y = 2 x + 1 and z = -x on (batch, width) float32."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, width])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, width]) for name in ("y", "z")]
    constants = [numpy_helper.from_array(np.float32(value), name) for name, value in (("two", 2), ("one", 1))]
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"]),
        helper.make_node("Add", ["doubled", "one"], ["y"]),
        helper.make_node("Neg", ["x"], ["z"]),
    ]
    graph = helper.make_graph(nodes, "affine", [x], outputs, constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def brightest() -> bytes:
    """The greatest byte of a frame of any size, as one float."""
    frame = helper.make_tensor_value_info("frame", TensorProto.UINT8, ["height", "width", 3])
    output = helper.make_tensor_value_info("brightest", TensorProto.FLOAT, [1])
    nodes = [
        helper.make_node("Cast", ["frame"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["floats"], ["most"], keepdims=0),
        helper.make_node("Unsqueeze", ["most", "axis"], ["brightest"]),
    ]
    axis = numpy_helper.from_array(np.zeros(1, np.int64), "axis")
    graph = helper.make_graph(nodes, "brightest", [frame], [output], [axis])
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
