"""How the age of frames, and what they cost, grow with resolution, faces, cores and the camera's rate; and that no delay builds up."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import harness
from benchmarks.harness import Chart, Limit, Row
from benchmarks.live import Case, Outcome, in_own_process

SUMMARY = "age and cost of frames by resolution, number of faces, cores and camera rate; whether age and memory grow over ten minutes"
SIZES = {"480p": (854, 480), "720p": (1280, 720), "1080p": (1920, 1080), "1440p": (2560, 1440), "2160p": (3840, 2160)}
FACES = (1, 2, 4, 8)
CORES = (1, 2)
RATES = (15, 30, 60, 120)
TIME = "time"
AXES = ("resolution", "faces", "cores", "rate", TIME)


@dataclass(frozen=True, slots=True)
class Point:
    axis: str
    word: str
    case: Case
    outcome: Outcome


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=0.15, metavar="N", help="length of each run but that of time [0.15]")
    parser.add_argument("--long", type=float, default=10.0, metavar="N", help="minutes of the run that tells what grows over time [10]")
    parser.add_argument("--axes", nargs="+", choices=AXES, default=AXES, help="what is varied [all]")


def run(options: argparse.Namespace) -> int:
    limits, base = harness.budgets("scaling"), Case(seconds=60 * options.minutes)
    varied = {axis: cases(axis, base, 60 * options.long) for axis in options.axes}
    points = [Point(axis, word, case, in_own_process(case)) for axis, along in varied.items() for word, case in along.items()]
    rows = [row for point in points for row in rows_of(point, limits)]
    settings = {"minutes": options.minutes, "long": options.long, "axes": options.axes, "base": "1280x720, 30 fps, one face, all cores"}
    return harness.finish("scaling", rows, settings, options.json, charts(points))


def cases(axis: str, base: Case, long: float) -> dict[str, Case]:
    """What is measured along an axis, by what varies. `long`: seconds of the run that tells what grows over time."""
    varied = {
        "resolution": {name: replace(base, width=width, height=height) for name, (width, height) in SIZES.items()},
        "faces": {f"{faces} faces": replace(base, faces=faces) for faces in FACES},
        "cores": {f"{cores} cores": replace(base, cores=cores) for cores in CORES},
        "rate": {f"{fps} fps": replace(base, fps=float(fps)) for fps in RATES},
        TIME: {f"{long / 60:g} minutes": replace(base, seconds=long)},
    }
    return varied[axis]


def rows_of(point: Point, limits: Mapping[str, Limit]) -> list[Row]:
    name, outcome = f"{point.axis}: {point.word}", point.outcome
    slope, error = outcome.slope()
    replaced = f"{outcome.dropped} of {outcome.frames_in} frames replaced"
    faces = 100 * outcome.faces / point.case.faces
    memory = Row(name, "growth of memory", outcome.growth(), "MB", limits.get("memory"), "second to last quarter")
    return [
        *harness.spread(name, "age when seen", outcome.ages, "ms", {}, "age")[:2],
        Row(name, "frames out", outcome.fps, "fps", None, replaced),
        Row(name, "share of one core", 100 * outcome.core, "%"),
        Row(name, "inference", outcome.stages["infer"] or float("nan"), "ms"),
        Row(name, "blend", outcome.stages["blend"] or float("nan"), "ms"),
        Row(name, "faces swapped", faces, "%", limits.get("faces_percent"), f"of {point.case.faces}"),
        Row(
            name,
            "growth of the age beyond noise",
            float(np.maximum(slope - 3 * error, 0.0)),
            "ms/min",
            limits.get("growth"),
            f"slope {slope:.2f}, its error {error:.2f}, times three off",
        ),
        *([memory] if point.axis == TIME else []),
    ]


def charts(points: list[Point]) -> list[Chart]:
    """One for each axis: age and processor time, and how the age went over time."""
    drawn = []
    for axis in AXES:
        along = [point for point in points if point.axis == axis and len(point.outcome.ages)]
        if not along:
            continue
        words = [point.word for point in along]
        spread = {f"p{q}": (words, [float(np.percentile(point.outcome.ages, q)) for point in along]) for q in (50, 95)}
        costs = {stage: (words, [point.outcome.stages[stage] for point in along]) for stage in ("infer", "blend")}
        times = {point.word: (point.outcome.times, point.outcome.ages) for point in along}
        memory = {point.word: _columns(point.outcome.memory) for point in along if point.outcome.memory}
        drawn += [
            Chart(f"{axis}-age", "lines", f"Age of frames when seen, by {axis}", axis, "ms", spread),
            Chart(f"{axis}-cost", "bars", f"Median time of the stages, by {axis}", "", "ms", costs),
            Chart(f"{axis}-timeline", "points", f"Age of frames over time, by {axis}", "seconds", "ms", times),
        ]
        if memory:
            drawn.append(Chart(f"{axis}-memory", "lines", f"Memory of the whole program, by {axis}", "seconds", "MB", memory))
    return drawn


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [first for first, _ in pairs], [second for _, second in pairs]
