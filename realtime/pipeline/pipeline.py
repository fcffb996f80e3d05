"""The three-stage loop: capture -> infer -> blend, a thread each, one frame at most between two of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic, perf_counter
from types import TracebackType

import cv2

from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.pace import Pace
from realtime.pipeline.slot import Policy, Slot, SlotClosed
from realtime.pipeline.stage import Stage
from realtime.pipeline.telemetry import FrameLog, Telemetry
from realtime.sinks.base import Sink
from realtime.sources.base import EndOfStream, Source, SourceInfo
from realtime.types import Frame, OutputFrame, State, StreamFormat, Verdict

log = logging.getLogger(__name__)

READ_SECONDS = 0.25
"""How long one `read` may wait: the capture stage looks up at least this often to see whether it should end."""
NO_SIGNAL_SECONDS = 1.0
"""Without a new frame for this long, steady sinks show the placeholder instead of the last picture."""
TICK_SECONDS = 0.015
"""How often the main thread looks after windows, time limits and signals."""
JOIN_SECONDS = 0.8
"""Time all stages together get to end; Ctrl-C is to be over within a second."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run ends by itself; None: never."""

    frames: int | None = None
    seconds: float | None = None
    """Of a live source by the clock, of a file by its own time: the last frame is the last one that begins before."""


class Pipeline:
    """Runs one source through one infer function into sinks. The thread that calls `run` is the main one: it owns windows.

    make_finisher is called once the source has told its size.
    """

    def __init__(
        self,
        source: Source,
        infer: Callable[[Frame], Verdict],
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
        self._slots: tuple[Slot[Frame] | Slot[Verdict], ...] = ()

    @property
    def info(self) -> SourceInfo | None:
        """What the source delivers, once it is open."""
        return self._info

    @property
    def dropped(self) -> int:
        return sum(slot.dropped for slot in self._slots)

    def stop(self) -> None:
        """End the run soon; may be called from any thread or a signal handler, also before `run`."""
        self._over.set()

    def run(self) -> None:
        """Run until the source ends, a limit is reached, `stop` is called, or a stage fails, whose error is then raised.

        Source and sinks are opened here and closed whatever happens.
        """
        self.telemetry.started_at = self.telemetry.started_at or monotonic()
        with _Closing() as closing, ExitStack() as cleanup:
            cleanup.callback(self._source.close)
            self._info = info = self._source.open()
            self._on_open(info)
            stream = StreamFormat(info.width // 2 * 2, info.height // 2 * 2, info.fps, info.live)
            for sink in self._sinks:
                cleanup.callback(closing.close, sink)
                sink.open(stream)
            self._prepare(stream)
            with _Stages(self._stages, self._shut) as stages:
                self._supervise(stages)

    def _prepare(self, stream: StreamFormat) -> None:
        policy: Policy = "latest" if stream.live else "lossless"
        self._captured: Slot[Frame] = Slot(policy)
        self._decided: Slot[Verdict] = Slot(policy)
        self._slots = (self._captured, self._decided)
        self._finisher = self._make_finisher(stream.width, stream.height)
        self._live = stream.live
        self._began: float | None = None
        self._steady = [sink for sink in self._sinks if sink.steady] if stream.live else []
        self._pace = Pace(stream.fps)
        self._newest = monotonic()
        self._shown: OutputFrame | None = None
        self._stages = (
            Stage("capture", self._capture, self._captured.close),
            Stage("infer", self._decide, self._decided.close),
            Stage("blend", self._blend, self._over.set),
        )

    def _supervise(self, stages: _Stages) -> None:
        deadline = monotonic() + self._limits.seconds if self._live and self._limits.seconds is not None else None
        while not self._over.wait(TICK_SECONDS):
            self._on_tick()
            if stages.failed or (deadline is not None and monotonic() >= deadline):
                return

    def _shut(self) -> None:
        """Wake every stage wherever it waits, and make it end."""
        for stage in self._stages:
            stage.stop()
        self._captured.close(discard=True)
        self._decided.close(discard=True)
        self._source.close()

    def _capture(self) -> bool:
        start = perf_counter()
        try:
            frame = self._source.read(READ_SECONDS)
        except EndOfStream:
            return False
        if frame is None:
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

    def _decide(self) -> bool:
        try:
            frame = self._captured.get()
        except SlotClosed:
            return False
        assert frame is not None  # no time limit was given
        return self._decided.put(self._infer(frame))

    def _blend(self) -> bool:
        if self._shown is None and self._steady:
            self._repeat(self._finisher.card(State.STARTING), monotonic())  # readers see the device only after a first frame
        try:
            verdict = self._decided.get(self._pace.remaining(monotonic()) if self._steady else None)
        except SlotClosed:
            return False
        if verdict is None:
            self._keep_alive(monotonic())
        else:
            self._send(verdict)
        return True

    def _send(self, verdict: Verdict) -> None:
        start = perf_counter()
        still, self.controls.still_wanted = self.controls.still_wanted, False
        output = self._finisher.finish(verdict, bgr_wanted=still)
        for sink in self._sinks:
            sink.write(output)
        now = monotonic()
        self._shown, self._newest = output, now
        self._pace.sent(now, repeated=False)
        self.telemetry.sent(verdict, perf_counter() - start, now)
        if self._frame_log is not None:
            self._frame_log.write(verdict, now - verdict.frame.captured_at)
        if still:
            self._on_still(output)

    def _keep_alive(self, now: float) -> None:
        """Nothing new came in time: steady sinks get their last frame again, or the placeholder when the source fell silent."""
        assert self._shown is not None
        silent = now - self._newest > NO_SIGNAL_SECONDS
        card = State.NO_SIGNAL if self.telemetry.frames_in else State.STARTING
        self._repeat(self._finisher.card(card) if silent else self._shown, now)

    def _repeat(self, output: OutputFrame, now: float) -> None:
        for sink in self._steady:
            sink.write(output)
        self._shown = output
        self.telemetry.repeated += 1
        self._pace.sent(now, repeated=True)


class _Stages:
    """Starts the stages, and ends them whatever happens inside the block; then the first error of a stage is raised."""

    def __init__(self, stages: Sequence[Stage], shut: Callable[[], None]) -> None:
        self._stages = stages
        self._shut = shut

    @property
    def failed(self) -> bool:
        return any(stage.error is not None for stage in self._stages)

    def __enter__(self) -> _Stages:
        for stage in self._stages:
            stage.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._shut()
        limit = monotonic() + JOIN_SECONDS
        for stage in self._stages:
            if not stage.join(max(0.05, limit - monotonic())):
                log.warning("the %s thread did not end in time and was left behind: its device or file hangs", stage.name)
        if error is None:
            self._raise()

    def _raise(self) -> None:
        for stage in self._stages:
            if stage.error is not None:
                raise stage.error


class _Closing:
    """Closes sinks; a failure keeps none of the others from being closed, and is raised at the end unless something else already is."""

    def __init__(self) -> None:
        self._failure: Exception | None = None

    def close(self, sink: Sink) -> None:
        try:
            sink.close()
        except Exception as error:
            log.debug("%s could not be closed: %s", sink.name, error)
            self._failure = self._failure or error

    def __enter__(self) -> _Closing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None and self._failure is not None:
            raise self._failure
