"""Fully connected layers that keep their bytes compute what they did."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from realtime.models.convert.dense import SMALLEST, compact, dense_weights
from realtime.models.convert.fold import fold

OUTPUTS, BLOCK = 8, 64
INPUTS = SMALLEST // OUTPUTS // BLOCK * BLOCK + BLOCK


def layer(*, normalised: bool, inputs: int = INPUTS) -> onnx.ModelProto:
    """`inputs` numbers to 8, the weights as int8 in blocks of 64, perhaps with a batch normalisation behind."""
    rng = np.random.default_rng(5)
    blocks = (OUTPUTS, inputs // BLOCK)
    values = {
        "w": rng.integers(-128, 128, (OUTPUTS, inputs), np.int8),
        "scale": (rng.random(blocks) * 0.01).astype(np.float32),
        "zero": rng.integers(-128, 128, blocks, np.int8),
        "bias": rng.normal(size=OUTPUTS).astype(np.float32),
    }
    values |= {name: rng.uniform(0.5, 2, OUTPUTS).astype(np.float32) for name in ("gamma", "beta", "mean", "variance") if normalised}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["floats"], axis=1, block_size=BLOCK),
        helper.make_node("Gemm", ["x", "floats", "bias"], ["sum" if normalised else "y"], transB=1),
    ]
    if normalised:
        nodes.append(helper.make_node("BatchNormalization", ["sum", "gamma", "beta", "mean", "variance"], ["y"], epsilon=1e-3))
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, OUTPUTS])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_same_result_from_bytes(normalised: bool) -> None:
    network = layer(normalised=normalised)
    x = np.random.default_rng(6).normal(size=(1, INPUTS)).astype(np.float32)
    before = ReferenceEvaluator(network).run(["y"], {"x": x})[0]
    size = network.ByteSize()
    names = dense_weights(network)
    assert names == {"floats"}
    smaller = compact(fold(network, but=names), names)
    onnx.checker.check_model(smaller)
    assert [node.op_type for node in smaller.graph.node] == ["Cast", "Cast", "Sub", "Mul", "Reshape", "Gemm"]
    assert smaller.ByteSize() < size + 2000
    np.testing.assert_allclose(ReferenceEvaluator(smaller).run(["y"], {"x": x})[0], before, rtol=1e-4, atol=1e-2)


def test_small_layers_and_shared_weights_are_folded() -> None:
    assert not dense_weights(layer(normalised=False, inputs=BLOCK))
    shared = layer(normalised=False)
    shared.graph.node.append(helper.make_node("Gemm", ["x", "floats", "bias"], ["z"], transB=1))
    assert not dense_weights(shared)
