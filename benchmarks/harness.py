"""What every benchmark shares: rows with limits, the facts of the machine, the table, the JSON file and the exit code."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import platform
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from realtime.commands.machine import cores, cpu_name

BUDGETS = Path(__file__).with_name("budgets.toml")
LIBRARIES = ("realtime-faceswap", "numpy", "opencv-python-headless", "numba", "onnxruntime", "openvino")


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a figure: at most `most` and at least `least`; None leaves that side open."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """False for a value beyond the bound, and for one that is not a number."""
        if math.isnan(value):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        bounds = [f">= {self.least:g}" if self.least is not None else "", f"<= {self.most:g}" if self.most is not None else ""]
        return " and ".join(filter(None, bounds))


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a benchmark. Without a limit it is for information and always ok."""

    name: str
    metric: str
    value: float
    unit: str = ""
    limit: Limit | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.limit is None or self.limit.holds(self.value)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the limit as text, a value that is not a number as null."""
        value = self.value if math.isfinite(self.value) else None
        limit = str(self.limit) if self.limit else None
        return asdict(self) | {"value": value, "limit": limit, "ok": self.ok}


def budgets(section: str) -> dict[str, Limit]:
    """The limits of one section of budgets.toml, `metric = { least = 1, most = 2 }`; those of a table within it by "table.metric"."""
    table = tomllib.loads(BUDGETS.read_text(encoding="utf-8")).get(section, {})
    limits: dict[str, Limit] = {}
    for key, entry in table.items():
        if entry.keys() <= {"least", "most"}:
            limits[key] = Limit(**entry)
        else:
            limits |= {f"{key}.{metric}": Limit(**bounds) for metric, bounds in entry.items()}
    return limits


def machine() -> dict[str, Any]:
    """Processor, cores, system, Python and the versions of the libraries that matter for speed."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"cpu": cpu_name(), "cores": cores(), "system": platform.platform(), "python": platform.python_version(), "versions": versions}


def options(parser: argparse.ArgumentParser) -> None:
    """The option that every benchmark has."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows with machine, versions and settings")


def finish(benchmark: str, rows: Sequence[Row], settings: Mapping[str, Any], file: Path | None = None) -> int:
    """Print the table, write the file; the exit code: 0 when every limit is kept, 1 otherwise."""
    show(benchmark, rows)
    report = {"benchmark": benchmark, "machine": machine(), "settings": dict(settings), "rows": [row.as_dict() for row in rows]}
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(report, indent=1, default=str) + "\n", encoding="utf-8")
    return 0 if all(row.ok for row in rows) else 1


def show(benchmark: str, rows: Sequence[Row]) -> None:
    """Print the rows as a table, missed limits in red."""
    table = Table("name", "metric", "value", "unit", "limit", "ok", "note", title=benchmark)
    for column in table.columns[2:3]:
        column.justify = "right"
    for row in rows:
        verdict = "" if row.limit is None else "yes" if row.ok else "NO"
        style = None if row.ok else "red"
        table.add_row(row.name, row.metric, f"{row.value:.4g}", row.unit, str(row.limit or ""), verdict, row.note, style=style)
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)
