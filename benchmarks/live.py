"""The product's own pipeline before a synthetic camera whose frames carry the moment of their capture, watched where a viewer would be.

`python -m benchmarks.live --case '{"fps": 60}' --json FILE` measures one case in a process of its own, as `in_own_process` does.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import cv2
import numpy as np
import psutil

from benchmarks import harness, stamp
from benchmarks.gpu import Slowed, swap_network
from benchmarks.stamp import Stamped
from realtime import app, assets, loading
from realtime.finders import needed
from realtime.following import beside, infer_stage
from realtime.models.store import ModelStore
from realtime.pipeline.controls import Controls
from realtime.pipeline.pipeline import Limits, Pipeline
from realtime.settings import Settings
from realtime.sinks.base import Sink
from realtime.sinks.null import NullSink
from realtime.sources.synthetic import SyntheticSource, bundled_person, cover
from realtime.storage import model_store
from realtime.types import Image, OutputFrame, State

WARM_UP = 2.0
"""Seconds from the first frame on that do not count: caches fill, the first face is found."""
_PATIENCE = 120.0
"""Seconds after which a run ends in which the first frame came late or never."""
MB = 1e6
_MEMORY_SECONDS = 0.25
_GRID = {1: (1, 1), 2: (2, 1), 4: (2, 2), 8: (4, 2)}
"""Faces -> columns and rows of pictures of one person."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: the default path, or a swap network on a GPU that is not there."""

    width: int = 1280
    height: int = 720
    fps: float = 30.0
    seconds: float = 10.0
    """That count."""
    faces: int = 1
    """1, 2, 4 or 8."""
    cores: int = 0
    """Of the processor that may be used; 0: all. Linux and Windows only."""
    swap_ms: float = 0.0
    """How long each run of a swap network takes; 0: the mesh swap, which has none."""
    detect_ms: float = 0.0
    """How long each look of the detector takes at least."""


@dataclass(slots=True)
class Outcome:
    """What came of a case, the warm-up left out. Ages are in milliseconds, from right after the capture to the sink."""

    fps: float = 0.0
    dropped: int = 0
    frames_in: int = 0
    unread: int = 0
    """Frames whose stamp could not be read back."""
    swapped: float = 0.0
    """Share of the frames."""
    faces: float = 0.0
    """Swapped in a frame, the mean."""
    times: list[float] = field(default_factory=list)
    """Seconds since the first counted frame, one for each of `ages`."""
    ages: list[float] = field(default_factory=list)
    core: float = 0.0
    """Processor time of the whole process over wall time: 0.25 is a quarter of one core. The synthetic camera is part of it."""
    stages: dict[str, float] = field(default_factory=dict)
    """Median milliseconds of each stage and each part of inference, the warm-up among them."""
    detections: int = 0
    """Frames in which the detector looked."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, MB."""

    def slope(self) -> tuple[float, float]:
        """Growth of the age in milliseconds a minute, and its standard error: a line through the medians of twelve spans of time.

        Neighbouring frames are late together; the medians of spans are not, so that the error of the line is what it seems.
        """
        spans = [span for span in np.array_split(np.column_stack([self.times, self.ages]), 12) if len(span)]
        if len(spans) < 12:
            return float("nan"), float("nan")
        x, y = np.array([np.median(span, axis=0) for span in spans]).T
        x = (x - x.mean()) / 60
        slope = float(x @ y / (x @ x))
        rest = y - y.mean() - slope * x
        return slope, float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


    def growth(self) -> float:
        """MB from the second to the last quarter of the run, by their medians: in the first one libraries still allocate."""
        quarters = [span for span in np.array_split(np.array([size for _, size in self.memory]), 4) if len(span)]
        return float(np.median(quarters[3]) - np.median(quarters[1])) if len(quarters) == 4 else float("nan")


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame as it came to the viewer."""

    at: float
    age: float | None
    state: State
    processor: float
    """Seconds that the process had used by then."""


class Viewer(NullSink):
    """A sink that reads the stamps, as whoever looks at the picture would."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Seen] = []
        self.counted_from: float | None = None
        """When the warm-up ends, once the first frame of the camera was seen."""

    def write(self, frame: OutputFrame) -> None:
        now = time.perf_counter()
        super().write(frame)
        self.seen.append(Seen(now, stamp.age(frame.i420, now), frame.state, time.process_time()))
        if self.counted_from is None and frame.seq >= 0:
            self.counted_from = now + WARM_UP


def in_own_process(case: Case) -> Outcome:
    return Outcome(**harness.report_of("benchmarks.live", "--case", json.dumps(asdict(case))))


