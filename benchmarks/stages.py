"""CPU time of the per-frame path, stage by stage, beside what a copy, a colour conversion and a plain paste cost on the same machine.

All of them by turns: a machine that is slower for a while is so for each, and the spread of the rounds shows it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from time import thread_time
from typing import TypeVar

import cv2
import numpy as np

from benchmarks import floors, harness
from benchmarks.harness import Chart, Limit, Row
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
Parts = Mapping[tuple[str, str], float]
"""Milliseconds of one frame, by name and metric of a row."""
SUMMARY = "CPU time a frame of follow, swap, paste and what comes after, one thread, beside floors"
CASES = {"720p_258px": ((1280, 720), 258), "720p_400px": ((1280, 720), 400), "1080p_258px": ((1920, 1080), 258)}
"""Frame size and width of the face mesh in pixels."""
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080)}
TOGETHER, AFTER, IN_ALL = "follow + swap + paste", "badge, I420, mark, hand-over", "default path in all"
LOOP = 24
"""Different pictures of the moving face, played to and fro."""
FPS = 30.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=300, metavar="N", help="frames measured in each case, in all rounds [300]")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="how often each case and floor has its turn [10]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    each = max(options.frames // options.rounds, 1)
    with ExitStack() as cleanup:
        taken = by_part(harness.by_turns(sides(cleanup), options.rounds, each))
    rows = rows_of(taken, each, harness.budgets("stages"))
    settings = {"frames": each * options.rounds, "rounds": options.rounds, "threads": 1}
    return harness.finish("stages", rows, settings, options.json, [waterfall(rows)])


def sides(cleanup: ExitStack) -> dict[str, Callable[[], Parts]]:
    """What takes turns: each floor, each case with networks and a swapper of its own, and what comes after. A frame of it a call."""
    calls = {named: call for size in SIZES.values() for named, call in floors.floors(size).items()}
    calls |= {(f"after {name}", AFTER): partial(floors.timed, after(size)) for name, size in SIZES.items()}
    taking: dict[str, Callable[[], Parts]] = {}
    for (name, metric), call in calls.items():
        taking[f"{name}: {metric}"] = partial(_alone, name, metric, call)
    for name in CASES:
        taking[name] = partial(_case, name, Bench(cleanup).frames(name))
    return taking


def _alone(name: str, metric: str, call: Callable[[], float]) -> Parts:
    return {(name, metric): call()}


def _case(name: str, frames: Iterator[dict[str, float]]) -> Parts:
    return {(name, part): ms for part, ms in next(frames).items()}


def by_part(taken: Mapping[str, Sequence[Parts]]) -> dict[tuple[str, str], list[float]]:
    """Milliseconds of each frame by a row's name and metric."""
    return {named: [parts[named] for parts in frames] for frames in taken.values() for named in frames[0]}


def rows_of(taken: Mapping[tuple[str, str], Sequence[float]], each: int, limits: Mapping[str, Limit]) -> list[Row]:
    """Every part, and the default path in all: from the capture's hand-over to the sink's, with a face of the usual width."""
    bounds = {(name, TOGETHER): limits.get(name) for name in CASES}
    bounds |= {(f"after {name}", AFTER): limits.get(f"after_{name}") for name in SIZES}
    floor = {named: values for named, values in taken.items() if named[0].startswith("floor")}
    rows = floors.rows(floor, each)
    rows += [harness.steady(*named, values, each, bounds.get(named)) for named, values in taken.items() if named not in floor]
    for name, size in SIZES.items():
        whole = np.add(taken[f"{name}_258px", TOGETHER], taken[f"after {name}", AFTER]).tolist()
        decode = taken[floors.floor(size), floors.DECODE]
        rows.append(harness.steady(name, IN_ALL, whole, each, limits.get(f"in_all_{name}")))
        rows.append(harness.ratio(name, f"{IN_ALL}, over a JPEG decode", whole, decode, each))
    return rows


def waterfall(rows: Sequence[Row]) -> Chart:
    found = {(row.name, row.metric): row.value for row in rows}
    series = {}
    for metric in ("follow", "swap", "paste", AFTER):
        case = "after {}" if metric == AFTER else "{}_258px"
        series[metric] = (list(SIZES), [found[case.format(name), metric] for name in SIZES])
    return Chart("waterfall", "bars", "CPU time of a frame, one thread, face 258 pixels wide", "", "ms", series)


class Bench:
    """The default models, on the best backend or the one that is named; one for each sequence of frames, for a swapper remembers."""

    def __init__(self, cleanup: ExitStack, backend: str = "auto") -> None:
        self._settings = Settings(sources=((assets.SOURCE,),), backend=backend)
        store = model_store()
        store.ensure(needed(self._settings, store))
        self._models = loading.load_models(self._settings, store, cleanup)
        self._identity = loading.fit_sources(self._settings, self._models, print)[0]

    def frames(self, name: str) -> Iterator[dict[str, float]]:
        """Milliseconds of thread CPU time of each part and of all, frame after frame without end, in the case of that name."""
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
        seconds = {"follow": followed - start, "swap": swapped - followed, "paste": pasted - swapped, TOGETHER: pasted - start}
        return {part: taken * 1e3 for part, taken in seconds.items()}

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


def after(size: tuple[int, int]) -> Callable[[], None]:
    """Does everything after the swap but the paste: badge, I420, mark, and the hand-overs between stages and to a sink."""
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

    return hand_over
