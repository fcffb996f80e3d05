"""Nothing of ours needs what only this system has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from realtime.models.store import ModelStore

ROOT = Path(__file__).parents[1]
SYSTEMS = ("win32", "darwin")


def run(folder: Path, system: str, *commands: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy"}
    called = [sys.executable, "-m", "tests.elsewhere", system, *commands]
    return subprocess.run(called, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_loads_and_the_doctor_looks_at_the_machine(tmp_path: Path, system: str) -> None:
    done = run(tmp_path, system, "cameras", "models list", "doctor")
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert ("Settings, Privacy, Camera" if system == "win32" else "System Settings, Privacy & Security") in done.stdout


@pytest.mark.models
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_picture_and_a_live_run_are_swapped_and_read_back(tmp_path: Path, system: str, models: ModelStore) -> None:
    source, picture = ROOT / "realtime" / "assets" / "source.jpg", ROOT / "tests" / "data" / "p006_studio.jpg"
    commands = (
        f"--source {source} --input {picture} --output p.png",
        "verify p.png",
        f"--source {source} --input synthetic --size 640x360 --output v.mp4 --seconds 1 --report r.json",
    )
    done = run(tmp_path, system, *commands)
    assert done.returncode == 0, done.stderr
    assert "p.png: 1 picture, swapped" in done.stdout and "This is marked as AI-modified" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"p.png", "v.mp4", "r.json"}
