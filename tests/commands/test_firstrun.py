"""Engines that were built where there was no GPU are judged at the first run on one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import onnx
import pytest

from realtime.backends import select
from realtime.backends.gpus import Gpu
from realtime.backends.select import BackendStatus
from realtime.builder import manifest
from realtime.builder.run import Plan
from realtime.builder.table import Row, State
from realtime.commands.firstrun import judge_waiting
from realtime.errors import BackendError
from realtime.models.records import sha256_of
from realtime.settings import Settings
from tests.test_networks import _built
from tests.twins.inswapper import random_twin

SETTINGS = Settings(sources=())
GPU = Gpu(89, 12040, "Fake GPU", 2**33)


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that are carried out; models and engines are in the test's folder, and the engines of `mesh` and `follow` wait."""
    made: list[Plan] = []
    models, engines = tmp_path / "models", tmp_path / "engines"
    for folder in (models, engines):
        folder.mkdir()
    for name in ("mesh", "sface"):
        (models / f"{name}.onnx").write_bytes(name.encode())
    monkeypatch.setenv("REALTIME_MODELS", str(models))
    monkeypatch.setenv("REALTIME_ENGINES", str(engines))
    monkeypatch.setattr("realtime.backends.gpus.gpus", lambda: [GPU])
    monkeypatch.setattr("realtime.builder.run.build", lambda plan, folder, scenes: made.append(plan) or [])
    monkeypatch.setattr(select, "describe", lambda names: [BackendStatus(name, name == "tensorrt", "11.4", "") for name in names])
    mesh = models / "mesh.onnx"
    _wait(engines, "mesh", mesh, sha256_of(mesh))
    _wait(engines, "follow", mesh, manifest.fingerprint([mesh], "follow"))
    _built(engines, "sface", models / "sface.onnx")
    return made


def _wait(engines: Path, name: str, model: Path, made_of: str, **changes: Any) -> None:
    waiting = {"chosen": False, "gate": {"verdict": "pending", "ms": None}, "onnx_sha256": made_of, **changes}
    _built(engines, name, model, **waiting)


def test_judges_what_waits_for_this_gpu_and_says_so(plans: list[Plan]) -> None:
    said: list[str] = []
    judge_waiting(SETTINGS, said.append)
    ((names, target),) = [([network.name for network in plan.networks], plan.target) for plan in plans]
    assert (names, target) == (["follow", "mesh"], "tensorrt")
    assert plans[0].networks[0].recipe.graph == "follow"
    assert said == ["judging the tensorrt engines of follow, mesh, once: they were built where there was no GPU; a few minutes"]


def test_so_it_does_for_the_whole_path_around_a_swap_network(plans: list[Plan], tmp_path: Path) -> None:
    files = [tmp_path / "models" / f"{name}.onnx" for name in ("mesh", "inswapper_128")]
    files[1].write_bytes(b"inswapper")
    _wait(tmp_path / "engines", "follow_swap-inswapper_128", files[1], manifest.fingerprint(files, "follow_swap"))
    judge_waiting(SETTINGS, lambda said: None)
    (network,) = [each for each in plans[0].networks if each.recipe.graph == "follow_swap"]
    assert network.name == "follow_swap-inswapper_128" and list(network.paths) == files


def test_so_it_does_for_a_file_of_the_user_that_the_run_swaps_by(plans: list[Plan], tmp_path: Path) -> None:
    own, engines = tmp_path / "my own.onnx", tmp_path / "engines"
    onnx.save(random_twin(channels=4), own)
    (engines / "recipes.toml").write_text('[models."my own"]\nrole = "swapper"\n')
    _wait(engines, "my own", own, sha256_of(own))
    _wait(engines, "follow_swap-my own", own, manifest.fingerprint([tmp_path / "models" / "mesh.onnx", own], "follow_swap"))
    judge_waiting(SETTINGS, lambda said: None)
    assert "my own" not in [network.name for network in plans.pop().networks], "a file that this run does not use"
    judge_waiting(dataclasses.replace(SETTINGS, swapper=str(own), swap_contract="inswapper"), lambda said: None)
    assert [network.name for network in plans[0].networks] == ["follow", "follow_swap-my own", "mesh", "my own"]
    assert [list(network.paths)[-1] for network in plans[0].networks if "own" in network.name] == [own, own]


def test_looks_where_the_run_is_told_to_look(plans: list[Plan], tmp_path: Path) -> None:
    judge_waiting(dataclasses.replace(SETTINGS, engines=tmp_path), pytest.fail)
    assert plans == []
    judge_waiting(dataclasses.replace(SETTINGS, engines=tmp_path / "engines"), lambda said: None)
    assert len(plans) == 1


@pytest.mark.parametrize("changes", [{"device": "cpu"}, {"backend": "openvino"}, {"backend": "tensorrt-rtx"}])
def test_a_run_that_will_not_use_them_does_not(changes: dict[str, Any], plans: list[Plan]) -> None:
    said: list[str] = []
    judge_waiting(dataclasses.replace(SETTINGS, **changes), said.append)
    assert plans == [] and said == []


def test_without_a_gpu_nothing_is_looked_at(plans: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.backends.gpus.gpus", list)
    monkeypatch.setattr(select, "describe", _never)
    judge_waiting(SETTINGS, _never)
    assert plans == []


@pytest.mark.parametrize("gpu", [Gpu(75, 12040), Gpu(120, 13000)])
def test_another_gpu_than_they_were_built_for(gpu: Gpu, plans: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.backends.gpus.gpus", lambda: [gpu])
    judge_waiting(SETTINGS, _never)
    assert plans == []


def test_a_network_of_which_no_engine_passes_is_told_with_the_reason(plans: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Row("mesh", "tensorrt", "fp32", State.FAILED_GATE, reason="error 0.1, must be <= 0.005"),
        Row("mesh", "tensorrt", "fp16", State.FAILED_GATE, reason="error 0.2, must be <= 0.005"),
        Row("follow", "tensorrt", "fp16", State.CHOSEN),
    ]
    monkeypatch.setattr("realtime.builder.run.build", lambda plan, folder, scenes: rows)
    said: list[str] = []
    judge_waiting(SETTINGS, said.append)
    assert said[1:] == ["no tensorrt engine of mesh is used: error 0.1, must be <= 0.005"]


def test_what_goes_wrong_is_told_and_the_run_goes_on(plans: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> None:
        raise BackendError("the disk is full.")

    monkeypatch.setattr("realtime.builder.run.build", fails)
    said: list[str] = []
    judge_waiting(SETTINGS, said.append)
    assert said[-1] == "the disk is full."


def _never(*arguments: Any) -> Any:
    raise AssertionError("not to be called")
