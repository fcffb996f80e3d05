"""Lower precisions of small networks, run for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.backends.openvino import OpenVinoSession
from realtime.builder import prepare
from realtime.errors import ModelError
from realtime.types import Array
from tests.twins.inswapper import full_twin


def _samples(path: Path, count: int = 4) -> list[dict[str, Array]]:
    random = np.random.default_rng(0)
    with OnnxRuntimeSession(path) as session:
        specs = session.specs.inputs
    return [{spec.name: random.uniform(-1, 1, spec.shape).astype(np.float32) for spec in specs} for _ in range(count)]


def _output(session: OnnxRuntimeSession | OpenVinoSession, sample: dict[str, Array]) -> Array:
    with session:
        return next(iter(session.run(sample).values())).copy()


def _scaled(path: Path, weight: float, gain: float = 1.0) -> Path:
    """y = mean over the pixels of (weight x) * gain, (1, 4, 8, 8) to (1, 4, 1, 1); the product is called `large`."""
    constants = [numpy_helper.from_array(np.full((4, 4, 1, 1), value, np.float32), name) for name, value in (("w", weight), ("g", gain))]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["large"], name="enlarge"),
        helper.make_node("Conv", ["large", "g"], ["small"], name="shrink"),
        helper.make_node("GlobalAveragePool", ["small"], ["y"], name="mean"),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 4, 8, 8]), ("y", [1, 4, 1, 1]))]
    graph = helper.make_graph(nodes, "scaled", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_half_precision_keeps_fp32_ports_and_the_result(twin: Path, tmp_path: Path) -> None:
    target, samples = tmp_path / "half.onnx", _samples(twin)
    assert prepare.fp16(twin, target, samples) == []
    half = onnx.load(target)
    onnx.checker.check_model(half)
    assert {v.type.tensor_type.elem_type for v in [*half.graph.input, *half.graph.output]} == {TensorProto.FLOAT}
    assert any(t.data_type == TensorProto.FLOAT16 for t in half.graph.initializer)
    assert target.stat().st_size < 0.7 * twin.stat().st_size
    np.testing.assert_allclose(_output(OnnxRuntimeSession(target), samples[0]), _output(OnnxRuntimeSession(twin), samples[0]), atol=0.02)


def test_reductions_stay_fp32(tmp_path: Path) -> None:
    source, target = _scaled(tmp_path / "a.onnx", 1.0), tmp_path / "half.onnx"
    prepare.fp16(source, target, _samples(source))
    half = onnx.load(target)
    pool = next(node for node in half.graph.node if node.op_type == "GlobalAveragePool")
    assert any(node.op_type == "Cast" and pool.input[0] in node.output for node in half.graph.node)


def test_values_beyond_half_precision_stay_fp32(tmp_path: Path) -> None:
    source, target = _scaled(tmp_path / "a.onnx", 40000.0, 1 / 40000), tmp_path / "half.onnx"
    samples = _samples(source)
    assert prepare.fp16(source, target, samples) == ["enlarge", "shrink"]
    got, want = _output(OnnxRuntimeSession(target), samples[0]), _output(OnnxRuntimeSession(source), samples[0])
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, want, atol=0.01)


def test_weights_beyond_half_precision_are_named(tmp_path: Path) -> None:
    source = _scaled(tmp_path / "a.onnx", 1e6)
    with pytest.raises(ModelError, match="the weight w reaches 1e\\+06"):
        prepare.fp16(source, tmp_path / "half.onnx", _samples(source))


@pytest.mark.parametrize("unsigned", [False, True])
def test_int8_runs_and_is_close(twin: Path, tmp_path: Path, unsigned: bool) -> None:
    target, samples = tmp_path / "int8.onnx", _samples(twin)
    prepare.int8(twin, target, samples, unsigned=unsigned)
    want = _output(OnnxRuntimeSession(twin), samples[0])
    got = _output(OnnxRuntimeSession(target) if unsigned else OpenVinoSession(target), samples[0])
    assert 0 < float(np.abs(got - want).mean()) < 0.05 * float(np.ptp(want))


def test_signed_int8_is_the_form_that_tensorrt_parses(twin: Path, tmp_path: Path) -> None:
    """Symmetric, signed, weights quantised by nodes, biases left in fp32."""
    target = tmp_path / "int8.onnx"
    prepare.int8(twin, target, _samples(twin))
    model = onnx.load(target)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    zeros = [constants[node.input[2]] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert zeros and all(zero.dtype == np.int8 and not zero.any() for zero in zeros)
    assert not any(value.dtype == np.int32 for value in constants.values())


def test_first_and_last_layers_keep_their_precision(twin: Path, tmp_path: Path) -> None:
    """Those that see the picture or the latent; the last one is a transposed convolution, which is never quantised."""
    target = tmp_path / "int8.onnx"
    prepare.int8(twin, target, _samples(twin))
    nodes = onnx.load(target).graph.node
    made = {name: node.op_type for node in nodes for name in node.output}
    kinds = {node.name: made.get(node.input[0], "input") for node in nodes if node.op_type in ("Conv", "MatMul")}
    assert kinds == {"down": "input", "style": "input", "mix": "DequantizeLinear"}


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


def test_a_network_of_outermost_layers_alone_is_quantised_whole(tmp_path: Path) -> None:
    source, target = _scaled(tmp_path / "a.onnx", 1.0), tmp_path / "int8.onnx"
    prepare.int8(source, target, _samples(source))
    assert sum(node.op_type == "QuantizeLinear" for node in onnx.load(target).graph.node) >= 4


def test_nothing_to_quantise_is_a_sentence(tmp_path: Path) -> None:
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    source = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    with pytest.raises(ModelError, match="could be quantised"):
        prepare.int8(source, tmp_path / "int8.onnx", _samples(source))
