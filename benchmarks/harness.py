"""What every benchmark shares: rows with limits, the facts of the machine, the table, the JSON file and the exit code.

What could disturb another measurement gets a process of its own (`report_of`), and two things that are compared are taken by turns
(`by_turns`): what the machine does beside falls on both.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from realtime.errors import RealtimeError, UsageError, reason
from realtime.machine import cores, cpu_name
from realtime.sinks.files import probe

BUDGETS = Path(__file__).with_name("budgets.toml")
Side = TypeVar("Side", bound=Hashable)
Taken = TypeVar("Taken")
LIBRARIES = ("realtime-faceswap", "numpy", "opencv-python-headless", "numba", "onnxruntime", "openvino")


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a figure: at most `most` and at least `least`; None leaves that side open."""

    least: float | None = None
    most: float | None = None
    unit: str = ""
    why: str = ""
    """In a few words: what a user would notice beyond it."""

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
        limit, why = (str(self.limit), self.limit.why) if self.limit else (None, "")
        return asdict(self) | {"value": value, "limit": limit, "why": why, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class Chart:
    """What a benchmark would have drawn; `plots` draws it from the JSON file.

    lines: y over x, a line a series. points: the same as dots. histogram: how often each y occurs (x is not used). bars: one bar for each
    word in x, the series of it stacked.
    """

    name: str
    """Of the file: letters and hyphens."""
    kind: Literal["lines", "points", "histogram", "bars"]
    title: str
    x_label: str
    y_label: str
    series: Mapping[str, tuple[Sequence[Any], Sequence[float]]]
    """Name -> x, y."""

    def as_dict(self) -> dict[str, Any]:
        series = {name: [list(x), [round(float(value), 4) for value in y]] for name, (x, y) in self.series.items()}
        return asdict(self) | {"series": series}


def budgets(section: str) -> dict[str, Limit]:
    """The limits of one section of budgets.toml, `metric = { least = 1, most = 2 }`; those of a table within it by "table.metric"."""
    return _limits(tomllib.loads(BUDGETS.read_text(encoding="utf-8")).get(section, {}), "", "")


def _limits(table: Mapping[str, Any], prefix: str, why: str) -> dict[str, Limit]:
    """A table's own `why` is that of all its limits that have none."""
    why = str(table.get("why", why))
    limits: dict[str, Limit] = {}
    for key, entry in table.items():
        if key != "why":
            bound = entry.keys() & {"least", "most"}
            limits |= {prefix + key: Limit(**{"why": why} | entry)} if bound else _limits(entry, f"{key}.", why)
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
    """The options that every benchmark has."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows with machine, versions and settings; its folder is made")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw the figures as PNGs (needs matplotlib: pip install '.[plots]')")


def make_room(file: Path) -> None:
    """Make the folder of a file that is written at the end, and see whether it can be, before any measuring. Raises RealtimeError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {file.parent}: {reason(error)}; give another one in --json") from None
    probe(file, replace=True)


def finish(benchmark: str, rows: Sequence[Row], settings: Mapping[str, Any], file: Path | None = None, charts: Sequence[Chart] = ()) -> int:
    """Print the table, write the file; the exit code: 0 when every limit is kept, 1 otherwise."""
    show(benchmark, rows)
    report = {"benchmark": benchmark, "machine": machine(), "settings": dict(settings), "rows": [row.as_dict() for row in rows]}
    if file:
        drawn = {"charts": [chart.as_dict() for chart in charts]} if charts else {}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(report | drawn, indent=1, default=str) + "\n", encoding="utf-8")
    return 0 if all(row.ok for row in rows) else 1


def report_of(module: str, *arguments: str) -> dict[str, Any]:
    """What a benchmark, "benchmarks.latency", or another module with `--json`, finds out in a process of its own. Raises RealtimeError."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [sys.executable, "-m", module, *arguments, "--json", str(file)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not file.is_file():
            raise RealtimeError(f"{' '.join(command[1:4])} failed: {done.stderr.strip()[-500:]}")
        return dict(json.loads(file.read_text(encoding="utf-8")))


def report_case(description: str | None, measure: Callable[[dict[str, Any]], Any]) -> int:
    """The other side of `report_of`: what a module does that measures one case in its process, `--case JSON --json FILE`.

    `measure` takes the case's fields and gives a dataclass.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=json.loads, default={})
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    options.json.write_text(json.dumps(asdict(measure(options.case))), encoding="utf-8")
    return 0


def by_turns(sides: Mapping[Side, Callable[[], Taken]], rounds: int, each: int) -> dict[Side, list[Taken]]:
    """What every side's call gives, `each` times in a row, A B A B. The first round is a warm-up and does not count."""
    taken: dict[Side, list[Taken]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, call in sides.items():
            values = [call() for _ in range(each)]
            taken[name] += values if turn else []
    return taken


def medians(values: Sequence[float], each: int) -> NDArray[np.float64]:
    """The median of each whole round of values that were taken `each` in a row."""
    whole = np.asarray(values, np.float64)[: max(len(values) // each, 1) * each]
    return np.asarray(np.median(whole.reshape(-1, min(each, len(whole))), axis=1), np.float64)


def steady(name: str, metric: str, values: Sequence[float], each: int, limit: Limit | None = None, unit: str = "ms", note: str = "") -> Row:
    """The median of the rounds' medians, with the least and the most of them and p95 of all values in the note.

    A second in which the machine does something else spoils one round, which then shows, and not the figure.
    """
    rounds = medians(values, each)
    told = f"{len(rounds)} rounds {rounds.min():.2f} to {rounds.max():.2f}, p95 {np.percentile(values, 95):.2f}"
    return Row(name, metric, float(np.median(rounds)), unit, limit, f"{told}; {note}" if note else told)


def ratio(name: str, metric: str, of: Sequence[float], to: Sequence[float], each: int, limit: Limit | None = None, note: str = "") -> Row:
    """How many times `to` is `of`: the median over rounds of the ratio within a round, in which both had the same machine."""
    rounds = medians(of, each) / medians(to, each)
    told = f"{len(rounds)} rounds {rounds.min():.3g} to {rounds.max():.3g}"
    return Row(name, metric, float(np.median(rounds)), "times", limit, f"{told}; {note}" if note else told)


def spread(name: str, metric: str, values: Sequence[float], unit: str, limits: Mapping[str, Limit], key: str) -> list[Row]:
    """Rows for p50, p95 and p99; their limits are `key`_p50 and so on."""
    return [
        Row(name, f"{metric} p{q}", float(np.percentile(values, q)) if len(values) else math.nan, unit, limits.get(f"{key}_p{q}"))
        for q in (50, 95, 99)
    ]


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
