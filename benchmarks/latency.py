"""Capture-to-sent latency, rate, start-up and memory of the whole program, each run in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import harness
from benchmarks.harness import Chart, Limit, Row
from benchmarks.live import Case, in_own_process
from benchmarks.live import Outcome as LiveOutcome
from realtime import assets
from realtime.errors import RealtimeError
from realtime.finders import needed
from realtime.settings import Settings
from realtime.sinks.video import VideoSink
from realtime.sources.base import EndOfStream
from realtime.sources.synthetic import SyntheticSource
from realtime.storage import model_store
from realtime.types import OutputFrame, State, StreamFormat

SUMMARY = "age of frames, rate, start-up and memory of the whole pipeline from a synthetic camera and a file to a null sink"
SIZE = (1280, 720)
FILE_FRAMES = 900
FILE_ROUNDS = 5
CAMERA_ROUNDS = 3
MB = 1e6
WARM_UP = 4.0
"""Seconds of start-up, which is work for the processor that does not come again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the program reported, and what it took."""

    report: dict[str, Any]
    samples: list[tuple[float, float, float]]
    """Seconds, resident MB, processor seconds used so far."""

    def core(self) -> float:
        """Processor time over wall time from `WARM_UP` seconds after the start to the end."""
        counted = np.array([sample for sample in self.samples if sample[0] >= WARM_UP])
        if len(counted) < 2:
            return float("nan")
        seconds, _, used = counted[-1] - counted[0]
        return float(used / seconds)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="length of each camera run [20]")
    parser.add_argument("--memory-seconds", type=float, default=60.0, metavar="N", help="length of the run that memory is watched in [60]")


def run(options: argparse.Namespace) -> int:
    limits = harness.budgets("latency")
    store = model_store()
    store.ensure(needed(Settings(sources=()), store))
    program("--input", "synthetic", "--frames", "30")  # fills the caches of compiled kernels and networks: "models cached"
    rows = cameras(options.seconds, limits)
    seen = in_own_process(Case(fps=30, seconds=options.seconds))
    rows += harness.spread("viewer 30 fps", "age when seen", seen.ages, "ms", limits, "viewer_30")
    rows += from_file(limits)
    watched = program("--input", "synthetic", "--seconds", str(options.memory_seconds))
    rows += memory(watched, limits)
    lengths = {"seconds": options.seconds, "memory_seconds": options.memory_seconds, "rounds": CAMERA_ROUNDS}
    settings = {**lengths, "size": SIZE, "file_frames": FILE_FRAMES}
    return harness.finish("latency", rows, settings, options.json, charts(seen, watched))


def charts(seen: LiveOutcome, watched: Outcome) -> list[Chart]:
    ages = {"camera at 30 fps": (seen.times, seen.ages)}
    times, sizes, _ = zip(*watched.samples, strict=True)
    return [
        Chart("ages", "histogram", "How old frames are when they are seen", "", "ms", ages),
        Chart("timeline", "points", "How old frames are when they are seen", "seconds", "ms", ages),
        Chart("memory", "lines", "Memory of the whole program", "seconds", "MB", {"resident": (times, sizes)}),
    ]


def program(*arguments: str) -> Outcome:
    """Run the program as a user does, with the bundled source photo and a null sink. Raises RealtimeError when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "realtime", "--source", str(assets.SOURCE), "--output", "null", "--report", str(report)]
        with subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            samples = watched(process)
            if process.wait() != 0:
                raise RealtimeError(f"the measured program failed: {process.stderr.read().strip() if process.stderr else ''}")
        return Outcome(json.loads(report.read_text(encoding="utf-8")), samples)


def watched(process: subprocess.Popen[str]) -> list[tuple[float, float, float]]:
    """Resident memory and processor time of a running process, four times a second until it ends."""
    samples, start, about = [], time.perf_counter(), psutil.Process(process.pid)
    while process.poll() is None:
        try:
            used = about.cpu_times()
            samples.append((time.perf_counter() - start, about.memory_info().rss / MB, used.user + used.system))
        except psutil.NoSuchProcess:
            break
        time.sleep(0.25)
    return samples


