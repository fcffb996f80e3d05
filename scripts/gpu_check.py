"""Everything that needs a GPU, in one command of under six minutes: `python scripts/gpu_check.py [--json FILE]`.

For a bare machine with an NVIDIA GPU and whatever of TensorRT, TensorRT-RTX, ONNX Runtime with CUDA, cuda-bindings and PyCUDA it has;
numpy and one of these is the least. Builds engines, compares what they compute with ONNX Runtime on the processor, times them with CUDA
graphs and without, with the upload of the next frame beside the launch and without, and the per-frame path at 720p and 1080p; the same on
an engine that only copies, which needs no TensorRT. Prints one table, and says what could not run, as does the file.

Networks: the default models where they have been fetched (REALTIME_MODELS names their folder), else stand-ins with random weights, of which
speed is not representative. Each check is a process of its own with a time limit: a crash costs its rows only, not those before it.

Ends with 0 when all that ran was right, 1 when something was not, 2 when there is no GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # the stand-ins are among the tests

from gpu_checks import CHECKS, Row  # noqa: E402

TOTAL, LEAST = 330.0, 5.0
"""Seconds for all checks, and those that a check must have left to begin."""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    asked.add_argument("--json", metavar="FILE", help="write the rows and the machine there too")
    asked.add_argument("--only", metavar="WORD", default="", help="checks whose names hold this word")
    asked.add_argument("--full", action="store_true", help="with the swap network in its full size: 175 G multiply-adds, half a gigabyte")
    asked.add_argument("--check", help=argparse.SUPPRESS)
    asked.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.check:
        return child(options.check, options.work)
    if importlib.util.find_spec("numpy") is None:
        print(f"gpu_check needs numpy at least: run `pip install .` in {ROOT} first.")
        return 2
    wanted = [name for name in CHECKS if options.only in name]
    rows: list[Row] = []
    for done, some in enumerate(each_check(wanted, options.full), 1):
        rows += some
        if options.json:  # after each: the machine may be gone before the last
            keep(rows, wanted[done:], Path(options.json))
    show(rows)
    return verdict(rows)


def keep(rows: Sequence[Row], waiting: Sequence[str], file: Path) -> None:
    told = {"could not run": could_not(rows), "wrong": wrong(rows), "not begun": list(waiting)}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"machine": machine(), **told, "rows": [asdict(row) for row in rows]}, indent=1) + "\n", "utf-8")


def could_not(rows: Sequence[Row]) -> list[str]:
    return sorted({row.check for row in rows if row.ok is None})


def wrong(rows: Sequence[Row]) -> list[str]:
    return [f"{row.check} {row.case}".strip() for row in rows if row.ok is False]


def verdict(rows: Sequence[Row]) -> int:
    from realtime.backends.gpus import gpus

    if could_not(rows):
        print(f"could not run: {', '.join(could_not(rows))} (the table says why)")
    if wrong(rows):
        print(f"wrong: {', '.join(wrong(rows))}")
        return 1
    if not gpus():
        print("There is no NVIDIA GPU here, or no driver for it: nothing was run on one.")
        return 2
    print("all that ran is right")
    return 0


def each_check(wanted: Sequence[str], full: bool) -> Iterator[list[Row]]:
    end = time.monotonic() + TOTAL
    with tempfile.TemporaryDirectory(prefix="gpu_check-") as folder:
        work = Path(folder)
        (work / "full").touch() if full else None
        for name in wanted:
            yield run_check(name, work, end - time.monotonic())


def run_check(name: str, work: Path, seconds: float) -> list[Row]:
    """The rows that a check got to write, and one for how it ended when that was not well."""
    if seconds < LEAST:
        return [Row(name, "", ok=None, note="no time was left")]
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--check", name, "--work", str(work)]
    limit = min(seconds, 120.0)
    ended, ok = "", False
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        if done.returncode:
            ended = f"ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    except subprocess.TimeoutExpired:
        ended, ok = f"stopped after {limit:.0f} seconds", None  # slow builds or a hang: it cannot be told
    lines = (work / f"{name}.rows").read_text("utf-8").splitlines() if (work / f"{name}.rows").is_file() else []
    rows = [Row(**json.loads(line)) for line in lines]
    return [*rows, Row(name, "", ok=ok, note=ended)] if ended else rows


def child(name: str, work: Path) -> int:
    from realtime.errors import RealtimeError

    with (work / f"{name}.rows").open("w", encoding="utf-8") as file:

        def tell(row: Row) -> None:
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()

        try:
            for row in CHECKS[name](work):
                tell(row)
        except RealtimeError as error:
            tell(Row(name, "", ok=None, note=str(error)))
        except ModuleNotFoundError as error:
            tell(Row(name, "", ok=None, note=f"{error.name} is not installed: run `pip install .` in {ROOT}"))
    return 0


def machine() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    from realtime.backends.gpus import gpus

    versions = {}
    for name in ("tensorrt", "tensorrt-rtx", "cuda-bindings", "cuda-core", "pycuda", "onnxruntime", "onnxruntime-gpu", "numpy"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {"gpus": [str(gpu) for gpu in gpus()], "system": platform.platform(), "python": platform.python_version(), "versions": versions}


def show(rows: Sequence[Row]) -> None:
    found = machine()
    head = f"{', '.join(found['gpus']) or 'no NVIDIA GPU'}; {' '.join(f'{k} {v}' for k, v in found['versions'].items())}"
    words = {True: "ok", False: "wrong", None: "could not run"}
    values = ["-" if row.value is None else f"{row.value:.3g} {row.unit}" for row in rows]
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        lines = (f"{row.check}, {row.case}: {value} {words[row.ok]} {row.note}" for row, value in zip(rows, values, strict=True))
        print(head, *lines, sep="\n")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("check", "case", "value", "", "why"):
        table.add_column(title, overflow="fold")
    styles = {True: "green", False: "bold red", None: "yellow"}
    for row, value in zip(rows, values, strict=True):
        table.add_row(row.check, row.case, value, Text(words[row.ok], styles[row.ok]), Text(row.note))
    out = Console(width=160 if not sys.stdout.isatty() else None)
    out.print(head, markup=False)
    out.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
