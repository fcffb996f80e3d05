"""The other project that installs a package of the same name: told at the start, in a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import realtime
from realtime import guard

PACKAGE = Path(realtime.__file__).parent


def python(*argv: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """-S: without the site-packages that we are installed in."""
    environment = {**os.environ, "PYTHONPATH": ""}
    return subprocess.run([sys.executable, "-S", *argv], cwd=cwd, env=environment, capture_output=True, timeout=60, check=False)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site-packages folder with our package in it (what start-up needs)."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE, folder / "realtime", ignore=shutil.ignore_patterns("__pycache__", "*.jpg", "*.npz"))
    return folder


def started(site: Path) -> subprocess.CompletedProcess[bytes]:
    return python("-m", "realtime", "--version", cwd=site)


def test_guard_lets_a_sound_installation_pass(site: Path) -> None:
    (site / "realtime_faceswap-0.1.0.dist-info").mkdir()
    assert started(site).stdout.startswith(b"realtime-faceswap ")


def spoil_by_installing_over(site: Path) -> None:
    (site / "realtime-2.0.0.dist-info").mkdir()
    (site / "realtime" / "__init__.py").write_text("class AsyncRealtimeClient: ...\n")
    (site / "realtime" / "types.py").write_text("Callback = None\n")


def spoil_by_removing(site: Path) -> None:
    (site / "realtime" / "__init__.py").unlink()
    (site / "realtime" / "types.py").unlink()


def spoil_by_a_copy(site: Path) -> None:
    (site / "realtime" / "__init__.py").write_text("class AsyncRealtimeClient: ...\n")


def spoil_later(site: Path) -> None:
    """Ours was installed last: all our files are there, and the next update of the other breaks them."""
    (site / "realtime-2.0.0.dist-info").mkdir()


@pytest.mark.parametrize("spoil", [spoil_by_installing_over, spoil_by_removing, spoil_by_a_copy, spoil_later])
def test_guard_refuses_with_one_sentence(site: Path, spoil: Any) -> None:
    spoil(site)
    ended = started(site)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.count(b"\n") == 1
    assert b"pip uninstall realtime" in ended.stderr
    assert b"--force-reinstall --no-deps realtime-faceswap" in ended.stderr


def test_guard_holds_for_the_installed_script_too(site: Path) -> None:
    spoil_by_installing_over(site)
    ended = python("-c", "from realtime.cli import main; main(['--version'])", cwd=site)
    assert ended.returncode == 1
    assert b"pip uninstall realtime" in ended.stderr


def test_guard_finds_nothing_wrong_here() -> None:
    assert guard.problem(PACKAGE, realtime.DISTRIBUTION) is None
