"""What a camera's frames would wait for on a GPU: the real threads and code around networks that only take their time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from benchmarks import harness
from benchmarks.harness import Chart, Limit, Row
from benchmarks.live import Case, Outcome, in_own_process

SUMMARY = "age of frames as a viewer sees it, with a swap network on a simulated GPU, fast and slow"
GPUS = {"fast": (12.0, 6.0), "slow": (50.0, 15.0)}
"""Milliseconds of a run of the swap network, and of a look of the detector."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="length of each run, after a warm-up [20]")
    parser.add_argument("--fps", type=float, default=30.0, metavar="N", help="of the camera [30]")


def run(options: argparse.Namespace) -> int:
    limits = harness.budgets("simulated")
    outcomes = {
        name: in_own_process(Case(fps=options.fps, seconds=options.seconds, swap_ms=swap, detect_ms=detect))
        for name, (swap, detect) in GPUS.items()
    }
    rows = [row for name, outcome in outcomes.items() for row in rows_of(name, outcome, limits)]
    settings = {"seconds": options.seconds, "fps": options.fps, "gpus_ms": GPUS, "size": "1280x720"}
    return harness.finish("simulated", rows, settings, options.json, charts(outcomes))


def rows_of(name: str, outcome: Outcome, limits: Mapping[str, Limit]) -> list[Row]:
    title = f"{name} GPU"
    return [
        *harness.spread(title, "age at the viewer", outcome.ages, "ms", limits, name),
        Row(title, "frames out", outcome.fps, "fps", limits.get(f"{name}_fps"), f"{outcome.dropped} of {outcome.frames_in} replaced"),
        Row(title, "stamps that could not be read", outcome.unread, "", limits.get("unread")),
        Row(title, "swapped", 100 * outcome.swapped, "%", limits.get("swapped_percent")),
        Row(title, "share of one core", 100 * outcome.core, "%", None, "with the synthetic camera"),
    ]


def charts(outcomes: Mapping[str, Outcome]) -> list[Chart]:
    series = {name: (outcome.times, outcome.ages) for name, outcome in outcomes.items()}
    return [
        Chart("ages", "histogram", "How old frames are when they are seen", "", "ms", series),
        Chart("timeline", "points", "How old frames are when they are seen", "seconds", "ms", series),
    ]
