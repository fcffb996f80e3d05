"""Networks as machine code of our own: equal to ONNX Runtime, or refused."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.backends.base import UnavailableError
from realtime.backends.native.session import NativeSession
from realtime.backends.select import open_session

AFTER, SAME = [0, 0, 1, 1], [1, 1, 1, 1]


class Network:
    """Writes a network of the kind that there are kernels for, with random weights."""

    def __init__(self, height: int = 24, width: int = 36) -> None:
        self._rng = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.input = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, height, width])
        self.outputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def constant(self, *shape: int, values: np.ndarray | None = None) -> str:
        name = f"c{len(self.constants)}"
        scale = 1.0 / np.sqrt(max(1, int(np.prod(shape[1:]))))
        data = self._rng.normal(0, scale, shape).astype(np.float32) if values is None else values
        self.constants.append(numpy_helper.from_array(data, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        self._count += 1
        name = f"{kind}{self._count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def conv(self, x: str, out: int, into: int, kernel: int, pads: list[int], stride: int = 1, group: int = 1) -> str:
        weights, biases = self.constant(out, into // group, kernel, kernel), self.constant(out)
        return self.node("Conv", x, weights, biases, kernel_shape=[kernel] * 2, pads=pads, strides=[stride] * 2, group=group)

    def prelu(self, x: str, channels: int) -> str:
        return self.node("PRelu", x, self.constant(channels, 1, 1))

    def block(self, x: str, channels: int, wanted: int | None = None, halving: bool = False) -> str:
        wanted = wanted or channels
        deep = self.conv(x, channels, channels, 3, AFTER if halving else SAME, 2 if halving else 1, channels)
        wide, own = self.conv(deep, wanted, channels, 1, [0] * 4), x
        if halving:
            own = self.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        if wanted != channels:
            pads = self.constant(values=np.array([0, 0, 0, 0, 0, wanted - channels, 0, 0], np.int64))
            own = self.node("Pad", own, pads)
        return self.prelu(self.node("Add", own, wide), wanted)

    def output(self, x: str, shape: list[int]) -> None:
        self.outputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, shape))

    def save(self, path: Path) -> Path:
        graph = helper.make_graph(self.nodes, "network", [self.input], self.outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


def typical(height: int = 24, width: int = 24, outputs: tuple[int, ...] = (5, 70)) -> Network:
    """Every kind of layer; widths that are no multiple of six or three among them."""
    net = Network(height, width)
    x = net.prelu(net.conv("image", 16, 3, 3, AFTER, stride=2), 16)
    x = net.block(net.block(x, 16), 16, 32, halving=True)
    x = net.block(net.block(net.block(x, 32), 32, 32, halving=True), 32)
    x = net.prelu(net.conv(x, 16, 32, 1, [0] * 4), 16)
    for count in outputs:
        flat = net.conv(x, count, 16, height // 8, [0] * 4, stride=height // 8)
        net.output(net.node("Transpose", flat, perm=[0, 2, 3, 1]), [1, 1, 1, count])
    return net


def reference(path: Path, image: np.ndarray) -> list[np.ndarray]:
    return list(onnxruntime.InferenceSession(path).run(None, {"image": image}))


def picture(height: int = 24, width: int = 24) -> np.ndarray:
    return np.random.default_rng(1).uniform(0, 1, (1, 3, height, width)).astype(np.float32)


@pytest.mark.parametrize("side", [24, 48, 72])
def test_every_layer_gives_what_onnx_runtime_gives(tmp_path: Path, side: int) -> None:
    path = typical(side, side).save(tmp_path / "net.onnx")
    with NativeSession(path) as session:
        for _ in range(2):  # the second run finds buffers that were written
            found = session.run({"image": picture(side, side)})
            for own, right in zip(found.values(), reference(path, picture(side, side)), strict=True):
                assert own.shape == right.shape
                np.testing.assert_allclose(own, right, atol=2e-5 * np.abs(right).max())


def test_the_bound_input_is_read_in_place(tmp_path: Path) -> None:
    path = typical().save(tmp_path / "net.onnx")
    session = NativeSession(path)
    session.inputs["image"][...] = picture()
    np.testing.assert_allclose(next(iter(session.run().values())), reference(path, picture())[0], rtol=1e-4, atol=1e-5)


def test_what_is_not_a_number_shows_in_the_result(tmp_path: Path) -> None:
    session = NativeSession(typical().save(tmp_path / "net.onnx"))
    bad = picture()
    bad[0, 1, 10, 10] = np.nan
    assert any(np.isnan(each).any() for each in session.run({"image": bad}).values())
    assert all(np.isfinite(each).all() for each in session.run({"image": picture()}).values())


def test_auto_takes_it_before_openvino_and_leaves_it_what_it_cannot(tmp_path: Path) -> None:
    assert open_session(typical().save(tmp_path / "net.onnx")).backend == "native cpu fp32"
    net = typical()
    net.outputs = [helper.make_tensor_value_info(net.node("Sigmoid", net.outputs[0].name), TensorProto.FLOAT, [1, 1, 1, 5])]
    assert open_session(net.save(tmp_path / "other.onnx")).backend != "native cpu fp32"


def _without(kind: str) -> Network:
    net = typical()
    dropped = next(node for node in net.nodes if node.op_type == kind)
    for node in net.nodes:
        node.input[:] = [dropped.input[0] if name == dropped.output[0] else name for name in node.input]
    net.nodes.remove(dropped)
    return net


def _wider() -> Network:
    net = Network()
    x = net.prelu(net.conv("image", 24, 3, 3, AFTER, stride=2), 24)
    net.output(net.conv(x, 4, 24, 12, [0] * 4), [1, 4, 1, 7])
    return net


def _dilated() -> Network:
    net = typical()
    conv = next(node for node in net.nodes if node.op_type == "Conv" and node.input[0] != "image")
    conv.attribute.append(helper.make_attribute("dilations", [2, 2]))
    return net


def _halved_odd() -> Network:
    net = Network(24, 36)
    x = net.block(net.prelu(net.conv("image", 16, 3, 3, AFTER, stride=2), 16), 16, halving=True)
    net.block(x, 16, halving=True)  # of 6 x 9
    return net


def _padded_by(value: float, **attributes: Any) -> Network:
    """More channels, which begin as something else than zeros."""
    net = typical()
    pad = next(node for node in net.nodes if node.op_type == "Pad")
    pad.input.append(net.constant(values=np.float32(value)))
    pad.attribute.extend(helper.make_attribute(name, given) for name, given in attributes.items())
    return net


REFUSED = {
    "no residual": lambda: _without("Add"),
    "no pooling": lambda: _without("MaxPool"),
    "channels that fill no tile": _wider,
    "a dilated window": _dilated,
    "an odd size": lambda: typical(24, 20),
    "half of an odd size": _halved_odd,
    "channels of ones": lambda: _padded_by(1.0),
    "channels as at the edge": lambda: _padded_by(0.0, mode="edge"),
}


@pytest.mark.parametrize("network", REFUSED.values(), ids=REFUSED.keys())
def test_a_network_with_other_layers_is_refused(tmp_path: Path, network: Any) -> None:
    with pytest.raises(UnavailableError, match="native backend"):
        NativeSession(network().save(tmp_path / "net.onnx"))


@pytest.mark.parametrize("content", [b"", b"PRelu and nothing else", b"\x08\x08PRelu\xff\xff\xff"])
def test_a_file_that_is_no_network_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(UnavailableError):
        NativeSession(path)
    with pytest.raises(UnavailableError):
        NativeSession(tmp_path / "missing.onnx")


def test_a_plan_is_kept_and_made_anew_when_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = typical().save(tmp_path / "net.onnx"), tmp_path / "cache"
    right = {name: each.copy() for name, each in NativeSession(path, cache=cache).run({"image": picture()}).items()}
    (kept,) = cache.iterdir()

    def same() -> bool:
        found = NativeSession(path, cache=cache).run({"image": picture()})
        return all((found[name] == right[name]).all() for name in right)

    kept.write_bytes(kept.read_bytes()[:-100])
    assert same()
    monkeypatch.setattr("realtime.backends.native.plan.read", lambda path: pytest.fail("not read from the cache"))
    assert same()


def test_a_plan_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any, **arrays: Any) -> None:
        file.write(b"as far as it went")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    NativeSession(typical().save(tmp_path / "net.onnx"), cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_network_of_the_same_name_has_a_plan_of_its_own(tmp_path: Path) -> None:
    path, cache = tmp_path / "net.onnx", tmp_path / "cache"
    NativeSession(typical(24, 24).save(path), cache=cache)
    assert NativeSession(typical(48, 48).save(path), cache=cache).specs.inputs[0].shape == (1, 3, 48, 48)
