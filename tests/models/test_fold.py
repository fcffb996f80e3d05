"""Folding quantised weights, and giving a network another input size."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from realtime.models.convert.fold import dequantise, fold

RNG = np.random.default_rng(3)


def quantised_conv(*, block: bool) -> onnx.ModelProto:
    """A 1x1 convolution of 6 to 4 channels whose weights are stored as int8: in blocks of 3, or with one scale per row."""
    weights, zero = RNG.integers(-100, 100, (4, 6), np.int8), RNG.integers(-5, 5, (4, 2) if block else 4, np.int8)
    scale = RNG.random((4, 2) if block else 4).astype(np.float32)
    options = {"axis": 1, "block_size": 3} if block else {"axis": 0}
    values = {"w": weights, "scale": scale, "zero": zero, "shape": np.array([4, 6, 1, 1]), "bias": np.zeros(4, np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["floats"], **options),
            helper.make_node("Reshape", ["floats", "shape"], ["kernels"]),
            helper.make_node("Conv", ["x", "kernels", "bias"], ["y"]),
        ],
        "conv",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, 3, 3]),
            helper.make_tensor_value_info("bias", TensorProto.FLOAT, [4]),
            helper.make_tensor_value_info("stale", TensorProto.FLOAT, [4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 3, 3])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("block", [True, False])
def test_the_folded_network_computes_the_same_with_nothing_but_floats(block: bool) -> None:
    network = quantised_conv(block=block)
    x = RNG.normal(size=(1, 6, 3, 3)).astype(np.float32)
    before = ReferenceEvaluator(network).run(["y"], {"x": x, "bias": np.zeros(4, np.float32), "stale": np.zeros(4, np.float32)})[0]
    folded = fold(network)
    onnx.checker.check_model(folded)
    assert [node.op_type for node in folded.graph.node] == ["Conv"]
    assert [item.name for item in folded.graph.input] == ["x"]
    assert sorted(item.name for item in folded.graph.initializer) == ["bias", "kernels"]
    np.testing.assert_allclose(ReferenceEvaluator(folded).run(["y"], {"x": x})[0], before, rtol=1e-6, atol=1e-4)


def test_one_scale_for_all() -> None:
    values = np.array([[-1, 2], [3, 4]], np.int8)
    np.testing.assert_array_equal(dequantise(values, np.float32(0.5), np.int8(1)), [[-1, 0.5], [1, 1.5]])


def test_the_last_block_may_be_short() -> None:
    values, scale = np.ones((1, 5), np.int8), np.array([[1, 10, 100]], np.float32)
    np.testing.assert_array_equal(dequantise(values, scale, axis=1, block=2), [[1, 1, 10, 10, 100]])
