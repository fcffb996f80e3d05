"""Every refusal, and what may be used."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from realtime.backends.gpus import Gpu
from realtime.builder import manifest, recipes
from realtime.builder.manifest import Entry
from realtime.errors import BackendError
from realtime.machine import processor
from realtime.models.records import sha256_of

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
        onnx_sha256=sha256_of(onnx),
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
    return dataclasses.replace(entry, sha256=entry.sha256 or sha256_of(path))


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
    cure = re.escape(f"python -m realtime engines --models {onnx} --engines {tmp_path}`")
    with pytest.raises(BackendError, match=f"{words}.*{cure}"):
        manifest.find(tmp_path, "m", onnx, _VERSIONS)


def test_the_cure_names_the_folder_unless_it_is_the_usual_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_ENGINES", str(tmp_path))
    assert manifest.rebuild_command("m", tmp_path) == "python -m realtime engines --models m"
    assert manifest.rebuild_command("m", tmp_path / "my own") == f'python -m realtime engines --models m --engines "{tmp_path / "my own"}"'


def test_the_cure_names_what_the_builder_knows(tmp_path: Path) -> None:
    """Files of the user's by their path, networks of the catalogue and graphs of ours by their name."""
    own, mesh, known = tmp_path / "my.onnx", tmp_path / "mesh.onnx", tmp_path / "inswapper_128.onnx"
    asked = {
        manifest.asked_for("mesh", mesh): "mesh",
        manifest.asked_for("my", own): str(own),
        manifest.asked_for("follow", [mesh], "follow"): "follow",
        manifest.asked_for("follow_swap-my", [mesh, own], "follow_swap"): f"follow_swap:{own}",
        manifest.asked_for("follow_swap-inswapper_128", [mesh, known], "follow_swap"): "follow_swap:inswapper_128",
    }
    assert all(found == wanted for found, wanted in asked.items())
    own.touch()
    recipes.check_names(list(asked), recipes.Recipes(rows={"follow": recipes.Recipe(graph="follow", of="mesh")}))


def test_an_engine_of_an_earlier_version_of_the_program_is_refused(tmp_path: Path, onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs are written by our own code: another code, another engine, though the networks are the same."""
    monkeypatch.setattr(manifest, "_sha256_of_code", lambda: "0" * 64)
    earlier = manifest.fingerprint([onnx], "follow")
    monkeypatch.undo()
    entry = _entry(tmp_path, onnx, file="follow.openvino.int8.01234567.blob", onnx_sha256=earlier)
    manifest.write(tmp_path, "follow", [entry])
    with pytest.raises(BackendError, match="was made by another version of this program: run `python -m realtime engines --models follow "):
        manifest.find(tmp_path, "follow", onnx, _VERSIONS, graph="follow")


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


_OLDER = {"compute_capabilities": [89], "driver": 12020}


class TestOnGpus:
    """Engines for a GPU: which is taken, and each reason to refuse one."""

    GPU = Gpu(89, 12040)
    BOTH: ClassVar = {"tensorrt": "11.4", "tensorrt-rtx": "1.7", "openvino": "1.0"}

    def _gpu_entry(self, folder: Path, onnx: Path, target: str = "tensorrt", **changes: Any) -> Entry:
        device = {"compute_capabilities": [86, 89], "driver": None}
        file = f"m.{target}.fp16.01234567.engine"
        return _entry(folder, onnx, **{"target": target, "version": self.BOTH[target], "device": device, "file": file, **changes})

    def test_come_before_faster_ones_of_the_processor_in_their_order(self, tmp_path: Path, onnx: Path) -> None:
        one = self._gpu_entry(tmp_path, onnx, gate={"ms": 3.0})
        two = self._gpu_entry(tmp_path, onnx, "tensorrt-rtx", gate={"ms": 1.0})
        cpu = _entry(tmp_path, onnx, gate={"ms": 0.5})
        manifest.write(tmp_path, "m", [cpu, two, one])
        assert manifest.find(tmp_path, "m", onnx, self.BOTH, self.GPU) == one
        assert manifest.find(tmp_path, "m", onnx, {"tensorrt-rtx": "1.7", "openvino": "1.0"}, self.GPU) == two

    @pytest.mark.parametrize(
        ("gpu", "changes", "words"),
        [
            (Gpu(75, 12040), {}, "was built for compute capability 86, 89 and this GPU has 75"),
            (GPU, {"device": _OLDER}, r"was built with a driver for CUDA 12\.2 and this one is for 12\.4"),
            (GPU, {"version": "11.3"}, r"was built with openvino 11\.3 and this is 11\.4"),
            (None, {}, "is for a GPU and there is none"),
        ],
    )
    def test_refused_ones_are_told_and_the_next_is_taken(
        self, gpu: Gpu | None, changes: dict[str, Any], words: str, tmp_path: Path, onnx: Path
    ) -> None:
        cpu = _entry(tmp_path, onnx)
        manifest.write(tmp_path, "m", [self._gpu_entry(tmp_path, onnx, **changes), cpu])
        said: list[str] = []
        assert manifest.find(tmp_path, "m", onnx, self.BOTH, gpu, said.append) == cpu
        assert len(said) == 1
        assert re.fullmatch(
            rf"the engine m\.tensorrt\.fp16\S+ {words}: run `python -m realtime engines --models .*m\.onnx --engines .*`", said[0]
        )
        with pytest.raises(BackendError, match=words):
            manifest.find(tmp_path, "m", onnx, self.BOTH, gpu)

    def test_the_same_driver_fits(self, tmp_path: Path, onnx: Path) -> None:
        entry = self._gpu_entry(tmp_path, onnx, device={"compute_capabilities": [89], "driver": 12040})
        manifest.write(tmp_path, "m", [entry])
        assert manifest.find(tmp_path, "m", onnx, self.BOTH, self.GPU) == entry

    def test_those_that_wait_for_a_gpu(self, tmp_path: Path, onnx: Path) -> None:
        waiting = {"chosen": False, "gate": {"verdict": "pending", "ms": None}}
        one, two = (self._gpu_entry(tmp_path, onnx, target, **waiting) for target in ("tensorrt", "tensorrt-rtx"))
        other = dataclasses.replace(two, target="tensorrt-rtx", precision="fp32", chosen=True, gate={"verdict": "passed", "ms": 1.0})
        manifest.write(tmp_path, "m", [one, two])
        assert manifest.find(tmp_path, "m", onnx, self.BOTH, self.GPU) is None
        assert manifest.pending(tmp_path, "m", onnx, self.BOTH, self.GPU) == [one, two]
        assert manifest.pending(tmp_path, "m", onnx, {"openvino": "1.0"}, self.GPU) == []
        assert manifest.pending(tmp_path, "m", onnx, self.BOTH, Gpu(75, 12040)) == []
        assert manifest.pending(tmp_path, "m", onnx, self.BOTH, None) == []
        manifest.write(tmp_path, "m", [one, two, other])
        assert manifest.pending(tmp_path, "m", onnx, self.BOTH, self.GPU) == [one], "for the other library one has been chosen"
