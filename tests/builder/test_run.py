"""Whole builds of a small network on the real libraries."""

from __future__ import annotations

import dataclasses
import errno
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.builder import manifest
from realtime.builder.candidate import unfinished
from realtime.builder.run import Plan, WriteScenes, build, planned
from realtime.builder.table import Row, State
from realtime.builder.targets.base import target
from realtime.errors import BackendError
from realtime.models.lock import locked
from realtime.models.records import PARTIAL, sha256_of
from tests.builder.conftest import network


def _states(rows: Sequence[Row]) -> dict[tuple[str, str], State]:
    return {(row.target, row.precision): row.state for row in rows}


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    return tmp_path / "engines"


def test_chooses_installs_and_is_then_up_to_date(
    twin: Path, engines: Path, write_scenes: WriteScenes, request: pytest.FixtureRequest
) -> None:
    """One build after another into one folder: what is there, what the manifest says, and what a second target changes.

    The first with real children.
    """
    plan = Plan((network(twin, "fp32", "int8", psnr=20.0),), "openvino", jobs=2)
    rows = build(plan, engines, write_scenes)
    assert sorted(_states(rows).values()) == [State.CHOSEN, State.SLOWER]
    entry = manifest.find(engines, "twin", twin, {"openvino": manifest.read(engines, "twin")[0].version})
    assert entry is not None and entry.chosen and entry.ms > 0
    assert sorted(p.name for p in engines.iterdir()) == sorted([".lock", "twin.json", entry.file])
    _check_content(json.loads((engines / "twin.json").read_text())["engines"][0], twin, engines)

    request.getfixturevalue("here")
    again = build(plan, engines, lambda path: pytest.fail("scenes are not needed"))
    assert [row.reason for row in again] == ["up to date"]

    build(Plan((network(twin, "fp32"),), "onnxruntime"), engines, write_scenes)
    assert [each.target for each in manifest.read(engines, "twin")] == ["openvino", "onnxruntime"]


def _check_content(entry: dict[str, Any], onnx_file: Path, engines: Path) -> None:
    assert entry["onnx_sha256"] == sha256_of(onnx_file)
    assert entry["sha256"] == sha256_of(engines / entry["file"])
    assert entry["library"] == "openvino" and entry["version"] and entry["device"]["processor"]
    assert entry["inputs"][0] == {"name": "target", "shape": [1, 3, 64, 64], "dtype": "float32"}
    assert entry["gate"]["verdict"] == "passed" and entry["gate"]["figures"]["psnr"] > 20


@pytest.mark.usefixtures("here")
def test_a_broken_int8_loses(tmp_path: Path, engines: Path, write_scenes: WriteScenes) -> None:
    rows = build(Plan((network(_fragile(tmp_path / "fragile.onnx")),), "openvino", jobs=2), engines, write_scenes)
    assert _states(rows) == {("openvino", "fp32"): State.CHOSEN, ("openvino", "int8"): State.FAILED_GATE}
    assert rows[1].figures["psnr"] < 20
    assert "must be >= 35" in rows[1].reason
    assert [entry.precision for entry in manifest.read(engines, "fragile")] == ["fp32"]


def _fragile(path: Path) -> Path:
    """Green out of RGB by way of 1000 red + green, and red: 8 bits hold the sum to within 4, which is all that is left."""
    first = np.array([[1000, 1, 0], [1, 0, 0]], np.float32).reshape(2, 3, 1, 1)
    second = np.array([[1, -1000]], np.float32).reshape(1, 2, 1, 1)
    nodes = [helper.make_node("Conv", ["x", "first"], ["sum"]), helper.make_node("Conv", ["sum", "second"], ["y"])]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, c, 64, 64]) for n, c in (("x", 3), ("y", 1))]
    constants = [numpy_helper.from_array(first, "first"), numpy_helper.from_array(second, "second")]
    graph = helper.make_graph(nodes, "fragile", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.usefixtures("here")
def test_one_bad_model_costs_one_row(twin: Path, engines: Path, tmp_path: Path, write_scenes: WriteScenes) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(twin.read_bytes()[:500])
    rows = build(Plan((network(bad), network(twin, "fp32")), "onnxruntime"), engines, write_scenes)
    assert [(row.model, row.state) for row in rows] == [("bad", State.FAILED), ("twin", State.CHOSEN)]
    assert "truncated" in rows[0].reason
    assert unfinished(rows) == ["bad"]


def test_operators_that_a_library_lacks_are_all_named(tmp_path: Path) -> None:
    """Before anything is compiled, by the library's own report where it makes one."""
    path = tmp_path / "odd.onnx"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    nodes = [helper.make_node("Frob", ["x"], ["w"], domain="odd"), helper.make_node("Grub", ["w"], ["y"], domain="odd")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("odd", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "odd", ports[:1], ports[1:]), opset_imports=opsets, ir_version=8), path)
    for name in ("onnxruntime", "openvino"):
        with pytest.raises(BackendError, match=r"odd\.Frob, odd\.Grub"):
            target(name).build(path, "fp32", tmp_path / "engine", (), {}, tmp_path)
    assert not (tmp_path / "engine").exists()


