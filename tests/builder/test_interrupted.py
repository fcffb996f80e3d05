"""Whatever goes wrong at whatever moment: nothing half-made stays, other models are built, the failed one is named."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from realtime.builder import child, install, manifest, run, workshop
from realtime.builder.candidate import unfinished
from realtime.builder.jobs import Job, Outcome
from realtime.builder.run import Interrupted, Plan, build
from realtime.builder.table import State
from realtime.builder.targets import base, onnxruntime
from realtime.errors import BackendError
from realtime.models.records import PARTIAL, sha256_of
from tests.builder.conftest import network

_FIGURES = {"verdict": "passed", "figures": {"psnr": 50.0}, "limits": {"psnr": ">= 35"}, "reason": ""}


def _done(job: Job) -> dict[str, Any]:
    """What a child would give, and the files that it would write."""
    asked = job.arguments
    if job.task == "make":
        Path(asked["output"]).write_bytes(b"another form")
    if job.task == "build":
        engine = Path(asked["output"])
        engine.write_bytes(f"engine {engine.name}".encode())
        built = base.Built("onnxruntime", "2.0", "f32", {})
        return {
            "library": built.library, "version": built.version, "arithmetic": built.arithmetic, "device": {}, "notes": [],
            "sha256": sha256_of(engine), "bytes": engine.stat().st_size,
        }  # fmt: skip
    return {
        "probe": {"version": "2.0", "device_problem": ""},
        "record": {"inputs": [], "outputs": []},
        "judge": {**_FIGURES, "ms": 2.0},
        "race": {"ms": [2.0] * len(asked.get("engines", ()))},
        "make": {},
    }[job.task]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Callable[[Job], None]:
    """Children that are done at once; the hook is called with each before it is."""
    before: list[Callable[[Job], None]] = []

    def run_jobs(jobs: Sequence[Job], folder: Path, at_once: int = 1, **said: Callable[[Job], None]) -> list[Outcome]:
        outcomes = []
        for job in jobs:
            for hook in before:
                hook(job)
            said.get("on_start", lambda job: None)(job)
            try:
                outcomes.append(Outcome(_done(job), "", 0.1))
            except OSError as error:
                outcomes.append(Outcome(None, child._sentence(error), 0.1))
        return outcomes

    monkeypatch.setattr(workshop, "run_jobs", run_jobs)
    monkeypatch.setattr(run, "run_jobs", run_jobs)
    return before.append  # type: ignore[return-value]


@pytest.fixture
def plan(twin: Path) -> Plan:
    return Plan((network(twin, "fp32", "int8"),), "onnxruntime")


def _scenes(path: Path) -> None:
    path.write_bytes(b"scenes")


def test_the_stand_ins_build_what_the_children_build(plan: Plan, children: object, tmp_path: Path) -> None:
    assert [row.state for row in build(plan, tmp_path, _scenes)] == [State.CHOSEN, State.SLOWER]
    (entry,) = manifest.read(tmp_path, "twin")
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == sorted(["twin.json", "twin.onnx", entry.file])


def test_those_that_pass_are_timed_against_each_other_and_that_decides(
    plan: Plan, children: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, at different moments, both took as long."""
    real = _done
    monkeypatch.setitem(globals(), "_done", lambda job: {"ms": [9.0, 1.0]} if job.task == "race" else real(job))
    rows = build(plan, tmp_path, _scenes)
    assert [(row.precision, row.state, row.ms) for row in rows] == [("fp32", State.SLOWER, 9.0), ("int8", State.CHOSEN, 1.0)]


class _Once:
    """Raises at the call of that number, and counts."""

    def __init__(self, number: int) -> None:
        self.number, self.calls = number, 0

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls == self.number:
            raise KeyboardInterrupt


def test_ctrl_c_at_every_step(twin: Path, children: object, tmp_path: Path) -> None:
    """The models that were done are there, the others are named, and nothing lies about."""
    other = tmp_path / "other.onnx"
    other.write_bytes(twin.read_bytes())
    plan, seen = Plan((network(other, "fp32"), network(twin, "fp32")), "onnxruntime"), set()
    for number in range(1, 100):
        folder, at = tmp_path / str(number), _Once(number)
        try:
            build(plan, folder, _scenes, at)
        except Interrupted as interrupted:
            assert interrupted.args == (), "to whoever ends a live run it is Ctrl-C as any other"
            missing = unfinished(interrupted.rows)
            there = {name for name in ("other", "twin") if manifest.read(folder, name)}
            assert there == {"other", "twin"} - set(missing)
            engines = {entry.file for name in there for entry in manifest.read(folder, name)}
            assert {path.name for path in folder.iterdir()} == {".lock", *engines, *(f"{name}.json" for name in there)}
            seen.add(tuple(missing))
        else:
            break
    assert seen == {("other", "twin"), ("twin",), ()}


