"""How old frames are when another program has read them from a real v4l2loopback device. Not collected by pytest: see README.md.

    python -m tests.rig.viewer [--device /dev/video10] [--networks]

The synthetic camera paints the moment of each capture into the picture; a program of its own reads the device and compares. Without
--networks the swap is a patch that is there already: threads, badge, I420, mark and device are the real ones. Closes with
'N passed, N failed' and exits with 1 on a failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import cv2
import numpy as np

from benchmarks import stamp
from realtime.pipeline.finish import Finisher
from realtime.pipeline.pipeline import Pipeline
from realtime.sinks.virtualcam import VirtualCamSink
from realtime.sources.synthetic import SyntheticSource
from realtime.trust.badge import Badge
from realtime.trust.watermark import Marker
from realtime.types import Frame, Patch, State, Verdict

WARM_UP = 2.0
"""Seconds before the reader starts: it sees the device only after the first frame."""
LEAST = 0.8
"""Share of the frames that a reader must get."""


def read(device: str, seconds: float) -> int:
    """The viewer: prints the age of every new frame in milliseconds, as JSON."""
    camera, seen, ages = cv2.VideoCapture(device, cv2.CAP_V4L2), -1, []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        there, image = camera.read()
        now = time.monotonic()
        luma = cv2.cvtColor(image[: stamp.side(image.shape[1])], cv2.COLOR_BGR2GRAY) if there else np.zeros((16, 640), np.uint8)
        stamped, age = stamp.read(luma), stamp.age(luma, now)
        if stamped is not None and stamped != seen and age is not None:
            seen = stamped
            ages.append(round(age * 1e3, 3))
    camera.release()
    print(json.dumps(ages))
    return 0


def swapped_already(size: tuple[int, int]) -> Callable[[Frame], Verdict]:
    """An infer stage without networks: a black square of four pixels in the middle."""
    patch = Patch(size[0] // 2, size[1] // 2, np.zeros((4, 4, 3), np.uint8), np.full((4, 4), 255, np.uint8))

    def swapped(frame: Frame) -> Verdict:
        return Verdict(frame, State.SWAPPED, (patch,))

    return swapped


def without_networks(options: argparse.Namespace) -> Pipeline:
    """The real threads, finisher and sink around a swap that is there already."""

    def finisher(wide: int, high: int) -> Finisher:
        return Finisher(wide, high, "hide", Marker(wide, high), Badge(wide, high), bgr_wanted=False)

    source = stamp.Stamped(SyntheticSource(size=options.size, fps=options.fps))
    return Pipeline(source, swapped_already(options.size), finisher, [VirtualCamSink(options.device)])


def with_networks(options: argparse.Namespace, cleanup: ExitStack) -> Pipeline:
    """The default path in all."""
    from benchmarks.live import Case, pipeline_of

    case = Case(*options.size, fps=options.fps, seconds=options.seconds)
    return pipeline_of(case, [VirtualCamSink(options.device)], cleanup)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="/dev/video10")
    parser.add_argument("--fps", type=float, default=10.0, help="low, for an emulated machine [10]")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480))
    parser.add_argument("--networks", action="store_true", help="the default path in all: for a real machine")
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        return read(options.device, options.seconds)
    with ExitStack() as cleanup:
        pipeline = with_networks(options, cleanup) if options.networks else without_networks(options)
        ages = seen_by_another(pipeline, options)
    return told(ages, pipeline, options)


def seen_by_another(pipeline: Pipeline, options: argparse.Namespace) -> list[float]:
    """Run the pipeline, and a reader beside it; the ages that it saw."""
    running = threading.Thread(target=pipeline.run, daemon=True)
    running.start()
    end = time.monotonic() + 600  # an emulated machine compiles for minutes
    while pipeline.telemetry.frames_out < WARM_UP * options.fps and time.monotonic() < end:
        time.sleep(0.05)
    reader = [sys.executable, "-m", "tests.rig.viewer", "--read", "--device", options.device, "--seconds", str(options.seconds)]
    done = subprocess.run(reader, capture_output=True, text=True)
    pipeline.stop()
    running.join(5)
    if done.returncode:
        print(done.stderr.strip()[-500:])
    return list(json.loads(done.stdout or "[]"))


def told(ages: list[float], pipeline: Pipeline, options: argparse.Namespace) -> int:
    sent = pipeline.telemetry.age.percentile(50) or 0.0
    results = [len(ages) >= LEAST * options.fps * options.seconds, bool(ages) and min(ages) > 0]
    print(f"{'ok  ' if results[0] else 'FAIL'} new frames at the reader  {len(ages)} in {options.seconds:.0f} s at {options.fps:g} fps")
    if ages:
        p50, p95, p99 = np.percentile(ages, [50, 95, 99])
        figures = f"p50 {p50:.1f} p95 {p95:.1f} p99 {p99:.1f} ms; when sent p50 {sent * 1e3:.1f} ms"
        print(f"{'ok  ' if results[1] else 'FAIL'} age when another program has read it  {figures}")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
