"""The program, interrupted while it imports something."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def interrupted_at(module: str, arguments: Sequence[str], run: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """How it ended. The moment is told by what the program imports, not by a clock; `run`: a call of `runpy`'s that starts it."""
    watching = (
        "import importlib.abc, os, runpy, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Watching(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Watching())\n"
        f"sys.argv = {list(arguments)!r}\n"
        f"{run}\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", watching]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
