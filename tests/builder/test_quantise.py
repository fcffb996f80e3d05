"""8 bits in small networks, run for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.backends.openvino import OpenVinoSession
from realtime.builder import quantise
from realtime.builder.ranges import LEVELS, Magnitudes, symmetric
from realtime.errors import ModelError
from realtime.types import Array
from tests.builder.running import output, samples_of, scaled
from tests.twins.inswapper import full_twin, random_twin


@pytest.mark.parametrize("unsigned", [False, True])
def test_int8_runs_and_is_close(twin: Path, tmp_path: Path, unsigned: bool) -> None:
    target, samples = tmp_path / "int8.onnx", samples_of(twin)
    quantise.int8(twin, target, samples, unsigned=unsigned)
    want = output(OnnxRuntimeSession(twin), samples[0])
    got = output(OnnxRuntimeSession(target) if unsigned else OpenVinoSession(target), samples[0])
    assert 0 < float(np.abs(got - want).mean()) < 0.05 * float(np.ptp(want))


def test_signed_int8_is_the_form_that_tensorrt_parses(twin: Path, tmp_path: Path) -> None:
    """Symmetric, signed, weights quantised by nodes, biases left in fp32."""
    target = tmp_path / "int8.onnx"
    quantise.int8(twin, target, samples_of(twin))
    model = onnx.load(target)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    zeros = [constants[node.input[2]] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert zeros and all(zero.dtype == np.int8 and not zero.any() for zero in zeros)
    assert not any(value.dtype == np.int32 for value in constants.values())


def test_weights_have_a_scale_for_each_channel_and_activations_the_range_that_costs_least(
    twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, found = tmp_path / "int8.onnx", quantise.ranges.symmetric
    ranges: dict[str, Any] = {}
    monkeypatch.setattr(quantise.ranges, "symmetric", lambda values: ranges.update(found(values)) or ranges)
    quantise.int8(twin, target, samples_of(twin))
    graph = onnx.load(target).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    scales = {node.input[0]: constants[node.input[1]] for node in graph.node if node.op_type == "QuantizeLinear"}
    weights = [name for name in scales if name in constants]
    assert weights and all(scales[name].shape == (constants[name].shape[0],) for name in weights)
    activations = scales.keys() - set(weights)
    assert activations and activations <= ranges.keys()
    assert all(scales[name] == pytest.approx(ranges[name][0]["rmax"] / LEVELS, rel=0.01) for name in activations)


def test_first_and_last_layers_keep_their_precision(twin: Path, tmp_path: Path) -> None:
    """Those that see the picture or the latent; the last one is a transposed convolution, which is never quantised."""
    target = tmp_path / "int8.onnx"
    quantise.int8(twin, target, samples_of(twin))
    nodes = onnx.load(target).graph.node
    made = {name: node.op_type for node in nodes for name in node.output}
    kinds = {node.name: made.get(node.input[0], "input") for node in nodes if node.op_type in ("Conv", "MatMul")}
    assert kinds == {"down": "input", "style": "input", "mix": "DequantizeLinear"}


def test_a_network_of_outermost_layers_alone_is_quantised_whole(tmp_path: Path) -> None:
    source, target = scaled(tmp_path / "a.onnx", 1.0), tmp_path / "int8.onnx"
    quantise.int8(source, target, samples_of(source))
    assert sum(node.op_type == "QuantizeLinear" for node in onnx.load(target).graph.node) >= 4


def test_nothing_to_quantise_is_a_sentence(tmp_path: Path) -> None:
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    source = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    with pytest.raises(ModelError, match="could be quantised"):
        quantise.int8(source, tmp_path / "int8.onnx", samples_of(source))


def _layers(file: Path) -> dict[str, tuple[str, list[str]]]:
    """For each layer what it is fed by, and what takes its output."""
    nodes = onnx.load(file).graph.node
    made = {name: node.op_type for node in nodes for name in node.output}
    takers = {name: [node.op_type for node in nodes if name in node.input] for node in nodes for name in node.output}
    return {node.name: (made.get(node.input[0], "input"), takers[node.output[0]]) for node in nodes if node.op_type in ("Conv", "Gemm")}


def test_what_a_layer_gives_is_rounded_once(tmp_path: Path) -> None:
    """Activations and norms get it whole; the layer behind them takes 8 bits."""
    source, target = tmp_path / "twin.onnx", tmp_path / "int8.onnx"
    onnx.save(full_twin(1 / 32), source)
    quantise.int8(source, target, samples_of(source, 2))
    onnx.checker.check_model(onnx.load(target))
    inner = {name: layer for name, layer in _layers(target).items() if layer[0] == "DequantizeLinear"}
    assert len(inner) > 12
    assert {taker for _, takers in inner.values() for taker in takers} == {"LeakyRelu", "Sub", "ReduceMean"}


def _meeting(path: Path) -> Path:
    """Two convolutions of one, whose sum goes through a pool into the next."""
    random = np.random.default_rng(3)
    filters = [random.standard_normal((8, count, 3, 3)).astype(np.float32) / 5 for count in (3, 8, 8, 8, 8)]
    weights = [numpy_helper.from_array(each, f"w{index}") for index, each in enumerate(filters)]

    def conv(index: int, into: str) -> Any:
        return helper.make_node("Conv", [into, f"w{index}"], [f"c{index}"], name=f"conv{index}", pads=[1] * 4)

    nodes = [
        conv(0, "x"), helper.make_node("Relu", ["c0"], ["r"], name="relu"), conv(1, "r"), conv(2, "r"),
        helper.make_node("Add", ["c1", "c2"], ["sum"], name="add"), conv(3, "sum"),
        helper.make_node("MaxPool", ["c3"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]), conv(4, "p"),
    ]  # fmt: skip
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 3, 16, 16]), ("c4", [1, 8, 8, 8]))]
    graph = helper.make_graph(nodes, "meeting", ports[:1], ports[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_branches_that_meet_and_pools_keep_8_bits(tmp_path: Path) -> None:
    source, target = _meeting(tmp_path / "a.onnx"), tmp_path / "int8.onnx"
    quantise.int8(source, target, samples_of(source))
    takers = {name: layer[1] for name, layer in _layers(target).items()}
    assert takers["conv1"] == takers["conv2"] == takers["conv3"] == ["QuantizeLinear"]
    sample = samples_of(source)[0]
    want, got = output(OnnxRuntimeSession(source), sample), output(OpenVinoSession(target), sample)
    assert 0 < float(np.abs(got - want).mean()) < 0.05 * float(np.ptp(want))


def test_a_network_in_half_precision_can_be_brought_to_8_bits(tmp_path: Path) -> None:
    source, target = tmp_path / "half.onnx", tmp_path / "int8.onnx"
    onnx.save(random_twin(element=TensorProto.FLOAT16), source)
    random = np.random.default_rng(0)
    sample = {"target": random.uniform(0, 1, (1, 3, 128, 128)).astype(np.float16), "source": np.full((1, 512), 0.04, np.float16)}
    quantise.int8(source, target, [sample])
    assert _layers(target)["mix"][0] == "DequantizeLinear"


def _rounded(values: Array, most: float) -> Any:
    step = most / LEVELS
    return np.clip(np.rint(values / step), -LEVELS, LEVELS) * step


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.sampled_from(["normal", "laplace", "uniform"]))
def test_a_range_is_the_one_that_costs_least(seed: int, scale: float, kind: str) -> None:
    """In the mean square, of values that came in several pieces."""
    values = (getattr(np.random.default_rng(seed), kind)(size=20000) * scale).astype(np.float32)
    found = Magnitudes()
    for piece in np.split(values, 4):
        found.add(piece)
    most, largest = found.threshold(), float(np.abs(values).max())
    assert 0 < most <= largest * 1.001
    chosen, *others = (float(np.mean((values - _rounded(values, each)) ** 2)) for each in (most, *np.linspace(0.3, 1.2, 30) * largest))
    assert chosen < min(others) * 1.02


def test_a_lone_value_far_out_is_cut_off_only_when_that_pays() -> None:
    many, few = Magnitudes(), Magnitudes()
    for found, count in ((many, 10**6), (few, 100)):
        found.add(np.append(np.random.default_rng(1).standard_normal(count).astype(np.float32), np.float32(40)))
    assert many.threshold() < 30 and few.threshold() > 39


def test_zeros_and_what_is_no_number_set_no_range() -> None:
    nothing = np.zeros(10, np.float32)
    odd = np.array([1, -2, np.inf, np.nan], np.float32)
    ranges = symmetric([{"a": nothing, "b": nothing}, {"a": nothing, "b": odd}])
    assert ranges.keys() == {"b"}
    assert -ranges["b"][0]["rmin"] == ranges["b"][0]["rmax"] == pytest.approx(2, rel=0.1)
