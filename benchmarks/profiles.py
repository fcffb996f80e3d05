"""What a profile costs: the whole program on a synthetic camera, once with each."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks import harness
from benchmarks.harness import Row
from realtime import app
from realtime.errors import RealtimeError
from realtime.profiles import PROFILES

SUMMARY = "age of frames, share of a core and memory of the whole program with each profile, synthetic camera at 30 fps"
MB = 1e6


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="length of each run [20]")


def run(options: argparse.Namespace) -> int:
    rows = [row for name in PROFILES for row in profile(name, options.seconds)]
    return harness.finish("profiles", rows, {"seconds": options.seconds, "input": "synthetic 1280x720, 30 fps"}, options.json)


def profile(name: str, seconds: float) -> list[Row]:
    """Rows of one run of the program. Raises RealtimeError when it fails."""
    report, cores, most = _measured(name, seconds)
    models = ", ".join(role["model"] for role in report["roles"].values())
    rows = [Row(name, f"age {quantile}", report["age_ms"][quantile], "ms") for quantile in ("p50", "p95")]
    return [
        Row(name, "frames out", report["fps"], "fps", None, models),
        *rows,
        Row(name, "share of one core", 100 * cores, "%", None, "the whole process, after the first two seconds"),
        Row(name, "memory", most, "MB", None, "most"),
    ]


def _measured(name: str, seconds: float) -> tuple[dict[str, Any], float, float]:
    """The program's report, the cores it kept busy once it ran, and its most memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "realtime", "--source", str(app.demo_source()), "--input", "synthetic", "--output", "null"]
        command += ["--profile", name, "--seconds", str(seconds), "--report", str(report)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            samples = _watched(process)
            if process.wait() != 0:
                raise RealtimeError(f"the measured program failed: {process.stderr.read().strip() if process.stderr else ''}")
        told = json.loads(report.read_text(encoding="utf-8"))
    running = [sample for sample in samples if sample[0] >= told["first_swap_seconds"] + 2.0]
    if len(running) < 2:
        raise RealtimeError(f"--seconds {seconds:g} is too short to measure: give 10 or more")
    (begin, before, _), (end, after, _) = running[0], running[-1]
    return told, (after - before) / (end - begin), max(memory for _, _, memory in samples)


def _watched(process: subprocess.Popen[str]) -> list[tuple[float, float, float]]:
    """(seconds since the start, CPU seconds of the process, resident MB), four times a second until it ends."""
    samples, start, about = [], time.monotonic(), psutil.Process(process.pid)
    while process.poll() is None:
        try:
            used = about.cpu_times()
            samples.append((time.monotonic() - start, used.user + used.system, about.memory_info().rss / MB))
        except psutil.NoSuchProcess:
            break
        time.sleep(0.25)
    return samples
