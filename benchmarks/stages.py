"""CPU time of the per-frame path, stage by stage, beside what a copy, a colour conversion and a plain paste cost on the same machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from time import thread_time
from typing import TypeVar

import cv2
import numpy as np

from benchmarks import harness
from benchmarks.floors import floors, median
from benchmarks.harness import Chart, Row
from realtime import app, assets, loading
from realtime.finders import needed
from realtime.following import tracking
from realtime.pipeline.slot import Slot
from realtime.settings import Settings
from realtime.sinks.null import NullSink
from realtime.sources.synthetic import bundled_person
from realtime.storage import model_store
from realtime.tracking import Tracker
from realtime.types import Frame, Image, Patch, State, StreamFormat, Verdict
from realtime.vision import geometry
from realtime.vision.blend import paste

Thing = TypeVar("Thing")
SUMMARY = "CPU time a frame of follow, swap, paste and what comes after, one thread, beside floors"
CASES = {"720p_258px": ((1280, 720), 258), "720p_400px": ((1280, 720), 400), "1080p_258px": ((1920, 1080), 258)}
"""Frame size and width of the face mesh in pixels."""
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080)}
TOGETHER, AFTER = "follow + swap + paste", "badge, I420, mark, hand-over"
LOOP = 24
"""Different pictures of the moving face, played to and fro."""
FPS = 30.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=300, metavar="N", help="frames measured in each case [300]")
    parser.add_argument("--warm-up", type=int, default=40, metavar="N", help="frames before the measurement [40]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("stages")
    rows = [row for size in SIZES.values() for row in floors(size, options.frames)]
    with ExitStack() as cleanup:
        bench = Bench(cleanup)
        for name, (size, width) in CASES.items():
            rows += bench.case(name, size, width, options, limits.get(name))
    rows += [row for name, size in SIZES.items() for row in after(name, size, options, limits)]
    rows += in_all(rows, limits)
    settings = {"frames": options.frames, "warm_up": options.warm_up, "threads": 1}
    return harness.finish("stages", rows, settings, options.json, [waterfall(rows)])


def in_all(rows: Sequence[Row], limits: Mapping[str, harness.Limit]) -> list[Row]:
    """The default path of a frame from the capture's hand-over to the sink's, with a face of the usual width."""
    found = {(row.name, row.metric): row.value for row in rows}
    sums = {name: found[f"{name}_258px", TOGETHER] + found[f"after {name}", AFTER] for name in SIZES}
    return [Row(name, "default path in all", value, "ms", limits.get(f"in_all_{name}")) for name, value in sums.items()]


def waterfall(rows: Sequence[Row]) -> Chart:
    found = {(row.name, row.metric): row.value for row in rows}
    series = {}
    for metric in ("follow", "swap", "paste", AFTER):
        case = "after {}" if metric == AFTER else "{}_258px"
        series[metric] = (list(SIZES), [found[case.format(name), metric] for name in SIZES])
    return Chart("waterfall", "bars", "CPU time of a frame, one thread, face 258 pixels wide", "", "ms", series)


class Bench:
    """The default models, loaded once for all cases, on the best backend or the one that is named."""

    def __init__(self, cleanup: ExitStack, backend: str = "auto") -> None:
        self._settings = Settings(sources=((assets.SOURCE,),), backend=backend)
        store = model_store()
        store.ensure(needed(self._settings, store))
        self._models = loading.load_models(self._settings, store, cleanup)
        self._identity = loading.fit_sources(self._settings, self._models, print)[0]

    def case(self, name: str, size: tuple[int, int], width: int, options: argparse.Namespace, limit: harness.Limit | None) -> list[Row]:
        """Rows for one frame size and face width: each part, and the sum that the limit is for."""
        parts: dict[str, list[float]] = {"follow": [], "swap": [], "paste": [], "all": []}
        for n, times in zip(range(options.warm_up + options.frames), self._frames(size, width), strict=False):
            if n >= options.warm_up:
                for part, seconds in times.items():
                    parts[part].append(seconds * 1e3)
        rows = [Row(name, part, float(np.median(parts[part])), "ms") for part in ("follow", "swap", "paste")]
        p95 = float(np.percentile(parts["all"], 95))
        return [*rows, Row(name, TOGETHER, float(np.median(parts["all"])), "ms", limit, f"p95 {p95:.2f}")]

    def frames(self, name: str) -> Iterator[dict[str, float]]:
        """Thread CPU seconds of each part and of all, frame after frame without end, in the case of that name."""
        return self._frames(*CASES[name])

    def _frames(self, size: tuple[int, int], width: int) -> Iterator[dict[str, float]]:
        pictures = self._moving(size, width)
        tracker = Tracker(self._models.detector, self._models.landmarker, self._models.recogniser, tracking(self._settings))
        self._models.swapper.use(self._identity)
        self._models.swapper.reset()
        for n, image in enumerate(to_and_fro(pictures)):
            yield self._frame(tracker, image.copy(), n / FPS)

    def _frame(self, tracker: Tracker, image: Image, at: float) -> dict[str, float]:
        start = thread_time()
        tracked = tracker.track(image, at)
        followed = thread_time()
        assert tracked.face is not None, f"the face was lost: {tracked.reason}"
        patch = self._models.swapper.swap(image, tracked.face)
        swapped = thread_time()
        assert patch is not None
        paste(image, patch.x, patch.y, patch.colour, patch.alpha)
        pasted = thread_time()
        return {"follow": followed - start, "swap": swapped - followed, "paste": pasted - swapped, "all": pasted - start}

    def _moving(self, size: tuple[int, int], width: int) -> list[Image]:
        """The bundled person with a face of this width, moving as a head does before a camera."""
        photo = bundled_person()
        mesh = self._models.landmarker.landmarks(photo, geometry.region_from_detection(self._models.detector.detect(photo)[0]))
        box = geometry.bounds(mesh.points)
        pictures = []
        for step in np.linspace(-1, 1, LOOP):
            matrix = cv2.getRotationMatrix2D(box.centre, 8 * step, width / box.width)
            matrix[:, 2] += np.array(size) / 2 - np.array(box.centre) + np.array([0.05 * size[0] * step, 0.02 * size[1] * step * step])
            pictures.append(cv2.warpAffine(photo, matrix, size, borderMode=cv2.BORDER_REFLECT))
        return pictures


def to_and_fro(things: Sequence[Thing]) -> Iterator[Thing]:
    period = 2 * (len(things) - 1)
    for n in count():
        step = n % period
        yield things[min(step, period - step)]


def after(name: str, size: tuple[int, int], options: argparse.Namespace, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """Everything after the swap but the paste: badge, I420, mark, and the hand-overs between stages and to a sink."""
    settings = Settings(sources=())
    sink = NullSink()
    sink.open(StreamFormat(*size, FPS, live=True))
    finisher = app.finisher(settings, *size, [sink])
    image = cv2.resize(bundled_person(), size)
    slot: Slot[Verdict] = Slot("latest")
    tiny = Patch(0, 0, np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1), np.uint8))
    verdict = Verdict(Frame(0, 0.0, image), State.SWAPPED, (tiny,))

    def hand_over() -> None:
        slot.put(verdict)
        taken = slot.get()
        assert taken is not None
        sink.write(finisher.finish(taken))

    median(hand_over, options.warm_up)
    return [Row(f"after {name}", AFTER, median(hand_over, options.frames), "ms", limits.get(f"after_{name}"))]
