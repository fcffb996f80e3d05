"""Stand-ins for ArcFace networks and for converters of embeddings: the same names and shapes, and a known function inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

SIZE, NUMBERS, CELLS = 112, 512, 8
OUTPUT = {"w600k_r50": "683", "w600k_mbf": "516"}
"""The names that the exporter gave the outputs of these two."""


def arcface_twin(name: str = "w600k_r50") -> Any:
    """`input.1` (open batch, 3, 112, 112) in, (1, 512) out: see `embedding_of`."""
    initializers = [
        numpy_helper.from_array(_mix(), "mix"),
        numpy_helper.from_array(np.array([1, 3 * CELLS * CELLS], np.int64), "row"),
    ]
    pool = [SIZE // CELLS] * 2
    nodes = [
        helper.make_node("AveragePool", ["input.1"], ["cells"], name="cells", kernel_shape=pool, strides=pool),
        helper.make_node("Reshape", ["cells", "row"], ["flat"], name="flat"),
        helper.make_node("MatMul", ["flat", "mix"], [OUTPUT[name]], name="mix"),
    ]
    inputs = [helper.make_tensor_value_info("input.1", TensorProto.FLOAT, ["None", 3, SIZE, SIZE])]
    outputs = [helper.make_tensor_value_info(OUTPUT[name], TensorProto.FLOAT, [1, NUMBERS])]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def embedding_of(planes: Array) -> Floats:
    """What `arcface_twin` gives for planes (3, 112, 112): the means of 8 x 8 cells, mixed. Sensitive to place, scale, shift and order."""
    side = SIZE // CELLS
    cells = planes.reshape(3, CELLS, side, CELLS, side).mean((2, 4))
    return np.asarray(cells.ravel() @ _mix(), np.float32)


def _mix() -> Floats:
    return np.random.default_rng(7).standard_normal((3 * CELLS * CELLS, NUMBERS)).astype(np.float32)


def converter_twin() -> Any:
    """`input` (open batch, 512) in, `output` (1, 512) out: see `converted`."""
    turn, shift = _turn()
    initializers = [numpy_helper.from_array(turn, "turn"), numpy_helper.from_array(shift, "shift")]
    nodes = [
        helper.make_node("Gemm", ["input", "turn", "shift"], ["turned"], name="turn"),
        helper.make_node("LeakyRelu", ["turned"], ["output"], name="bend", alpha=0.5),
    ]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", NUMBERS])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, NUMBERS])]
    graph = helper.make_graph(nodes, "converter", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def converted(raw: Array) -> Floats:
    """What `converter_twin` gives for an embedding (512,): because of the summand, not the same for a normalised one."""
    turn, shift = _turn()
    turned = raw @ turn + shift
    return np.where(turned > 0, turned, 0.5 * turned).astype(np.float32)


def _turn() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    return (rng.standard_normal((NUMBERS, NUMBERS)) / 20).astype(np.float32), rng.standard_normal(NUMBERS).astype(np.float32)
