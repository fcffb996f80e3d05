"""The three-stage loop: capture -> infer -> blend, a thread each, one frame at most between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import cv2
import numpy as np

from realtime.errors import BackendError
from realtime.pipeline.blend import Blend
from realtime.pipeline.controls import Controls
from realtime.pipeline.ending import Closing, Stages
from realtime.pipeline.finish import Finisher
from realtime.pipeline.outlets import Outlets
from realtime.pipeline.slot import Policy, Slot, SlotClosed
from realtime.pipeline.stage import Stage
from realtime.pipeline.telemetry import FrameLog, Telemetry
from realtime.pipeline.watchdog import Watchdog, Work
from realtime.sinks.base import Sink
from realtime.sources.base import EndOfStream, Source, SourceInfo
from realtime.types import Frame, Image, OutputFrame, StreamFormat, Verdict

READ_SECONDS = 0.25
"""How long one `read` may wait: the capture stage looks up at least this often to see whether it should end."""
HUNG_SECONDS = 120.0
"""The run ends when the networks are at one frame for this long: what is stuck in a driver comes back in seconds or not at all, and what
has to be compiled first, on a slow machine that does much else, in a minute or so."""
PATIENCE = 0.2
"""How long a stage may wait for a newer frame than the one at hand, as a share of the time that it takes for one."""
TICK_SECONDS, CALM_TICK_SECONDS = 0.015, 0.05
"""How often the main thread looks after windows, time limits and stages that hang; the second where there is no window: 66 looks
a second take a hundredth of a core."""


@dataclass(frozen=True, slots=True)
class Halves:
    """The infer stage in two threads: while one frame is swapped the next one is followed. `swap` takes what `follow` gives."""

    follow: Callable[[Frame], Any]
    swap: Callable[[Any], Verdict]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run ends by itself; None: never."""

    frames: int | None = None
    seconds: float | None = None
    """Of a live source by the clock, of a file by its own time: the last frame is the last one that begins before."""


