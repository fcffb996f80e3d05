"""Looks whether every dependency can be installed without a compiler: `python scripts/platforms.py`, for each system and Python.

uv resolves for systems other than the one it runs on, and knows their environment markers; pip takes those of the machine it runs on, and
would ask Windows for what is for Linux only. It needs uv (`pip install uv`) and a package index. Ends with 1 when something has no wheel.

A few packages of NVIDIA's come as sources that do no more than name the wheels that they need: those are let through, the wheels are not.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
}
"""By the names that uv gives them."""
EXTRAS = ("", "test")
NAMING_ONLY = frozenset({"tensorrt-rtx", "tensorrt-rtx-cu13"})
MINUTES = 5


@dataclass(frozen=True)
class Answer:
    """What is needed in one place, as `name==version`, or why it cannot be had."""

    packages: tuple[str, ...]
    problem: str = ""


def main() -> int:
    uv = shutil.which("uv") or shutil.which(str(Path(sys.executable).with_name("uv")))
    if uv is None:
        print("uv is needed: pip install uv")
        return 2
    failed = 0
    for system, name in SYSTEMS.items():
        for python in PYTHONS:
            for extra in EXTRAS:
                answer = ask(uv, name, python, extra)
                failed += bool(answer.problem)
                what = answer.problem or f"{len(answer.packages)} packages"
                print(f"{system:15} Python {python}  {f'with [{extra}]' if extra else '':12} {what}", flush=True)
    return 1 if failed else 0


def ask(uv: str, system: str, python: str, extra: str = "") -> Answer:
    """What the project needs there, all of it in wheels."""
    everything = run([*command(uv, system, python, extra)])
    if everything.problem:
        return everything
    names = [package.partition("==")[0] for package in everything.packages]
    return run([*command(uv, system, python, extra), *wheels_only(names)])


def command(uv: str, system: str, python: str, extra: str) -> Iterator[str]:
    yield from (uv, "pip", "compile", str(PROJECT), "--quiet", "--no-header", "--no-annotate")
    yield from ("--python-platform", system, "--python-version", python, "--python", sys.executable)
    yield from ("--extra", extra) if extra else ()


def wheels_only(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in NAMING_ONLY:
            yield from ("--only-binary", name)


def run(command: list[str]) -> Answer:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 * MINUTES)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return Answer((), next((line for line in lines if "cause:" in line), " ".join(lines) or "uv failed"))
    return Answer(tuple(line.strip() for line in done.stdout.splitlines() if "==" in line))


if __name__ == "__main__":
    sys.exit(main())
