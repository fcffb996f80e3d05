"""Every benchmark, each in a process of its own, and one summary."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.harness import Limit, Row

SUMMARY = "all benchmarks, one after the other, each in a process of its own; one summary"
QUICK = MappingProxyType(
    {
        "latency": ("--seconds", "8", "--memory-seconds", "16"),
        "finishes": ("--frames", "10"),
        "marking": ("--frames", "60", "--film", "16"),
        "models": ("--frames", "40", "--runs", "0"),
        "peers": ("--rounds", "4"),
        "scaling": ("--minutes", "0.05", "--long", "0.1"),
        "simulated": ("--seconds", "6"),
        "soak": ("--minutes", "1", "--signals", "1"),
        "stages": ("--frames", "60"),
        "waste": ("--frames", "60", "--seconds", "4"),
    }
)
"""Arguments that make a benchmark short: its figures then say whether it works, not how fast it is."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="DIR", help="one JSON file each [benchmark-results]")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these only")
    parser.add_argument("--skip", nargs="+", default=[], metavar="NAME", help="all but these")
    parser.add_argument("--quick", action="store_true", help="short runs: to see whether everything works")


def run(options: argparse.Namespace) -> int:
    from benchmarks.__main__ import names

    chosen = [name for name in options.only or names() if name not in ("all", *options.skip)]
    rows = [row for name in chosen for row in _rows(name, *_measured(name, options))]
    return harness.finish("all", rows, {"quick": options.quick, "benchmarks": chosen}, options.json)


def _measured(name: str, options: argparse.Namespace) -> tuple[int, dict[str, Any], float]:
    """Exit status, report and seconds of one benchmark; its own table goes to the screen."""
    file = options.out / f"{name}.json"
    file.unlink(missing_ok=True)
    short = QUICK.get(name, ()) if options.quick else ()
    drawn = ("--plot", str(options.plot)) if options.plot else ()
    start = time.perf_counter()
    status = subprocess.run([sys.executable, "-m", "benchmarks", name, *short, *drawn, "--json", str(file)]).returncode
    report = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"rows": []}
    return status, report, time.perf_counter() - start


def _rows(name: str, status: int, report: dict[str, Any], seconds: float) -> list[Row]:
    """How many limits were missed, none of which may be; a benchmark that could not run has missed one."""
    limited = [row for row in report["rows"] if row["limit"]]
    missed = [row for row in limited if not row["ok"]]
    _show(name, missed)
    failed = not report["rows"]
    note = f"could not be run: status {status}" if failed else f"of {len(limited)}, {len(report['rows'])} figures, {seconds:.0f} s"
    return [Row(name, "limits missed", int(failed) + len(missed), "", Limit(most=0, why="a benchmark that misses a limit fails"), note)]


def _show(name: str, missed: list[dict[str, Any]]) -> None:
    """What was missed, and why that limit is there."""
    if missed:
        table = Table("figure", "value", "limit", "why there is one", title=f"{name}: missed")
        for row in missed:
            value = "not a number" if row["value"] is None else f"{row['value']:.4g}"
            table.add_row(f"{row['name']}: {row['metric']}", value, row["limit"], row["why"])
        Console(width=160).print(table)