class Pipeline:
    """Runs one source through one infer function, or its halves, into sinks. The thread that calls `run` is the main one: it owns windows.

    make_finisher is called once the source has told its size.
    """

    def __init__(
        self,
        source: Source,
        infer: Callable[[Frame], Verdict] | Halves,
        make_finisher: Callable[[int, int], Finisher],
        sinks: Sequence[Sink],
        *,
        telemetry: Telemetry | None = None,
        controls: Controls | None = None,
        frame_log: FrameLog | None = None,
        on_open: Callable[[SourceInfo], None] = lambda info: None,
        on_tick: Callable[[], None] = lambda: None,
        on_still: Callable[[OutputFrame], None] = lambda frame: None,
        limits: Limits | None = None,
        calm: bool = False,
    ) -> None:
        """calm: `on_tick` has no windows to look after."""
        self._source = source
        self._infer = infer
        self._make_finisher = make_finisher
        self._sinks = sinks
        self.telemetry = telemetry or Telemetry()
        self.controls = controls or Controls()
        self._frame_log = frame_log
        self._on_open = on_open
        self._on_tick = on_tick
        self._on_still = on_still
        self._limits = limits or Limits()
        self._calm = calm
        self._over = threading.Event()
        self._info: SourceInfo | None = None
        self._slots: tuple[Slot[Any], ...] = ()
        self._outlets: Outlets | None = None
        self._closing = Closing()
        self.whole = False
        """Whether the run came to its own end, whatever became of an output by then."""

    @property
    def info(self) -> SourceInfo | None:
        """What the source delivers, once it is open."""
        return self._info

    @property
    def dropped(self) -> int:
        """Frames that were taken from the source and did not come to the leading sink."""
        return sum(slot.dropped for slot in self._slots) + (self._outlets.dropped if self._outlets else 0)

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """What each sink was given, as `Outlets.counts` has it."""
        return self._outlets.counts(self._closing.left) if self._outlets else []

    def upcoming(self) -> Image | None:
        """The picture that waits to be taken by the infer stage, if there is one; it may be replaced before that."""
        frame = self._slots[0].peek() if self._slots else None
        return None if frame is None else frame.image

    def stop(self) -> None:
        """End the run soon; may be called from any thread or a signal handler, also before `run`."""
        self._over.set()

    def run(self) -> None:
        """Run until the source ends, a limit is reached, `stop` is called, or a stage fails, whose error is then raised.

        Source and sinks are opened here and closed whatever happens.
        """
        self.telemetry.started_at = self.telemetry.started_at or perf_counter()
        with self._closing as closing, ExitStack() as cleanup:
            cleanup.callback(self._source.close)
            self._info = info = self._source.open()
            self._on_open(info)
            stream = StreamFormat(info.width // 2 * 2, info.height // 2 * 2, info.fps, info.live)
            for sink in self._sinks:
                cleanup.callback(self._close, sink, closing)
                sink.open(stream)
            self._outlets = outlets = Outlets(self._sinks, stream)
            self._prepare(stream, outlets)
            cleanup.callback(outlets.stop)
            with Stages(self._stages, lambda: self._shut(outlets), self._blend.stills) as stages:
                self._supervise(stages, outlets)
            self.whole = True
            outlets.finish()

    def _close(self, sink: Sink, closing: Closing) -> None:
        hanging = self._outlets.leave(sink) if self._outlets is not None else None
        if hanging is not None:
            closing.note(hanging)
        else:
            closing.close(sink)

    def _prepare(self, stream: StreamFormat, outlets: Outlets) -> None:
        policy: Policy = "latest" if stream.live else "lossless"
        self._captured: Slot[Frame] = Slot(policy)
        self._decided: Slot[Verdict] = Slot(policy)
        self._slots = (self._captured, self._decided)
        self._works: tuple[Work, ...] = (Work(),)
        self._live = stream.live
        self._began: float | None = None
        infer = self._infer_stages(policy)
        self._blend = Blend(
            self._decided,
            self._make_finisher(stream.width, stream.height),
            outlets,
            stream,
            self._works,
            telemetry=self.telemetry,
            controls=self.controls,
            frame_log=self._frame_log,
            on_still=self._on_still,
        )
        self._stages = (
            Stage("capture", self._capture, self._captured.close),
            *infer,
            Stage("blend", self._blend.step, self._end),
            *outlets.stages,
        )

    def _end(self) -> None:
        """The last thing that the blend thread does."""
        try:
            self._blend.end()
        finally:
            self._over.set()

    def _infer_stages(self, policy: Policy) -> list[Stage]:
        if not isinstance(self._infer, Halves):
            return [self._working("infer", self._captured, self._infer, self._decided, self._works[0])]
        followed: Slot[Any] = Slot(policy)
        self._slots, self._works = (*self._slots, followed), (Work(), Work())
        return [
            self._working("follow", self._captured, self._infer.follow, followed, self._works[0]),
            self._working("swap", followed, self._infer.swap, self._decided, self._works[1]),
        ]

    def _working(self, name: str, source: Slot[Any], work_on: Callable[[Any], Any], target: Slot[Any], work: Work) -> Stage:
        """A stage that takes one item after the other from one slot, and hands on what becomes of it."""
        taken = 0.0

        def step() -> bool:
            nonlocal taken
            try:
                item = source.get(patience=PATIENCE * taken)
            except SlotClosed:
                return False
            work.begin()
            done = work_on(item)
            taken = work.end()
            return target.put(done)

        return Stage(name, step, target.close)

    def _supervise(self, stages: Stages, outlets: Outlets) -> None:
        deadline = perf_counter() + self._limits.seconds if self._live and self._limits.seconds is not None else None
        watchdogs = [Watchdog(work) for work in self._works]
        while not self._over.wait(CALM_TICK_SECONDS if self._calm else TICK_SECONDS):
            self._on_tick()
            now = perf_counter()
            outlets.look(now)
            if stages.failed or (deadline is not None and now >= deadline):
                return
            if max(watchdog.look(now) for watchdog in watchdogs) > HUNG_SECONDS:
                cure = "start again, with another --backend if it comes again"
                raise BackendError(f"the networks have not answered for {HUNG_SECONDS:.0f} seconds: {cure}")

    def _shut(self, outlets: Outlets) -> None:
        """Wake every stage wherever it waits, and make it end."""
        for stage in self._stages:
            stage.stop()
        for slot in self._slots:
            slot.close(discard=True)
        outlets.shut()
        self._source.close()

    def _capture(self) -> bool:
        start = perf_counter()
        try:
            frame = self._source.read(READ_SECONDS)
        except EndOfStream:
            return False
        if frame is None or not _is_picture(frame):
            return True
        if self._beyond(frame):
            return False
        self.telemetry.captured(perf_counter() - start)
        enough = self._limits.frames is not None and self.telemetry.frames_in >= self._limits.frames
        return self._captured.put(self._fitted(frame)) and not enough

    def _beyond(self, frame: Frame) -> bool:
        """Whether a file has been played for as long as it was to be."""
        if self._live or self._limits.seconds is None or frame.media_time is None:
            return False
        if self._began is None:
            self._began = frame.media_time
        return frame.media_time - self._began >= self._limits.seconds

    def _fitted(self, frame: Frame) -> Frame:
        """The frame at the announced size: sinks cannot change theirs in the middle of a stream."""
        assert self._info is not None
        if frame.image.shape[:2] == (self._info.height, self._info.width):
            return frame
        image = cv2.resize(frame.image, (self._info.width, self._info.height), interpolation=cv2.INTER_AREA)
        return Frame(frame.seq, frame.captured_at, image, frame.media_time)


def _is_picture(frame: Frame) -> bool:
    """False for what a broken driver hands over in a picture's place."""
    image = frame.image
    return image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8 and image.size > 0