@pytest.mark.parametrize("moment", ["an engine is moved in", "the manifest is written"])
def test_ctrl_c_while_engines_are_put_in_place(
    plan: Plan, children: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folder = tmp_path / "engines"
    build(plan, folder, _scenes)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    plan.networks[0].paths[0].write_bytes(plan.networks[0].paths[0].read_bytes() + b" ")  # another version of the model
    if moment == "the manifest is written":
        monkeypatch.setattr(install.manifest, "write", _Once(1))
    else:
        real, at = Path.replace, _Once(1)

        def replace(self: Path, target: Path) -> Path:
            moved = real(self, target)
            at() if self.suffix == ".onnx" else None
            return moved

        monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        build(plan, folder, _scenes)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("task", ["record", "make", "build", "judge"])
def test_a_disk_that_is_full_costs_that_model_only(
    twin: Path, children: Callable[[Callable[[Job], None]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """A child finds no room for what it writes: a sentence in its row. The next model finds room again."""
    first = tmp_path / "first.onnx"
    first.write_bytes(twin.read_bytes())
    real = _done

    def full(job: Job) -> dict[str, Any]:
        if job.task == task and "first" in json.dumps(job.arguments) + job.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(job)

    monkeypatch.setitem(globals(), "_done", full)
    rows = build(Plan((network(first), network(twin)), "onnxruntime"), tmp_path / "engines", _scenes)
    told = [row.reason for row in rows if row.model == "first" and row.reason]
    assert any("the disk is full" in reason for reason in told)
    assert "twin" not in unfinished(rows)
    assert not list((tmp_path / "engines").glob(f"{PARTIAL}*"))


def test_a_disk_that_is_full_for_the_builder_itself_costs_that_model_only_and_its_room_is_given_back(
    twin: Path, children: Callable[[Callable[[Job], None]], None], tmp_path: Path
) -> None:
    """It writes down what a child shall do: what the model before has left would keep the next one from it too."""
    first, folder = tmp_path / "first.onnx", tmp_path / "engines"
    first.write_bytes(twin.read_bytes())

    def full(job: Job) -> None:
        left = list(folder.glob(f"{PARTIAL}*/model-0/*"))
        if job.task == "judge" if job.name.startswith("first") else left:
            raise OSError(errno.ENOSPC, "No space left on device")

    children(full)
    rows = build(Plan((network(first, "fp32"), network(twin, "fp32")), "onnxruntime"), folder, _scenes)
    assert [(row.model, row.state) for row in rows] == [("first", State.FAILED), ("twin", State.CHOSEN)]
    assert "the disk is full" in rows[0].reason


def test_a_disk_that_is_full_when_the_manifest_is_written(
    plan: Plan, children: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    rows = build(plan, tmp_path / "engines", _scenes)
    assert "the disk is full" in rows[0].reason and unfinished(rows) == ["twin"]
    assert [path.name for path in (tmp_path / "engines").iterdir()] == [".lock"]


def test_what_was_built_before_outlives_a_build_that_fails(
    plan: Plan, children: Callable[[Callable[[Job], None]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "engines"
    build(plan, folder, _scenes)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    real = _done

    def full(job: Job) -> dict[str, Any]:
        if job.task == "build":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(job)

    monkeypatch.setitem(globals(), "_done", full)
    rows = build(dataclasses.replace(plan, force=True), folder, _scenes)
    assert unfinished(rows) == ["twin"] and {row.reason for row in rows} == {"the disk is full: free some space and run the builder again"}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_onnx_runtime_does_not_say_that_a_disk_is_full(twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So free space is looked at when it fails."""
    beside = tmp_path / "engines"
    beside.mkdir()
    (beside / "a.onnx").mkdir()  # cannot be written either
    build_one = base.target("onnxruntime").build
    with pytest.raises(BackendError, match="ONNX Runtime cannot build it"):
        build_one(twin, "fp32", beside / "a.onnx", (), {}, tmp_path)
    monkeypatch.setattr(onnxruntime.shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    with pytest.raises(OSError, match="no room") as caught:
        build_one(twin, "fp32", beside / "a.onnx", (), {}, tmp_path)
    assert child._sentence(caught.value) == "the disk is full: free some space and run the builder again"


def test_engines_that_wait_for_a_device_are_judged_by_the_next_build_that_has_one(
    plan: Plan, children: Callable[[Callable[[Job], None]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built again: the files that were there are run, and the fastest stays."""
    tasks: list[str] = []
    children(lambda job: tasks.append(job.task))
    real, absent = _done, ["no GPU"]
    monkeypatch.setitem(
        globals(), "_done", lambda job: {**real(job), **({"device_problem": absent[0]} if job.task == "probe" else {})}
    )
    folder = tmp_path / "engines"
    assert {row.reason for row in build(plan, folder, _scenes)} == {"not run: no GPU"}
    waiting = {entry.file for entry in manifest.read(folder, "twin")}
    assert len(waiting) == 2 and [row.state for row in build(plan, folder, _scenes)] == [State.PENDING] * 2
    tasks.clear()
    absent[0] = ""
    assert [row.state for row in build(plan, folder, _scenes)] == [State.CHOSEN, State.SLOWER]
    assert tasks == ["probe", "record", "judge", "judge", "race"]
    assert {entry.file for entry in manifest.read(folder, "twin")} < waiting
    assert [row.reason for row in build(plan, folder, _scenes)] == ["up to date"]
