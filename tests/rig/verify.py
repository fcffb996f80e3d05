"""`verify --camera` in front of a real v4l2loopback device that a marked stream is fed into. Not collected by pytest: see README.md.

    python -m tests.rig.verify [--device /dev/video10]

The stream goes through the real threads, badge, I420, mark and device; the swap is a patch that is there already. The command reads the
device in a process of its own, as somebody in a call would. Closes with 'N passed, N failed' and exits with 1 on a failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from realtime.pipeline.finish import Finisher
from realtime.pipeline.pipeline import Pipeline
from realtime.sinks.loopback import cure
from realtime.sinks.virtualcam import VirtualCamSink
from realtime.sources.synthetic import SyntheticSource
from realtime.trust.badge import Badge
from realtime.trust.watermark import Marker
from tests.rig.viewer import swapped_already

FPS = 4.0
"""Low, for an emulated machine."""
SIZES = ((640, 480), (1280, 720))
PATIENCE = 1200
"""Seconds that one look may take: of an emulated machine, on a loaded one, much."""
FOUND, NOT_FOUND = 0, 3
"""What the command ends with."""


@contextmanager
def stream(device: str, size: tuple[int, int], *, marked: bool) -> Iterator[Pipeline]:
    """A swapped stream on the device, with or without the mark."""

    def finisher(wide: int, high: int) -> Finisher:
        return Finisher(wide, high, "hide", Marker(wide, high) if marked else None, Badge(wide, high), bgr_wanted=False)

    pipeline = Pipeline(SyntheticSource(size=size, fps=FPS), swapped_already(size), finisher, [VirtualCamSink(device)])
    running = threading.Thread(target=pipeline.run, daemon=True)
    running.start()
    try:
        end = time.perf_counter() + 600  # an emulated machine compiles for minutes
        while pipeline.telemetry.frames_out < FPS and time.perf_counter() < end:
            time.sleep(0.05)
        yield pipeline
    finally:
        pipeline.stop()
        running.join(10)
        cure(device)


def verified(device: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, the JSON, and what went wrong."""
    command = [sys.executable, "-m", "realtime", "verify", "--camera", device, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return 124, {}, f"no answer for {PATIENCE} seconds"
    try:
        return done.returncode, json.loads(done.stdout), done.stderr.strip()[-300:]
    except ValueError:
        return done.returncode, {}, (done.stdout + done.stderr).strip()[-300:]


def checks(device: str) -> Iterator[tuple[str, bool, str]]:
    for size in SIZES:
        name = f"{size[0]}x{size[1]}"
        with stream(device, size, marked=True):
            status, said, wrong = verified(device)
        mark = said.get("watermark", {})
        yield f"the mark is found {name}", status == FOUND and mark.get("status") == "found", f"{mark.get('detail')} {wrong}"
        yield f"it says that a face was changed {name}", bool(mark.get("says_ai")), f"status {status}"
        layers = [said.get(layer, {}).get("status") for layer in ("credentials", "metadata")]
        yield f"nothing else is claimed of a live picture {name}", layers == ["not_found"] * 2, str(layers)
    with stream(device, SIZES[0], marked=False):
        status, said, wrong = verified(device)
    yield "without a mark none is found", status == NOT_FOUND, f"status {status}, {said.get('watermark')} {wrong}"
    status, said, wrong = verified("/dev/video99")
    yield "a camera that is not there is a sentence", status in (1, 2) and "Traceback" not in wrong, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="/dev/video10")
    results = []
    for name, ok, note in checks(parser.parse_args().device):
        results.append(ok)
        print(f"{'ok  ' if ok else 'FAIL'} {name}  {note}", flush=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