@pytest.mark.usefixtures("here")
def test_a_forced_precision_that_fails_keeps_no_engine(twin: Path, engines: Path, write_scenes: WriteScenes) -> None:
    rows = build(Plan((network(twin, psnr=119.0),), "onnxruntime", "int8"), engines, write_scenes)
    assert unfinished(rows) == ["twin"]
    assert manifest.read(engines, "twin") == []


@pytest.mark.usefixtures("here")
def test_the_second_builder_waits(twin: Path, engines: Path, write_scenes: WriteScenes) -> None:
    engines.mkdir()
    (engines / f"{PARTIAL}999").mkdir()
    said: list[str] = []

    class HeldError(Exception):
        pass

    def progress(text: str, done: int, total: int) -> None:
        said.append(text)
        raise HeldError

    with locked(engines / ".lock", 1.0), pytest.raises(HeldError):
        build(Plan((network(twin, "fp32"),), "onnxruntime"), engines, write_scenes, progress)
    assert said == ["waiting for another builder to end"]
    assert (engines / f"{PARTIAL}999").is_dir()
    build(Plan((), "onnxruntime"), engines, write_scenes)
    assert not list(engines.glob(f"{PARTIAL}*"))


@pytest.mark.usefixtures("here")
def test_scenes_that_cannot_be_had_are_each_models_reason_and_looked_for_once(twin: Path, engines: Path) -> None:
    looked: list[Path] = []

    def none(path: Path) -> None:
        looked.append(path)
        raise BackendError("no faces")

    networks = (network(twin, "fp32"), dataclasses.replace(network(twin, "fp32"), name="another"))
    rows = build(Plan(networks, "onnxruntime"), engines, none)
    assert [(row.model, row.reason) for row in rows] == [("twin", "no faces"), ("another", "no faces")] and len(looked) == 1
    assert [path.name for path in engines.iterdir()] == [".lock"]


@pytest.mark.usefixtures("here")
def test_operators_that_nothing_runs_are_named_and_the_next_model_is_built(
    twin: Path, engines: Path, tmp_path: Path, write_scenes: WriteScenes
) -> None:
    odd, model = tmp_path / "odd.onnx", onnx.load(twin)
    for node, name in zip(model.graph.node[:2], ("Frob", "Grub"), strict=True):
        node.op_type, node.domain = name, "odd"
    model.opset_import.append(helper.make_opsetid("odd", 1))
    onnx.save(model, odd)
    rows = build(Plan((network(odd, "fp32"), network(twin, "fp32")), "onnxruntime"), engines, write_scenes)
    assert [(row.model, row.state) for row in rows] == [("odd", State.FAILED), ("twin", State.CHOSEN)]
    assert rows[0].reason.endswith("ONNX Runtime does not support odd.Frob, odd.Grub")


def test_two_builders_at_once(twin: Path, engines: Path, tmp_path: Path, write_scenes: WriteScenes) -> None:
    """Two processes build the same model: one of them does, the other waits and finds it up to date."""
    write_scenes(tmp_path / "scenes.npz")
    program = (
        "import shutil, sys; from pathlib import Path\n"
        "from realtime.builder.run import Plan, build; from tests.builder.conftest import network\n"
        "twin, scenes, engines = map(Path, sys.argv[1:])\n"
        "plan = Plan((network(twin, 'fp32'),), 'onnxruntime')\n"
        "print([row.reason for row in build(plan, engines, lambda path: shutil.copy(scenes, path))])\n"
    )
    command = [sys.executable, "-c", program, str(twin), str(tmp_path / "scenes.npz"), str(engines)]
    root = Path(__file__).parents[2]
    builders = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(each.communicate(timeout=600)[0].strip() for each in builders) == ["['']", "['up to date']"]
    (entry,) = manifest.read(engines, "twin")
    assert sorted(path.name for path in engines.iterdir()) == sorted([".lock", "twin.json", entry.file])


@pytest.mark.usefixtures("here")
def test_a_full_disk_is_a_sentence_and_leaves_nothing(twin: Path, engines: Path) -> None:
    def full(path: Path) -> None:
        path.write_bytes(b"as far as it went")
        raise OSError(errno.ENOSPC, "No space left on device")

    rows = build(Plan((network(twin, "fp32"),), "onnxruntime"), engines, full)
    assert [row.reason for row in rows] == ["the disk is full: free some space and run the builder again"]
    assert unfinished(rows) == ["twin"]
    assert [path.name for path in engines.iterdir()] == [".lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="folders are protected differently on Windows")
def test_a_folder_that_cannot_be_made(twin: Path, tmp_path: Path, write_scenes: WriteScenes) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match="--engines"):
        build(Plan((network(twin),), "onnxruntime"), tmp_path / "file" / "engines", write_scenes)


@pytest.mark.usefixtures("here")
def test_a_missing_library_is_a_sentence(twin: Path, engines: Path, write_scenes: WriteScenes) -> None:
    with pytest.raises(BackendError, match=r"pip install 'realtime-faceswap\[tensorrt\]'"):
        build(Plan((network(twin),), "tensorrt"), engines, write_scenes)


def test_a_plan_lists_every_candidate(twin: Path) -> None:
    rows = planned(Plan((network(twin, "fp32", "int8"),), "openvino"))
    assert [(row.precision, row.state) for row in rows] == [("fp32", State.PLANNED), ("int8", State.PLANNED)]
