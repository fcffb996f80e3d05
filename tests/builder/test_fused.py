"""The gate of whole graphs, on a runtime that is at hand: what the builder's children do, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.builder import child, fused, gate
from realtime.builder.contract import Contract
from realtime.builder.role import Tools
from realtime.builder.roles import ROLES
from realtime.builder.scenes import Scene, save
from realtime.builder.wrap import wrap
from realtime.types import Image, Region
from realtime.vision import geometry
from tests.twins.inswapper import random_twin
from tests.twins.mesh import mesh_twin


@pytest.fixture
def people(picture: Callable[[str], Image], tmp_path: Path) -> Path:
    images = [picture("p001_studio"), np.ascontiguousarray(picture("p006_selfie")[:, :400])]
    points = Contract().points(300) + np.float32(100)
    path = tmp_path / "scenes.npz"
    save([Scene(image, Region(250, 245, 380, 7), points) for image in images], path)
    return path


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round of timing is enough where no figure of it is looked at."""
    monkeypatch.setattr(gate, "_SECONDS", 0.0)


def test_a_scene_keeps_its_face_in_the_frame(picture: Callable[[str], Image]) -> None:
    image = picture("p001_studio")
    frame, region = fused.staged(Scene(image, Region(250, 245, 380, 7), np.zeros((5, 2), np.float32)))
    assert frame.shape == (720, 1280, 3)
    scale = 720 / image.shape[0]
    assert region.size == pytest.approx(380 * scale) and region.angle == 7
    old, new = (geometry.crop_transform(where, 64) for where in (Region(250, 245, 380, 7), region))
    crops = [fused.cv2.warpAffine(each, matrix, (64, 64)).astype(int) for each, matrix in ((image, old), (frame, new))]
    assert np.abs(crops[0] - crops[1]).mean() < 4


@pytest.mark.parametrize("graph", ["follow", "follow_swap"])
def test_the_reference_is_the_graph_around_the_originals(graph: str, people: Path, recogniser: Path, tmp_path: Path) -> None:
    files = _networks(tmp_path)[: 1 if graph == "follow" else 2]
    tools, reference = Tools(recogniser).as_dict(), tmp_path / "reference.npz"
    child.refer(graph, files, graph, str(people), tools, str(reference))
    assert not reference.with_suffix(".onnx").exists()
    wrap(graph, [Path(file) for file in files], Contract(), tmp_path / "whole.onnx", fused.FRAME)
    limits = [("error", 0.0001, False)]
    judged = child.judge(str(tmp_path / "whole.onnx"), "onnxruntime", "fp32", "f32", graph, limits, str(people), tools, str(reference))
    assert judged["verdict"] == "passed" and judged["ms"] > 0
    assert set(judged["figures"]) == {limit.figure for limit in ROLES[graph].limits}


def test_a_spoilt_swap_network_loses_and_the_mesh_does_not(people: Path, recogniser: Path, tmp_path: Path) -> None:
    mesh, swapper = _networks(tmp_path)
    tools, reference = Tools(recogniser).as_dict(), tmp_path / "reference.npz"
    child.refer("follow_swap", [mesh, swapper], "follow_swap", str(people), tools, str(reference))
    onnx.save(random_twin(128, 64, seed=1), swapper)
    wrap("follow_swap", [Path(mesh), Path(swapper)], Contract(), tmp_path / "whole.onnx", fused.FRAME)
    limits = [(each.figure, each.bound, each.at_least) for each in ROLES["follow_swap"].limits]
    engine = str(tmp_path / "whole.onnx")
    judged = child.judge(engine, "onnxruntime", "fp32", "f32", "follow_swap", limits, str(people), tools, str(reference))
    assert judged["verdict"] == "failed"
    assert "psnr" in judged["reason"] and "error" not in judged["reason"]


@pytest.mark.parametrize("size", [128, 256, 512])
def test_a_swap_network_of_any_size_is_wrapped(size: int, tmp_path: Path) -> None:
    onnx.save(random_twin(size, 64), tmp_path / "swap.onnx")
    onnx.save(mesh_twin(), tmp_path / "mesh.onnx")
    contract = Contract("arcface_112", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), denormalise=True)
    whole = tmp_path / "whole.onnx"
    inputs, outputs = wrap("follow_swap", [tmp_path / "mesh.onnx", tmp_path / "swap.onnx"], contract, whole, (480, 640))
    assert [port["name"] for port in inputs] == ["frame", "region", "latent"]
    with OnnxRuntimeSession(whole) as session:
        feeds = {"frame": np.zeros((480, 640, 3), np.uint8), "region": np.float32([320, 240, 300, 0])}
        assert session.run({**feeds, "latent": np.ones((1, 64), np.float32)})["patch"].shape == (size, size, 3)
    assert {port["name"]: port["shape"] for port in outputs}["mask"] == [size, size]


def _networks(folder: Path) -> list[str]:
    onnx.save(mesh_twin(), folder / "mesh.onnx")
    onnx.save(random_twin(128, 64), folder / "swap.onnx")
    return [str(folder / "mesh.onnx"), str(folder / "swap.onnx")]
