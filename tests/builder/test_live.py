"""What a run does with engines: uses those that fit, refuses the others once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.app import open_networks
from realtime.builder import manifest
from realtime.builder.run import Plan, WriteScenes, build
from tests.builder.conftest import network


@pytest.fixture
def engines(tmp_path: Path, twin: Path, write_scenes: WriteScenes) -> Path:
    folder = tmp_path / "engines"
    build(Plan((network(twin, psnr=20.0),), "openvino", "int8"), folder, write_scenes)
    return folder


def test_uses_what_fits_and_refuses_what_was_altered(twin: Path, engines: Path, tmp_path: Path) -> None:
    said: list[str] = []
    paths = {"twin": twin, "other": twin}

    def backend_of(backend: str = "auto") -> list[str]:
        sessions = open_networks(paths, backend, engines, tmp_path / "cache", said.append)
        feeds = {spec.name: np.full(spec.shape, 0.5, np.float32) for spec in sessions["other"].specs.inputs}
        outputs = [session.run(feeds)["output"].copy() for session in sessions.values()]
        assert float(np.abs(outputs[0] - outputs[1]).mean()) < 0.1 * float(np.ptp(outputs[1]))
        return [session.backend for session in sessions.values()]

    assert backend_of() == ["openvino cpu int8", "openvino cpu fp32"]
    assert backend_of("onnxruntime") == ["onnxruntime cpu fp32"] * 2
    assert said == []

    file = engines / manifest.read(engines, "twin")[0].file
    file.write_bytes(file.read_bytes()[:-100])
    assert backend_of() == ["openvino cpu fp32"] * 2
    assert len(said) == 1
    assert "was altered or is incomplete: run `python build_engines.py --models twin`" in said[0]


def test_two_refusals_are_one_sentence(twin: Path, tmp_path: Path) -> None:
    said: list[str] = []
    for name in ("a", "b"):
        manifest.path_of(tmp_path, name).write_text("nonsense")
    sessions = open_networks({"a": twin, "b": twin}, "onnxruntime", tmp_path, tmp_path / "cache", said.append)
    assert [session.backend for session in sessions.values()] == ["onnxruntime cpu fp32"] * 2
    assert len(said) == 1 and "The same goes for b." in said[0]
