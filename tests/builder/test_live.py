"""What a run does with engines: uses those that fit, refuses the others once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.builder import manifest, quantise
from realtime.builder.targets.base import target
from realtime.models.records import sha256_of
from realtime.networks import open_networks


@pytest.fixture
def engines(tmp_path: Path, twin: Path) -> Path:
    """With an int8 engine for OpenVINO, made here without a gate."""
    folder = tmp_path / "engines"
    folder.mkdir()
    quantised, path = tmp_path / "int8.onnx", folder / "twin.openvino.int8.01234567.blob"
    with OnnxRuntimeSession(twin) as session:
        sample = {spec.name: np.random.default_rng(0).random(spec.shape, np.float32) for spec in session.specs.inputs}
    quantise.int8(twin, quantised, [sample])
    built = target("openvino").build(quantised, "int8", path, (), {}, folder)
    entry = manifest.Entry(
        target="openvino",
        precision="int8",
        arithmetic=built.arithmetic,
        file=path.name,
        sha256=sha256_of(path),
        bytes=path.stat().st_size,
        onnx_sha256=sha256_of(twin),
        library=built.library,
        version=built.version,
        device=built.device,
        inputs=[],
        outputs=[],
        gate={"verdict": "passed", "ms": 1.0},
        build_seconds=1.0,
        built_at="",
        chosen=True,
        tried=["int8"],
    )
    manifest.write(folder, "twin", [entry])
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
    assert f"was altered or is incomplete: run `python -m realtime engines --models {twin} --engines {engines}`" in said[0]


def test_two_refusals_are_one_sentence(twin: Path, tmp_path: Path) -> None:
    said: list[str] = []
    for name in ("a", "b"):
        manifest.path_of(tmp_path, name).write_text("nonsense")
    sessions = open_networks({"a": twin, "b": twin}, "onnxruntime", tmp_path, tmp_path / "cache", said.append)
    assert [session.backend for session in sessions.values()] == ["onnxruntime cpu fp32"] * 2
    assert len(said) == 1 and "the same goes for b" in said[0]
