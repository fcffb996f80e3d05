"""What is special about OpenVINO: no telemetry, a cache that may be broken."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from realtime.backends.select import describe, open_session
from realtime.errors import BackendError
from tests.backends.graphs import affine

needs_openvino = pytest.mark.skipif("openvino" not in [s.name for s in describe() if s.usable], reason="OpenVINO is not installed here")


@needs_openvino
def test_a_run_loads_neither_telemetry_nor_the_converter(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from realtime.backends.select import open_session\n"
        f"open_session(Path({str(affine(tmp_path / 'affine.onnx'))!r}), 'openvino').run()\n"
        "print(sorted(name for name in sys.modules if 'telemetry' in name or name.startswith('openvino.tools.ovc')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@needs_openvino
def test_the_cache_is_used_and_a_broken_one_does_no_harm(tmp_path: Path) -> None:
    network, cache = affine(tmp_path / "affine.onnx"), tmp_path / "cache"
    for attempt in ("made", "used", "broken"):
        with open_session(network, "openvino", cache=cache) as session:
            assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 0] == 3, attempt
        blobs = list(cache.glob("*.blob"))
        assert blobs, attempt
        if attempt == "used":
            for blob in blobs:
                blob.chmod(0o600)
                blob.write_bytes(b"broken")


@needs_openvino
def test_an_unusable_cache_folder_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with open_session(affine(tmp_path / "affine.onnx"), "openvino", cache=tmp_path / "file" / "cache") as session:
        assert session.run({"x": np.zeros((1, 4), np.float32)})["y"][0, 0] == 1


@pytest.mark.parametrize(("backend", "library"), [("openvino", "OpenVINO"), ("onnxruntime", "ONNX Runtime")])
def test_a_missing_library_is_a_sentence_with_the_cure(
    backend: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name == backend:
            raise ImportError(f"No module named '{name}'")
        return real_import(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BackendError, match=rf"{library} cannot be loaded .*: install it with `pip install {backend}`$"):
        open_session(affine(tmp_path / "affine.onnx"), backend)
    status = {status.name: status for status in describe()}[backend]
    assert not status.usable
    assert "pip install" in status.why
