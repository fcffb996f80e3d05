"""What a frame allocates and leaves behind, and where its time goes: who holds the interpreter's lock, and in which functions.

Allocations are Python's own, as tracemalloc sees them, which NumPy and OpenCV report theirs to. The profile is py-spy's (extra
`profile`) of the whole program; only samples within the three stages count, and none of threads that wait.
"""

from __future__ import annotations

import argparse
import gc
import re
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np

from benchmarks import harness
from benchmarks.harness import Limit, Row
from realtime import app, assets, loading
from realtime.errors import RealtimeError
from realtime.finders import needed
from realtime.following import infer_stage
from realtime.pipeline.controls import Controls
from realtime.settings import Settings
from realtime.sinks.null import NullSink
from realtime.sources.synthetic import SyntheticSource
from realtime.storage import model_store
from realtime.types import Frame, StreamFormat, Verdict

Result = TypeVar("Result")
SUMMARY = "what a frame allocates and leaves behind, where its time goes, and how much of it needs the interpreter's lock"
SIZE, FPS = (1280, 720), 30.0
WARM_UP = 40
"""Frames until every buffer is there and the detector has looked twice."""
RATE = 200
"""Samples a second."""
STAGES = ("capture", "infer", "blend")
MOST = "most allocated at a time"
SHOWN = 12
"""Functions of the profile that are listed."""
_STAGES = ("_capture (", "step (", "_blend (")
"""Functions of `pipeline.py` that a thread is in while it works on frames."""

_WAITS = ("wait (threading.py", "wait_until (", "_find_and_load")
"""Where a stage waits for a frame, which py-spy takes for work when the lock is being fetched; and imports, which come once."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=2400, metavar="N", help="frames whose allocations are watched [2400]")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="length of each of the two profiles; 0: none [20]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("waste")
    with ExitStack() as cleanup:
        rows = allocations(Stages(cleanup), options.frames, limits)
    if options.seconds and shutil.which("py-spy"):
        rows += profile_rows(*(profile(options.seconds, *flags) for flags in ((), ("--gil",))))
    elif options.seconds:
        print("py-spy is not installed, so that there is no profile: pip install '.[profile]'")
    settings = {"frames": options.frames, "seconds": options.seconds, "rate": RATE, "size": SIZE}
    return harness.finish("waste", rows, settings, options.json)


class Stages:
    """The default path in one thread: what the three stages do, one after the other."""

    def __init__(self, cleanup: ExitStack) -> None:
        settings = Settings(sources=((assets.SOURCE,),))
        store = model_store()
        store.ensure(needed(settings, store))
        models = loading.load_models(settings, store, cleanup)
        identities = loading.fit_sources(settings, models, print)
        used = models.detector, models.landmarker, models.recogniser, models.swapper
        self._infer = infer_stage(settings, *used, identities, Controls())
        self._source, self._sink = cleanup.enter_context(SyntheticSource(size=SIZE, fps=FPS, live=False)), NullSink()
        self._source.open()
        self._sink.open(StreamFormat(*SIZE, FPS, live=True))
        self._finisher = app.finisher(settings, *SIZE, [self._sink])

    def capture(self) -> Frame:
        frame = self._source.read(1.0)
        assert frame is not None
        return replace(frame, captured_at=frame.seq / FPS)

    def infer(self, frame: Frame) -> Verdict:
        return self._infer(frame)

    def blend(self, verdict: Verdict) -> None:
        self._sink.write(self._finisher.finish(self._finisher.judged(verdict)))


def allocations(stages: Stages, frames: int, limits: Mapping[str, Limit]) -> list[Row]:
    """The most that each stage had allocated at one time beyond what there was before, and what stays of a frame.

    What stays is counted over the later half: buffers and caches that fill up in the first seconds are no leak.
    """
    peaks = np.zeros((len(STAGES), WARM_UP + frames), np.int64)  # of a fixed size: figures kept in lists would count as left behind

    def watched(stage: int, number: int, call: Callable[[], Result]) -> Result:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = call()
        peaks[stage, number] = tracemalloc.get_traced_memory()[1] - before
        return result

    def play(first: int, end: int) -> int:
        """Bytes in use afterwards."""
        for number in range(first, end):
            frame = watched(0, number, stages.capture)
            verdict = watched(1, number, lambda frame=frame: stages.infer(frame))  # type: ignore[misc]
            watched(2, number, lambda verdict=verdict: stages.blend(verdict))  # type: ignore[misc]
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    half = WARM_UP + frames // 2
    tracemalloc.start()
    try:
        before = play(0, half)
        kept = (play(half, WARM_UP + frames) - before) / (frames - frames // 2)
    finally:
        tracemalloc.stop()
    whole, counted = SIZE[0] * SIZE[1] * 3, peaks[:, WARM_UP:]
    rows = [
        Row(name, MOST, 100 * values.max() / whole, "% of a frame", limits.get("peak_percent"), f"median {np.median(values):.0f} bytes")
        for name, values in zip(STAGES, counted, strict=True)
    ]
    return [*rows, Row("all", "left behind by a frame", kept, "bytes", limits.get("kept_bytes"), f"over the later half of {frames}")]


def profile(seconds: float, *flags: str) -> Counter[str]:
    """Samples by function of a run of the program: of threads that are busy, or (`--gil`) of the one that holds the lock.

    Raises RealtimeError when py-spy may not look into another process.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.txt"
        program = [sys.executable, "-m", "realtime", "--source", str(assets.SOURCE), "--input", "synthetic", "--output", "null"]
        command = ["py-spy", "record", *flags, "--rate", str(RATE), "--format", "raw", "--output", str(file), "--"]
        done = subprocess.run([*command, *program, "--seconds", str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not file.is_file():
            raise RealtimeError(f"py-spy made no profile: {done.stderr.strip()[-300:]}")
        return by_function(file.read_text(encoding="utf-8"))


def by_function(stacks: str) -> Counter[str]:
    """Samples by the innermost function, "name (file)", of py-spy's raw format; of the three stages only."""
    found: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, samples = line.rpartition(" ")
        if any(stage in stack for stage in _STAGES) and not any(word in stack for word in _WAITS):
            found[re.sub(r":\d+\)$", ")", stack.rpartition(";")[2])] += int(samples)
    return found


def profile_rows(busy: Counter[str], locked: Counter[str]) -> list[Row]:
    """Each function's share of the time that the stages are busy, and how much of it needs the lock."""
    every = max(busy.total(), 1)
    note = f"{busy.total()} samples at {RATE} a second"
    rows = [Row("profile", "with the interpreter's lock", 100 * locked.total() / every, "%", None, note)]
    for function, samples in busy.most_common(SHOWN):
        held = f"of it with the lock {100 * min(locked[function] / samples, 1):.0f} %"
        rows.append(Row("profile", function, 100 * samples / every, "% of the time", None, held))
    return rows
