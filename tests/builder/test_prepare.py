"""Half precision of small networks, run for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.builder import prepare
from realtime.errors import ModelError
from tests.builder.running import output, samples_of, scaled
from tests.twins.inswapper import full_twin


def test_half_precision_keeps_fp32_ports_and_the_result(twin: Path, tmp_path: Path) -> None:
    target, samples = tmp_path / "half.onnx", samples_of(twin)
    assert prepare.fp16(twin, target, samples) == []
    half = onnx.load(target)
    onnx.checker.check_model(half)
    assert {v.type.tensor_type.elem_type for v in [*half.graph.input, *half.graph.output]} == {TensorProto.FLOAT}
    assert any(t.data_type == TensorProto.FLOAT16 for t in half.graph.initializer)
    assert target.stat().st_size < 0.7 * twin.stat().st_size
    np.testing.assert_allclose(output(OnnxRuntimeSession(target), samples[0]), output(OnnxRuntimeSession(twin), samples[0]), atol=0.02)


def test_reductions_stay_fp32(tmp_path: Path) -> None:
    source, target = scaled(tmp_path / "a.onnx", 1.0), tmp_path / "half.onnx"
    prepare.fp16(source, target, samples_of(source))
    half = onnx.load(target)
    pool = next(node for node in half.graph.node if node.op_type == "GlobalAveragePool")
    assert any(node.op_type == "Cast" and pool.input[0] in node.output for node in half.graph.node)


@pytest.mark.parametrize("operator", ["InstanceNormalization", "LpNormalization", "ReduceMean", "Softmax", "Exp", "Pow"])
def test_norms_reductions_and_what_grows_fast_stay_fp32(tmp_path: Path, operator: str) -> None:
    """Between two products, which do not."""
    more = {"InstanceNormalization": ["scale", "bias"], "Pow": ["scale"]}.get(operator, [])
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"], name="before"),
        helper.make_node(operator, ["a", *more], ["b"], name="within"),
        helper.make_node("Mul", ["b", "w"], ["y"], name="after"),
    ]
    constants = [numpy_helper.from_array(np.ones(1, np.float32), name) for name in ("w", "scale", "bias")[: 1 + len(more)]]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 4, 4] if name == "x" else None) for name in "xy"]
    graph = helper.make_graph(nodes, "one", ports[:1], ports[1:], constants)
    source, target = tmp_path / "a.onnx", tmp_path / "half.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    prepare.fp16(source, target, [])
    half = onnx.shape_inference.infer_shapes(onnx.load(target)).graph
    kinds = {value.name: value.type.tensor_type.elem_type for value in [*half.value_info, *half.output]}
    given = {node.name: kinds[node.output[0]] for node in half.node if node.op_type in ("Mul", operator)}
    assert given == {"before": TensorProto.FLOAT16, "within": TensorProto.FLOAT, "after": TensorProto.FLOAT16}


def test_values_beyond_half_precision_stay_fp32(tmp_path: Path) -> None:
    source, target = scaled(tmp_path / "a.onnx", 40000.0, 1 / 40000), tmp_path / "half.onnx"
    samples = samples_of(source)
    assert prepare.fp16(source, target, samples) == ["enlarge", "shrink"]
    weights = {tensor.name.split("_")[0]: tensor.data_type for tensor in onnx.load(target).graph.initializer}
    assert weights == {"w": TensorProto.FLOAT, "g": TensorProto.FLOAT}, "ONNX Runtime leaves casts out, others do not"
    got, want = output(OnnxRuntimeSession(target), samples[0]), output(OnnxRuntimeSession(source), samples[0])
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, want, atol=0.01)


def test_weights_beyond_half_precision_are_named(tmp_path: Path) -> None:
    source = scaled(tmp_path / "a.onnx", 1e6)
    with pytest.raises(ModelError, match="the weight w reaches 1e\\+06"):
        prepare.fp16(source, tmp_path / "half.onnx", samples_of(source))


def test_the_large_twin_is_a_swap_network_with_a_matrix_at_its_end(tmp_path: Path) -> None:
    """What the benchmark of engines measures, narrow."""
    model = full_twin(1 / 32)
    onnx.checker.check_model(model)
    assert model.graph.initializer[-1].name == "emap"
    onnx.save(model, tmp_path / "twin.onnx")
    with OnnxRuntimeSession(tmp_path / "twin.onnx") as session:
        assert {spec.name: spec.shape for spec in session.specs.inputs} == {"target": (1, 3, 128, 128), "source": (1, 512)}
        face, latents = np.full((1, 3, 128, 128), 0.5, np.float32), np.eye(512, dtype=np.float32)
        outputs = [session.run({"target": face, "source": latents[None, index]})["output"].copy() for index in (0, 1)]
    assert 0.01 < np.abs(outputs[0] - face).mean() < 0.25
    assert np.abs(outputs[0] - outputs[1]).mean() > 1e-4
