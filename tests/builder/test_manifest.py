"""Every refusal, and what may be used."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from realtime.builder import manifest
from realtime.builder.machine import processor
from realtime.builder.manifest import Entry
from realtime.errors import BackendError

_VERSIONS = {"openvino": "1.0", "onnxruntime": "2.0"}


@pytest.fixture
def onnx(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"the model")
    return path


def _entry(folder: Path, onnx: Path, **changes: Any) -> Entry:
    entry = Entry(
        target="openvino",
        precision="int8",
        arithmetic="int8",
        file="m.openvino.int8.01234567.blob",
        sha256="",
        bytes=6,
        onnx_sha256=manifest.sha256_of(onnx),
        library="openvino",
        version="1.0",
        device={"processor": processor()},
        inputs=[],
        outputs=[],
        gate={"verdict": "passed", "ms": 2.0},
        build_seconds=1.0,
        built_at="",
        chosen=True,
        tried=["int8"],
        notes=[],
    )
    entry = dataclasses.replace(entry, **changes)
    path = folder / entry.file
    path.write_bytes(b"engine")
    return dataclasses.replace(entry, sha256=entry.sha256 or manifest.sha256_of(path))


def test_finds_the_fastest_chosen(tmp_path: Path, onnx: Path) -> None:
    slow = _entry(tmp_path, onnx)
    fast = _entry(tmp_path, onnx, target="onnxruntime", version="2.0", file="m.onnxruntime.fp32.01234567.onnx", gate={"ms": 1.0})
    faster = dataclasses.replace(fast, chosen=False, gate={"ms": 0.1})
    manifest.write(tmp_path, "m", [slow, fast, faster])
    assert manifest.find(tmp_path, "m", onnx, _VERSIONS) == fast
    assert manifest.find(tmp_path, "m", onnx, {"openvino": "1.0"}) == slow
    assert manifest.find(tmp_path, "m", onnx, {}) is None
    assert manifest.find(tmp_path, "other", onnx, _VERSIONS) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"onnx_sha256": "0"}, "another version of the model"),
        ({"version": "0.9"}, r"built with openvino 0\.9 and this is 1\.0"),
        ({"device": {"processor": "a Pentium"}}, "built for the processor a Pentium"),
        ({"sha256": "0" * 64}, "was altered or is incomplete"),
        ({"bytes": 7}, "was altered or is incomplete"),
    ],
)
def test_refuses_what_does_not_fit(tmp_path: Path, onnx: Path, changes: dict[str, Any], words: str) -> None:
    manifest.write(tmp_path, "m", [_entry(tmp_path, onnx, **changes)])
    with pytest.raises(BackendError, match=f"{words}.*python build_engines.py --models m"):
        manifest.find(tmp_path, "m", onnx, _VERSIONS)


def test_refuses_a_missing_engine(tmp_path: Path, onnx: Path) -> None:
    entry = _entry(tmp_path, onnx)
    manifest.write(tmp_path, "m", [entry])
    (tmp_path / entry.file).unlink()
    with pytest.raises(BackendError, match="is missing"):
        manifest.find(tmp_path, "m", onnx, _VERSIONS)


_SENSELESS = ("", "{", "[]", '{"format": 0, "engines": []}', '{"format": 1}', '{"format": 1, "engines": [{"a": 1}]}')


@pytest.mark.parametrize("content", _SENSELESS)
def test_refuses_a_manifest_that_makes_no_sense(tmp_path: Path, onnx: Path, content: str) -> None:
    manifest.path_of(tmp_path, "m").write_text(content)
    with pytest.raises(BackendError, match="makes no sense"):
        manifest.find(tmp_path, "m", onnx, _VERSIONS)


def test_writing_removes_engines_that_are_no_longer_named(tmp_path: Path, onnx: Path) -> None:
    kept, old = _entry(tmp_path, onnx), _entry(tmp_path, onnx, file="m.openvino.fp32.89abcdef.blob")
    other = tmp_path / "m.x.openvino.fp32.89abcdef.blob"
    other.write_bytes(b"of a model called m.x")
    manifest.write(tmp_path, "m", [kept])
    assert not (tmp_path / old.file).exists()
    assert (tmp_path / kept.file).exists() and other.exists()
