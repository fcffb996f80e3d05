"""Draws the charts of a benchmark's JSON file, and how far each figure is from its limit, as PNGs. Needs the extra `plots`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from realtime.errors import UsageError

_INCHES, _DPI = (8.0, 4.5), 120
_BINS = 60


def check() -> None:
    """Raises UsageError when there is nothing to draw with."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--plot draws with matplotlib, which is not installed: pip install '.[plots]', or leave --plot out")


def draw(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """One PNG for each chart in the report, and one of its limits. The files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    charts = [*report.get("charts", ()), *limits(report)]
    return [_drawn(chart, folder / f"{report['benchmark']}-{chart['name']}.png") for chart in charts]


def limits(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A chart of every figure as a share of what it may be at most, or of what it must reach; none for a report without such limits."""
    words, shares = [], []
    for row in report["rows"]:
        bounds = (row["limit"] or "").split()
        if row["value"] is None or len(bounds) != 2 or float(bounds[1]) <= 0:
            continue
        words.append(f"{row['name']}: {row['metric']} {row['limit']}")
        shares.append(100 * row["value"] / float(bounds[1]))
    chart = {"name": "limits", "kind": "bars", "title": f"{report['benchmark']}: figures beside their limits"}
    return [chart | {"x_label": "", "y_label": "% of the limit", "series": {"": [words, shares]}}] if words else []


def _drawn(chart: Mapping[str, Any], file: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bars = chart["kind"] == "bars"
    count = len(next(iter(chart["series"].values()))[0]) if bars else 0
    figure = Figure(figsize=(_INCHES[0], max(1.5 + 0.28 * count, 3.0) if bars else _INCHES[1]), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    {"lines": _lines, "points": _points, "histogram": _histogram, "bars": _bars}[chart["kind"]](axes, chart["series"])
    axes.set_title(chart["title"])
    axes.set_xlabel(chart["y_label"] if bars or chart["kind"] == "histogram" else chart["x_label"])
    axes.set_ylabel("" if bars else "frames" if chart["kind"] == "histogram" else chart["y_label"])
    axes.grid(alpha=0.3)
    if any(chart["series"]):
        axes.legend()
    figure.savefig(file, dpi=_DPI)
    return file


def _lines(axes: Any, series: Mapping[str, Any]) -> None:
    for name, (x, y) in series.items():
        axes.plot(x, y, marker="o" if len(x) < 40 else None, label=name)
    axes.set_ylim(bottom=0)


def _points(axes: Any, series: Mapping[str, Any]) -> None:
    for name, (x, y) in series.items():
        axes.plot(x, y, ".", markersize=3, label=name)
    axes.set_ylim(bottom=0)


def _histogram(axes: Any, series: Mapping[str, Any]) -> None:
    """All series in the same bins, up to the 99.5th percentile: one straggler would leave nothing to be seen of the others."""
    everything = np.concatenate([np.asarray(y, float) for _, y in series.values()])
    bins = np.linspace(0, max(float(np.percentile(everything, 99.5)), 1e-9), _BINS)
    for name, (_, y) in series.items():
        axes.hist(y, bins=bins, alpha=0.6, label=name)


def _bars(axes: Any, series: Mapping[str, Any]) -> None:
    ends: dict[str, float] = {}
    for name, (words, widths) in series.items():
        axes.barh(words, widths, left=[ends.get(word, 0.0) for word in words], height=0.7, label=name)
        ends |= {word: ends.get(word, 0.0) + width for word, width in zip(words, widths, strict=True)}
    axes.invert_yaxis()