def measure(case: Case) -> Outcome:
    """In this process. Raises RealtimeError when the pipeline fails."""
    _keep_to(case.cores)
    cv2.setNumThreads(1)  # as the program does
    viewer, memory = Viewer(), _Memory()

    def tick() -> None:
        memory.tick()
        begin = viewer.counted_from
        if begin is not None and time.perf_counter() >= begin + case.seconds:
            pipeline.stop()

    with ExitStack() as cleanup:
        pipeline = pipeline_of(case, [viewer], cleanup, tick)
        pipeline.run()
    return _outcome(pipeline, viewer, memory.samples)


def _keep_to(cores: int) -> None:
    process = psutil.Process()
    if cores and hasattr(process, "cpu_affinity"):
        process.cpu_affinity(process.cpu_affinity()[:cores])


@dataclass(slots=True)
class _Memory:
    samples: list[tuple[float, float]] = field(default_factory=list)

    def tick(self) -> None:
        now = time.perf_counter()
        if not self.samples or now - self.samples[-1][0] >= _MEMORY_SECONDS:
            self.samples.append((now, psutil.Process().memory_info().rss / MB))


def pipeline_of(case: Case, sinks: Sequence[Sink], cleanup: ExitStack, on_tick: Callable[[], None] = lambda: None) -> Pipeline:
    """The product's own, from the synthetic camera to these sinks; who runs it ends it. `cleanup` closes its networks."""
    settings = Settings(sources=((assets.SOURCE,),), faces="all" if case.faces > 1 else "main")
    store = model_store()
    store.ensure(needed(settings, store))
    models = _models(case, settings, store, cleanup)
    identities, controls = loading.fit_sources(settings, models, lambda sentence: None), Controls()
    infer = infer_stage(settings, models.detector, models.landmarker, models.recogniser, models.swapper, identities, controls)
    swapped_by = "cuda" if case.swap_ms else models.roles["swapper"]["backend"]  # asleep, as if on a GPU
    source = SyntheticSource("people", (case.width, case.height), case.fps, read_photo=lambda path: people(case))
    return Pipeline(
        Stamped(source),
        beside(infer, settings, swapped_by),
        lambda width, height: app.finisher(settings, width, height, sinks),
        sinks,
        controls=controls,
        on_tick=on_tick,
        limits=Limits(seconds=case.seconds + WARM_UP + _PATIENCE),
    )


def _models(case: Case, settings: Settings, store: ModelStore, cleanup: ExitStack) -> loading.Models:
    models = loading.load_models(settings, store, cleanup)
    if case.detect_ms:
        models = replace(models, detector=Slowed(models.detector, case.detect_ms / 1e3))
    if case.swap_ms:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        models = replace(models, swapper=swap_network(folder, case.swap_ms / 1e3, cleanup))
    return models


def people(case: Case) -> Image:
    """The bundled person, as often as there are to be faces, side by side."""
    columns, rows = _GRID[case.faces]
    one = cover(bundled_person(), (case.width // columns, case.height // rows))
    return np.ascontiguousarray(np.tile(one, (rows, columns, 1)))


def _outcome(pipeline: Pipeline, viewer: Viewer, memory: list[tuple[float, float]]) -> Outcome:
    counted = [each for each in viewer.seen if each.at >= (viewer.counted_from or math.inf)]
    told = pipeline.telemetry.report(pipeline.dropped, 1.0, {})
    outcome = Outcome(dropped=told["dropped"], frames_in=told["frames_in"], detections=told["detections"])
    outcome.faces, outcome.stages = told["faces"]["mean"] or 0.0, told["stage_ms"] | told["part_ms"]
    if len(counted) < 2:
        return outcome
    first, last = counted[0], counted[-1]
    read = [each for each in counted if each.age is not None]
    outcome.fps = (len(counted) - 1) / (last.at - first.at)
    outcome.core = (last.processor - first.processor) / (last.at - first.at)
    outcome.unread = len(counted) - len(read)
    outcome.swapped = sum(each.state is State.SWAPPED for each in counted) / len(counted)
    outcome.times = [round(each.at - first.at, 4) for each in read]
    outcome.ages = [round((each.age or 0.0) * 1e3, 3) for each in read]
    outcome.memory = [(round(at - first.at, 2), round(size, 2)) for at, size in memory if at >= first.at]
    return outcome


if __name__ == "__main__":
    sys.exit(harness.report_case(__doc__, lambda fields: measure(Case(**fields))))