def cameras(seconds: float, limits: dict[str, Limit]) -> list[Row]:
    """Both rates take turns, so that a machine that is busy for a while is so for both."""
    reports: dict[int, list[Mapping[str, Any]]] = {30: [], 60: []}
    for _ in range(CAMERA_ROUNDS):
        for fps, rounds in reports.items():
            rounds.append(program("--input", "synthetic", "--fps", str(fps), "--seconds", str(seconds)).report)
    return [row for fps, rounds in reports.items() for row in camera(fps, rounds, limits)]


def camera(fps: int, rounds: Sequence[Mapping[str, Any]], limits: dict[str, Limit]) -> list[Row]:
    """Medians of the rounds' figures, with the least and the most of any."""
    swapped = [100 * report["states"].get("swapped", 0) / max(report["frames_out"], 1) for report in rounds]
    more = f", {sum(report['frames_in'] for report in rounds)} in all"
    dropped = [report["dropped"] for report in rounds]
    rows = [
        _median(fps, "frames out", [report["fps"] for report in rounds], "fps", limits.get(f"camera_{fps}_fps")),
        _median(fps, "frames dropped", dropped, "", limits.get(f"camera_{fps}_dropped"), more),
    ]
    for quantile in ("p50", "p95", "p99"):
        ages = [report["age_ms"][quantile] for report in rounds]
        rows.append(_median(fps, f"age {quantile}", ages, "ms", limits.get(f"camera_{fps}_{quantile}")))
    return [*rows, _median(fps, "swapped", swapped, "%")]


def _median(fps: int, metric: str, values: Sequence[float], unit: str, limit: Limit | None = None, more: str = "") -> Row:
    note = f"{len(values)} rounds {min(values):.4g} to {max(values):.4g}{more}"
    return Row(f"camera {fps} fps", metric, float(np.median(values)), unit, limit, note)


def from_file(limits: dict[str, Limit]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "moving.mp4"
        make_file(path)
        reports = [program("--input", str(path)).report for _ in range(FILE_ROUNDS)]
    return file_rows(reports, limits)


def file_rows(reports: Sequence[Mapping[str, Any]], limits: dict[str, Limit]) -> list[Row]:
    """The median of the rounds' rates: one lasts six seconds, in which a shared machine may do something else."""
    rates, missing = [report["fps"] for report in reports], [FILE_FRAMES - report["frames_out"] for report in reports]
    note = f"{SIZE[0]}x{SIZE[1]} H.264; {len(rates)} rounds {min(rates):.0f} to {max(rates):.0f}"
    return [
        Row("file", "frames out", float(np.median(rates)), "fps", limits.get("file_fps"), note),
        Row("file", "frames missing", max(missing), "", limits.get("file_missing"), f"of {FILE_FRAMES}, the most in a round"),
    ]


def make_file(path: Path) -> None:
    """The synthetic camera's frames as an H.264 file."""
    import cv2

    source = SyntheticSource(size=SIZE, fps=30, frames=FILE_FRAMES, live=False)
    with VideoSink(path) as sink, source:
        source.open()
        sink.open(StreamFormat(*SIZE, 30, live=False))
        while True:
            try:
                frame = source.read(1.0)
            except EndOfStream:
                return
            assert frame is not None
            i420 = cv2.cvtColor(frame.image, cv2.COLOR_BGR2YUV_I420)
            sink.write(OutputFrame(frame.seq, frame.captured_at, State.SWAPPED, frame.image, i420, frame.media_time))


def memory(outcome: Outcome, limits: dict[str, Limit]) -> list[Row]:
    """Start-up time, share of a core, and memory: the most, and its growth between the first and last quarter after a warm-up of 10 s."""
    times, sizes, _ = (np.array(values) for values in zip(*outcome.samples, strict=True))
    settled = sizes[times > min(10.0, times[-1] / 3)]
    quarter = max(len(settled) // 4, 1)
    growth = float(np.median(settled[-quarter:]) - np.median(settled[:quarter]))
    seconds, first = f"over {times[-1]:.0f} s", outcome.report["first_swap_seconds"]
    return [
        Row("start", "to the first swapped frame", first, "s", limits.get("start_seconds"), "models and kernels cached"),
        Row("camera 30 fps", "share of one core", 100 * outcome.core(), "%", limits.get("core_percent"), seconds),
        Row("memory", "most", float(sizes.max()), "MB", limits.get("memory_mb"), seconds),
        Row("memory", "growth", growth, "MB", limits.get("memory_growth_mb"), f"first to last quarter, {seconds}"),
    ]
