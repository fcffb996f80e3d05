"""The three-stage loop: capture -> infer -> blend, a thread each, one frame at most between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any

import cv2
import numpy as np

from realtime.errors import BackendError
from realtime.pipeline.controls import Controls
from realtime.pipeline.ending import Closing, Stages
from realtime.pipeline.finish import Finisher
from realtime.pipeline.outlets import Outlets
from realtime.pipeline.pace import Pace
from realtime.pipeline.slot import Policy, Slot, SlotClosed
from realtime.pipeline.stage import Stage
from realtime.pipeline.telemetry import FrameLog, Telemetry
from realtime.pipeline.watchdog import Watchdog, Work
from realtime.sinks.base import Sink
from realtime.sources.base import EndOfStream, Source, SourceInfo
from realtime.types import Frame, Image, OutputFrame, State, StreamFormat, Verdict

READ_SECONDS = 0.25
"""How long one `read` may wait: the capture stage looks up at least this often to see whether it should end."""
SILENT_SECONDS = 1.0
"""Without a new frame for this long, sinks show the placeholder instead of the last picture: the source is silent, or a network hangs."""
LOOK_SECONDS = 0.25
"""How often the blend stage looks up while it waits, when no sink expects a steady rate."""
HUNG_SECONDS = 120.0
"""The run ends when the networks are at one frame for this long: what is stuck in a driver comes back in seconds or not at all, and what
has to be compiled first, on a slow machine that does much else, in a minute or so."""
TICK_SECONDS = 0.015
"""How often the main thread looks after windows, time limits and signals."""


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
    ) -> None:
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
        self._over = threading.Event()
        self._info: SourceInfo | None = None
        self._slots: tuple[Slot[Any], ...] = ()

    @property
    def info(self) -> SourceInfo | None:
        """What the source delivers, once it is open."""
        return self._info

    @property
    def dropped(self) -> int:
        return sum(slot.dropped for slot in self._slots)

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
        self.telemetry.started_at = self.telemetry.started_at or monotonic()
        with Closing() as closing, ExitStack() as cleanup:
            cleanup.callback(self._source.close)
            self._info = info = self._source.open()
            self._on_open(info)
            stream = StreamFormat(info.width // 2 * 2, info.height // 2 * 2, info.fps, info.live)
            for sink in self._sinks:
                cleanup.callback(closing.close, sink)
                sink.open(stream)
            self._prepare(stream)
            cleanup.callback(self._outlets.stop)
            with Stages(self._stages, self._shut) as stages:
                self._supervise(stages)
            self._outlets.finish()

    def _prepare(self, stream: StreamFormat) -> None:
        policy: Policy = "latest" if stream.live else "lossless"
        self._captured: Slot[Frame] = Slot(policy)
        self._decided: Slot[Verdict] = Slot(policy)
        self._slots = (self._captured, self._decided)
        self._works: tuple[Work, ...] = (Work(),)
        self._finisher = self._make_finisher(stream.width, stream.height)
        self._live = stream.live
        self._began: float | None = None
        self._outlets = Outlets(self._sinks, stream)
        self._pace = Pace(stream.fps)
        self._newest = monotonic()
        self._shown: OutputFrame | None = None
        self._stages = (
            Stage("capture", self._capture, self._captured.close),
            *self._infer_stages(policy),
            Stage("blend", self._blend, self._over.set),
        )

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

        def step() -> bool:
            try:
                item = source.get()
            except SlotClosed:
                return False
            work.begin()
            done = work_on(item)
            work.end()
            return target.put(done)

        return Stage(name, step, target.close)

    def _supervise(self, stages: Stages) -> None:
        deadline = monotonic() + self._limits.seconds if self._live and self._limits.seconds is not None else None
        watchdogs = [Watchdog(work) for work in self._works]
        while not self._over.wait(TICK_SECONDS):
            self._on_tick()
            now = monotonic()
            if stages.failed or (deadline is not None and now >= deadline):
                return
            if max(watchdog.look(now) for watchdog in watchdogs) > HUNG_SECONDS:
                cure = "start again, with another --backend if it comes again"
                raise BackendError(f"the networks have not answered for {HUNG_SECONDS:.0f} seconds: {cure}")

    def _shut(self) -> None:
        """Wake every stage wherever it waits, and make it end."""
        for stage in self._stages:
            stage.stop()
        for slot in self._slots:
            slot.close(discard=True)
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

    def _blend(self) -> bool:
        if self._shown is None and self._outlets.steady:
            self._repeat(self._finisher.card(State.STARTING), monotonic())  # readers see the device only after a first frame
        try:
            verdict = self._decided.get(self._patience())
        except SlotClosed:
            return False
        if verdict is None:
            self._keep_alive(monotonic())
        else:
            self._send(verdict)
        return True

    def _patience(self) -> float | None:
        """Seconds to wait for a new frame before something else is to be shown."""
        if self._outlets.steady:
            return self._pace.remaining(monotonic())
        return LOOK_SECONDS if self._live else None

    def _send(self, verdict: Verdict) -> None:
        start = perf_counter()
        still, self.controls.still_wanted = self.controls.still_wanted, False
        verdict = self._finisher.judged(verdict)
        output = self._finisher.finish(verdict, bgr_wanted=still)
        self._outlets.write(output)
        now = monotonic()
        self._shown, self._newest = output, now
        self._pace.sent(now, repeated=False)
        self.telemetry.sent(verdict, perf_counter() - start, now)
        if self._frame_log is not None:
            self._frame_log.write(verdict, now - verdict.frame.captured_at)
        if still:
            self._on_still(output)

    def _keep_alive(self, now: float) -> None:
        """Nothing new came in time: steady sinks get their last frame again. After a while every sink gets a picture that says why."""
        if now - self._newest > SILENT_SECONDS:
            cover = self._cover(now)
            if self._shown is None or self._shown.state is not cover.state:
                self._outlets.write(cover)
                self._shown = cover
                self._pace.sent(now, repeated=True)
                return
        if self._outlets.steady:
            assert self._shown is not None
            self._repeat(self._shown, now)

    def _cover(self, now: float) -> OutputFrame:
        """What is shown while there is nothing to show."""
        hanging = max(self._works, key=lambda work: work.lasting(now))
        if hanging.lasting(now) > SILENT_SECONDS:
            self.telemetry.hanging(hanging.since)
            return self._finisher.stalled(now)
        return self._finisher.card(State.NO_SIGNAL if self.telemetry.frames_in else State.STARTING, at=now)

    def _repeat(self, output: OutputFrame, now: float) -> None:
        self._outlets.repeat(output)
        self._shown = output
        self.telemetry.repeated += 1
        self._pace.sent(now, repeated=True)


def _is_picture(frame: Frame) -> bool:
    """False for what a broken driver hands over in a picture's place."""
    image = frame.image
    return image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8 and image.size > 0
