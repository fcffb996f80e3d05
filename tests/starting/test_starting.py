from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from realtime import starting
from realtime.commands import run
from realtime.starting import kernels_folder, kernels_kept, remember_kernels
from realtime.starting.workers import Workers


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(starting, "kernels_folder", lambda: tmp_path)
    return tmp_path


def test_a_kind_of_start_counts_as_compiled_only_after_its_warm_up_ended(folder: Path) -> None:
    (folder / "planes.fill_planes-9.py311.nbi").touch()  # of a first start that was interrupted
    assert not kernels_kept("mesh")
    remember_kernels("mesh")
    assert kernels_kept("mesh")
    assert not kernels_kept("network")


def test_another_processor_or_other_sources_compile_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_kernels("mesh")
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    assert not kernels_kept("mesh")
    remember_kernels("mesh")
    assert kernels_kept("mesh")
    assert len(list(folder.glob("warm-*"))) == 1


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "kernels_folder", lambda: folder / "not there")
    remember_kernels("mesh")
    assert not kernels_kept("mesh")


def test_the_first_start_says_that_it_compiles_and_later_ones_start_no_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = []

    class Idle(Workers):
        def _start(self, todo: int, doing: int) -> None:
            started.append(self)

    monkeypatch.setattr("realtime.starting.workers.Workers", Idle)
    with run.prepare() as kernels:
        kernels(lambda: None)  # nobody compiles, so that there is nothing to wait for
    assert "compiling for this processor, once" in capsys.readouterr().err
    remember_kernels("mesh")
    with run.prepare() as kernels:
        kernels(lambda: None)
    assert capsys.readouterr().err == ""
    assert len(started) == 1


def test_the_folder_is_the_one_that_numba_uses(tmp_path: Path) -> None:
    code = "from realtime.starting import kernels_folder; print(kernels_folder())"
    named = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(starting.__file__).parents[2])}
    shown = subprocess.run([sys.executable, "-c", code], env=named, capture_output=True, text=True, check=True, timeout=60).stdout
    assert Path(shown.strip()).is_relative_to(tmp_path)
    assert kernels_folder().name == "__pycache__" or not os.access(Path(starting.__file__).parents[1] / "vision", os.W_OK)
