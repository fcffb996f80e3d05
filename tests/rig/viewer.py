"""How old frames are when another program has read them from a real v4l2loopback device. Not collected by pytest: see README.md.

    python -m tests.rig.viewer [--device /dev/video10] [--networks] [--json FILE]

The synthetic camera paints the moment of each capture into the picture; a program of its own reads the device and compares. By turns with
that, the same pipeline sends to a sink that only counts: what the device adds is the difference. Without --networks the swap is a patch
that is there already: threads, badge, I420, mark and device are the real ones. Exits with 1 when frames are missing or go back in time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from benchmarks import harness, stamp
from realtime.pipeline.finish import Finisher
from realtime.pipeline.pipeline import Pipeline
from realtime.sinks.null import NullSink
from realtime.sinks.virtualcam import VirtualCamSink
from realtime.sources.synthetic import SyntheticSource
from realtime.trust.badge import Badge
from realtime.trust.watermark import Marker
from realtime.types import Frame, OutputFrame, Patch, State, Verdict

WARM_UP = 2.0
"""Seconds of swapped frames before anything counts."""
PATIENCE = 300.0
"""Seconds in which they must come: an emulated machine starts slowly."""
SHARE = harness.Limit(least=0.8, why="of the new frames that were written, a reader must get most")
ORDER = harness.Limit(most=0, why="a picture of before one that was already shown is a jerk")
POSITIVE = harness.Limit(least=0, why="a frame cannot be seen before it was taken")


class Noted:
    """Over a sink: when each new swapped frame had been written, and how old it was then, in milliseconds."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sent: list[tuple[float, float]] = []
        self._last = -1

    def write(self, frame: OutputFrame) -> None:
        super().write(frame)
        now = time.perf_counter()
        if frame.state is State.SWAPPED and frame.seq > self._last:
            self._last = frame.seq
            self.sent.append((now, (now - frame.captured_at) * 1e3))


class ToDevice(Noted, VirtualCamSink): ...


class ToNobody(Noted, NullSink): ...


@dataclass
class Ages:
    """Of the frames of one run, in milliseconds."""

    sent: list[float]
    read: list[float] = field(default_factory=list)
    """As another program saw them."""
    back: int = 0
    seconds: float = 0.0


def swapped_already(size: tuple[int, int]) -> Callable[[Frame], Verdict]:
    """An infer stage without networks: a black square of four pixels in the middle."""
    patch = Patch(size[0] // 2, size[1] // 2, np.zeros((4, 4, 3), np.uint8), np.full((4, 4), 255, np.uint8))

    def swapped(frame: Frame) -> Verdict:
        return Verdict(frame, State.SWAPPED, (patch,))

    return swapped


def without_networks(options: argparse.Namespace, sink: Any) -> Pipeline:
    """The real threads, finisher and sink around a swap that is there already."""

    def finisher(wide: int, high: int) -> Finisher:
        return Finisher(wide, high, "hide", Marker(wide, high), Badge(wide, high), bgr_wanted=False)

    source = stamp.Stamped(SyntheticSource(size=options.size, fps=options.fps))
    return Pipeline(source, swapped_already(options.size), finisher, [sink])


def with_networks(options: argparse.Namespace, sink: Any, cleanup: ExitStack) -> Pipeline:
    """The default path in all."""
    from benchmarks.live import Case, pipeline_of

    case = Case(*options.size, fps=options.fps, seconds=WARM_UP + PATIENCE + options.seconds)
    return pipeline_of(case, [sink], cleanup)


@contextmanager
def running(options: argparse.Namespace, sink: Any) -> Iterator[None]:
    """The pipeline at work, from the end of its warm-up on."""
    with ExitStack() as cleanup:
        pipeline = with_networks(options, sink, cleanup) if options.networks else without_networks(options, sink)
        thread = threading.Thread(target=pipeline.run, daemon=True)
        thread.start()
        try:
            end = time.perf_counter() + PATIENCE
            while len(sink.sent) < WARM_UP * options.fps and time.perf_counter() < end:
                time.sleep(0.05)
            yield
        finally:
            pipeline.stop()
            thread.join(10)


def to_nobody(options: argparse.Namespace) -> Ages:
    sink = ToNobody()
    with running(options, sink):
        begin = time.perf_counter()
        time.sleep(options.seconds)
        return within(sink, begin, time.perf_counter())


def to_device(options: argparse.Namespace) -> Ages:
    sink = ToDevice(options.device)
    with running(options, sink):
        onlooker = [sys.executable, "-m", "tests.rig.onlooker", options.device, str(options.seconds)]
        done = subprocess.run(onlooker, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr.strip()[-500:])
        seen = json.loads(done.stdout)
        ages = within(sink, seen["begin"], seen["end"])
        ages.read, ages.back = seen["ages"], seen["back"]
        return ages


def within(sink: Any, begin: float, end: float) -> Ages:
    return Ages([age for at, age in sink.sent if begin <= at <= end], seconds=end - begin)


def rows(nobody: Sequence[Ages], device: Sequence[Ages]) -> list[harness.Row]:
    plain, sent, read = joined(a.sent for a in nobody), joined(a.sent for a in device), joined(a.read for a in device)
    by = "read by another program"
    told = [
        *of_sent("to nobody", plain, nobody),
        *of_sent("to the device", sent, device),
        harness.Row(by, "new frames", len(read) / max(len(sent), 1), "of those sent", SHARE, f"{len(read)} of {len(sent)}"),
        harness.Row(by, "frames that went back", sum(ages.back for ages in device), "", ORDER),
        harness.Row(by, "least age", min(read, default=np.nan), "ms", POSITIVE),
        *harness.spread(by, "age when seen", read, "ms", {}, ""),
    ]
    if len(read) and len(plain):
        added = {q: float(np.percentile(read, q) - np.percentile(plain, q)) for q in (50, 95)}
        told += [harness.Row("what the device adds", f"age p{q}", value, "ms") for q, value in added.items()]
    return told


def joined(ages: Iterable[list[float]]) -> list[float]:
    return [age for each in ages for age in each]


def of_sent(name: str, ages: list[float], side: Sequence[Ages]) -> list[harness.Row]:
    rate = len(ages) / sum(each.seconds for each in side)
    return [harness.Row(name, "frames out", rate, "fps"), *harness.spread(name, "age when sent", ages, "ms", {}, "")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="/dev/video10")
    parser.add_argument("--fps", type=float, default=10.0, help="low, for an emulated machine [10]")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run [10]")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each kind, by turns, after a first of each that does not count [2]")
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480))
    parser.add_argument("--networks", action="store_true", help="the default path in all: for a real machine")
    parser.add_argument("--note", default="", help="what to remember of the machine, for the JSON file")
    harness.options(parser)
    options = parser.parse_args()
    cv2.setNumThreads(1)  # as the program does
    sides = {"nobody": lambda: to_nobody(options), "device": lambda: to_device(options)}
    taken = harness.by_turns(sides, options.rounds, 1)
    kept = ("size", "fps", "seconds", "rounds", "networks", "note")
    settings = {name: vars(options)[name] for name in kept}
    return harness.finish("viewer", rows(taken["nobody"], taken["device"]), settings, options.json)


if __name__ == "__main__":
    sys.exit(main())
