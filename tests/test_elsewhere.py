"""Nothing of ours needs what only this system has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from realtime.models.store import ModelStore
from tests.elsewhere import FileSystem

ROOT = Path(__file__).parents[1]
SYSTEMS = ("win32", "darwin")


def run(folder: Path, system: str, *commands: str, prepared: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy"}
    called = [sys.executable, "-m", "tests.elsewhere", system, *commands]
    return subprocess.run(
        called, cwd=folder, env=environment, preexec_fn=prepared, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_loads_and_the_doctor_looks_at_the_machine(tmp_path: Path, system: str) -> None:
    done = run(tmp_path, system, "cameras", "models list", "doctor")
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert ("Settings, Privacy, Camera" if system == "win32" else "System Settings, Privacy & Security") in done.stdout


def test_without_a_virtual_camera_windows_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    done = run(tmp_path, "win32", f"--source {ROOT / 'realtime' / 'assets' / 'source.jpg'} --input synthetic")
    assert done.returncode == 1 and "there is no virtual camera: install OBS" in done.stderr and "compiling" not in done.stderr


@pytest.mark.models
def test_a_recording_on_a_full_disk_leaves_nothing_where_open_files_cannot_be_removed(tmp_path: Path, models: ModelStore) -> None:
    resource = pytest.importorskip("resource")
    source = ROOT / "realtime" / "assets" / "source.jpg"
    live = f"--source {source} --input synthetic --size 640x360"
    assert run(tmp_path, "win32", f"{live} --output null --frames 3").returncode == 0  # kernels, too, are files that must have room
    done = run(
        tmp_path,
        "win32",
        f"{live} --output v.mp4 --seconds 20",
        prepared=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert "cannot go on writing v.mp4" in done.stderr and "internal error" not in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_the_other_system_refuses_is_refused_here(tmp_path: Path) -> None:
    """Or the tests above would prove nothing."""
    hook = FileSystem()
    held, free = tmp_path / "held", tmp_path / "free"
    free.touch()
    with held.open("wb"):
        for event, given in (("os.remove", (held, -1)), ("os.rename", (held, free, -1, -1)), ("os.rename", (free, held, -1, -1))):
            with pytest.raises(PermissionError):
                hook(event, given)
        hook("os.remove", (free, -1))
    hook("os.rename", (held, free, -1, -1))
    with pytest.raises(OSError, match="Invalid argument"):
        hook("open", (str(tmp_path / "10:30.png"), "w", 0))


@pytest.mark.models
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_picture_and_a_live_run_are_swapped_and_read_back(tmp_path: Path, system: str, models: ModelStore) -> None:
    source, picture = ROOT / "realtime" / "assets" / "source.jpg", ROOT / "tests" / "data" / "p006_studio.jpg"
    (tmp_path / "old.png").write_bytes(b"older")
    commands = (
        f"--source {source} --input {picture} --output p.png",
        "verify p.png",
        f"--source {source} --input synthetic --size 640x360 --output v.mp4 --seconds 1 --report r.json",
        f"--source {source} --input v.mp4 --output again.mkv --output old.png --overwrite --frame-log f.jsonl --frames 5",
    )
    done = run(tmp_path, system, *commands)
    assert done.returncode == 0, done.stderr
    assert "p.png: 1 picture, swapped" in done.stdout and "This is marked as AI-modified" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"p.png", "v.mp4", "r.json", "again.mkv", "old.png", "f.jsonl"}
