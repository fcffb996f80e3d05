"""Everything that needs a GPU, in one command of under six minutes: `python scripts/gpu_check.py [--json FILE]`.

For a bare machine with an NVIDIA GPU and whatever of TensorRT, TensorRT-RTX, ONNX Runtime with CUDA, cuda-bindings and PyCUDA it has.
Builds engines, compares what they compute with ONNX Runtime on the processor, times them with CUDA graphs and without, with the upload of
the next frame beside the launch and without, and the per-frame path at 720p and 1080p. Prints one table, and says what could not run.

Networks: the default models where they have been fetched (REALTIME_MODELS names their folder), else stand-ins with random weights, of which
speed is not representative. Each check is a process of its own with a time limit: a crash costs its rows only, not those before it.

Ends with 0 when all that ran was right, 1 when something was not, 2 when there is no GPU.
"""

from __future__ import annotations

import argparse
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
    lacking = [name for name in ("numpy", "numba", "onnx", "onnxruntime", "cv2", "rich", "platformdirs") if not _importable(name)]
    if lacking:
        print(f"gpu_check needs {', '.join(lacking)}: run `pip install .` in {ROOT} first.")
        return 2
    rows: list[Row] = []
    for some in each_check(options.only, options.full):
        rows += some
        if options.json:  # after each: the machine may be gone before the last
            keep(rows, Path(options.json))
    show(rows)
    return verdict(rows)


def keep(rows: Sequence[Row], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n", "utf-8")


def verdict(rows: Sequence[Row]) -> int:
    from realtime.backends.gpus import gpus

    wrong = [row for row in rows if row.ok is False]
    skipped = sorted({row.check for row in rows if row.ok is None})
    if skipped:
        print(f"could not run: {', '.join(skipped)} (the table says why)")
    if wrong:
        print(f"wrong: {', '.join(f'{row.check} {row.case}' for row in wrong)}")
        return 1
    if not gpus():
        print("There is no NVIDIA GPU here, or no driver for it: nothing was run on one.")
        return 2
    print("all that ran is right")
    return 0


def each_check(only: str, full: bool) -> Iterator[list[Row]]:
    end = time.monotonic() + TOTAL
    with tempfile.TemporaryDirectory(prefix="gpu_check-") as folder:
        work = Path(folder)
        (work / "full").touch() if full else None
        for name in CHECKS:
            if only in name:
                yield run_check(name, work, end - time.monotonic())


def run_check(name: str, work: Path, seconds: float) -> list[Row]:
    """The rows that a check got to write, and one for how it ended when that was not well."""
    if seconds < LEAST:
        return [Row(name, "", ok=None, note="no time was left")]
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--check", name, "--work", str(work)]
    limit = min(seconds, 120.0)
    ended = ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        if done.returncode:
            ended = f"ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    except subprocess.TimeoutExpired:
        ended = f"stopped after {limit:.0f} seconds"
    lines = (work / f"{name}.rows").read_text("utf-8").splitlines() if (work / f"{name}.rows").is_file() else []
    rows = [Row(**json.loads(line)) for line in lines]
    return [*rows, Row(name, "", ok=False, note=ended)] if ended else rows


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
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = machine()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("check", "case", "value", "", "why"):
        table.add_column(title, overflow="fold")
    for row in rows:
        word, style = {True: ("ok", "green"), False: ("wrong", "bold red"), None: ("could not run", "yellow")}[row.ok]
        value = "-" if row.value is None else f"{row.value:.3g} {row.unit}"
        table.add_row(row.check, row.case, value, Text(word, style), Text(row.note))
    out = Console(width=160 if not sys.stdout.isatty() else None)
    out.print(f"{', '.join(found['gpus']) or 'no NVIDIA GPU'}; {' '.join(f'{k} {v}' for k, v in found['versions'].items())}", markup=False)
    out.print(table)


def _importable(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    raise SystemExit(main())
