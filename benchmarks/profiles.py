"""What a profile costs: the whole program on a synthetic camera, once with each."""

from __future__ import annotations

import argparse

from benchmarks import harness, latency
from benchmarks.harness import Row
from realtime.profiles import PROFILES

SUMMARY = "age of frames, share of a core and memory of the whole program with each profile, synthetic camera at 30 fps"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="length of each run [20]")


def run(options: argparse.Namespace) -> int:
    rows = [row for name in PROFILES for row in profile(name, options.seconds)]
    return harness.finish("profiles", rows, {"seconds": options.seconds, "input": "synthetic 1280x720, 30 fps"}, options.json)


def profile(name: str, seconds: float) -> list[Row]:
    """Rows of one run of the program. Raises RealtimeError when it fails."""
    outcome = latency.program("--input", "synthetic", "--profile", name, "--seconds", str(seconds))
    report = outcome.report
    models = ", ".join(role["model"] for role in report["roles"].values())
    return [
        Row(name, "frames out", report["fps"], "fps", None, models),
        *(Row(name, f"age {quantile}", report["age_ms"][quantile], "ms") for quantile in ("p50", "p95")),
        Row(name, "share of one core", 100 * outcome.core(), "%", None, f"the whole process, after {latency.WARM_UP:g} s"),
        Row(name, "memory", max(memory for _, memory, _ in outcome.samples), "MB", None, "most"),
    ]
