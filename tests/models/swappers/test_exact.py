"""A network that overflows at half precision goes on in single precision, says so once, and begins with it the next time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError, NumbersError
from realtime.models.convert.widen import widen
from realtime.models.swappers.aligned import AlignedSwapper, SwapIdentity
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.planar import PlanarNetwork
from realtime.models.swappers.select import SwapOptions, open_swapper
from realtime.models.swappers.sources import Nothing
from tests.models.swappers import scene
from tests.twins.swappers import twin

TARGET = "p006_studio"


def overflowing() -> Any:
    """The half-precision twin, with a detour over numbers that only single precision holds."""
    model = twin("inswapper_128_fp16")
    model.graph.initializer.insert(0, onnx.numpy_helper.from_array(np.float32(1e6), "large"))
    model.graph.node[-1].output[0] = "sound"
    to = {"Cast": [onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT]}
    for kind, takes, gives in (("Mul", "sound", "far"), ("Cast", "far", "half"), ("Cast", "half", "back"), ("Div", "back", "output")):
        inputs = [takes] if kind in to else [takes, "large"]
        more = {"to": to[kind].pop(0)} if kind in to else {}
        model.graph.node.append(onnx.helper.make_node(kind, inputs, [gives], name=gives, **more))
    return model


def _swapped(path: Path, said: list[str]) -> np.ndarray:
    swapper = open_swapper(path, SwapOptions(), scene.surroundings(path.parent, notify=said.append))
    swapper.use(swapper.fit([scene.photo("p001_studio")]))
    image, points = scene.picture(TARGET)
    return scene.shown(image, swapper.swap(image, scene.face(points)))


def test_a_network_that_overflows_goes_on_in_fp32_and_is_remembered(tmp_path: Path) -> None:
    scene.companions(tmp_path)
    path, sound = scene.save(tmp_path, "hot.onnx", overflowing()), scene.save(tmp_path, "sound.onnx", twin("inswapper_128"))
    said: list[str] = []
    first = _swapped(path, said)
    assert len(said) == 1 and "hot.onnx gives no picture at its precision" in said[0]
    assert np.abs(first.astype(int) - _swapped(sound, said)).max() <= 2
    np.testing.assert_array_equal(_swapped(path, said), first)
    assert len(said) == 1
    assert Exact(tmp_path / "exact", said.append).needed(path)
    scene.save(tmp_path, "hot.onnx", twin("inswapper_128_fp16"))
    assert not Exact(tmp_path / "exact", said.append).needed(path)


def test_widened_networks_compute_the_same_in_single_precision() -> None:
    model = widen(twin("inswapper_128_fp16"))
    onnx.checker.check_model(model, full_check=True)
    assert not any(weight.data_type == onnx.TensorProto.FLOAT16 for weight in model.graph.initializer)


def _network(*script: Step, level: float = 0.5) -> PlanarNetwork:
    face, source = spec("target", 1, 3, 128, 128), spec("source", 1, 512)
    session = FakeSession([face, source], [spec("output", 1, 3, 128, 128)], lambda _: {"output": np.full((1, 3, 128, 128), level)}, script)
    return PlanarNetwork(session, CONTRACTS["inswapper"], Nothing())


def _ready(network: PlanarNetwork, **more: Any) -> AlignedSwapper:
    swapper = AlignedSwapper(network, **more)
    swapper.use(SwapIdentity("", np.zeros((1, 512), np.float32)))
    return swapper


@pytest.mark.parametrize("level", [0.0, -3.0, float("inf"), 1e9])
def test_black_and_huge_outputs_are_no_picture(level: float) -> None:
    image, points = scene.picture(TARGET)
    with pytest.raises(ModelError, match="gives no picture"):
        _ready(_network(level=level)).swap(image, scene.face(points))
    swapper = _ready(_network(level=level), fallback=lambda: _network(level=0.5))
    patch = swapper.swap(image, scene.face(points))
    assert patch is not None and abs(int(patch.colour[patch.alpha > 250].mean()) - 128) <= 1


def test_nan_in_one_pixel_is_enough() -> None:
    image, points = scene.picture(TARGET)
    swapper = _ready(_network(Step(), Step(nan=True)))
    assert swapper.swap(image, scene.face(points)) is not None
    with pytest.raises(NumbersError, match="gives no picture"):
        swapper.swap(image, scene.face(points))


def test_a_black_face_may_come_out_black() -> None:
    image, points = scene.picture(TARGET)
    assert _ready(_network(level=0.0)).swap(np.zeros_like(image), scene.face(points)) is not None


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    blocked, said = tmp_path / "file", []
    blocked.write_bytes(b"")
    exact = Exact(blocked, said.append)
    exact.remember(blocked)
    assert len(said) == 1 and not exact.needed(blocked)
    assert exact.file(blocked, half=False) == blocked
    with pytest.raises(ModelError, match="has no fp32 form here"):
        exact.file(blocked, half=True)
