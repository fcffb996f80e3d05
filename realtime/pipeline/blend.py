"""The blend stage: verdicts become frames that go to the sinks, and something that may be shown when none comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.outlets import Outlets
from realtime.pipeline.pace import Pace
from realtime.pipeline.slot import Slot, SlotClosed
from realtime.pipeline.stage import Stage
from realtime.pipeline.telemetry import FrameLog, Telemetry
from realtime.pipeline.watchdog import Work
from realtime.types import OutputFrame, State, StreamFormat, Verdict

SILENT_SECONDS = 1.0
"""Without a new frame for this long, sinks show the placeholder instead of the last picture: the source is silent, or a network hangs."""
LOOK_SECONDS = 0.25
"""How often the stage looks up while it waits, when no sink expects a steady rate."""
STILL_SECONDS = 5.0
"""How long the end of a file waits for a still that is being saved."""


class Blend:
    """One step a call of `step`; belongs to the blend thread, `stills` also to the main one."""

    def __init__(
        self,
        decided: Slot[Verdict],
        finisher: Finisher,
        outlets: Outlets,
        stream: StreamFormat,
        works: Sequence[Work],
        *,
        telemetry: Telemetry,
        controls: Controls,
        frame_log: FrameLog | None,
        on_still: Callable[[OutputFrame], None],
    ) -> None:
        """`works`: what the stages before this one are at. `on_still` is called in a thread of its own: it writes to a disk."""
        self._decided, self._finisher, self._outlets, self._works = decided, finisher, outlets, works
        self._telemetry, self._controls, self._frame_log, self._on_still = telemetry, controls, frame_log, on_still
        self._live = stream.live
        self._pace = Pace(stream.fps)
        self._newest = perf_counter()
        self._shown: OutputFrame | None = None
        self.stills: list[Stage] = []
        """The threads that save stills."""

    def step(self) -> bool:
        """Send one frame, or what stands for it; False when no more come."""
        if self._shown is None and self._outlets.steady:
            self._repeat(self._finisher.card(State.STARTING), perf_counter())  # readers see the device only after a first frame
        try:
            verdict = self._decided.get(self._patience())
        except SlotClosed:
            return False
        if verdict is None:
            return self._keep_alive(perf_counter())
        return self._send(verdict)

    def end(self) -> None:
        """Wait until the sinks have what they are to have."""
        self._outlets.end()
        for still in self.stills:
            still.join(STILL_SECONDS)

    def _patience(self) -> float | None:
        """Seconds to wait for a new frame before something else is to be shown."""
        if self._outlets.steady:
            return self._pace.remaining(perf_counter())
        return LOOK_SECONDS if self._live else None

    def _send(self, verdict: Verdict) -> bool:
        start = perf_counter()
        still, self._controls.still_wanted = self._controls.still_wanted, False
        verdict = self._finisher.judged(verdict)
        output = self._finisher.finish(verdict, bgr_wanted=still)
        going_on = self._outlets.write(output, partial(self._book, verdict, start))
        now = perf_counter()
        self._shown, self._newest = output, now
        self._pace.sent(now, repeated=False)
        if still:
            self._save(output)
        return going_on

    def _book(self, verdict: Verdict, start: float, now: float) -> None:
        """Called by the thread that wrote the frame to the leading sink."""
        self._telemetry.sent(verdict, perf_counter() - start, now)
        if self._frame_log is not None:
            self._frame_log.write(verdict, now - verdict.frame.captured_at)

    def _save(self, output: OutputFrame) -> None:
        """The frame is kept by whoever refers to it, so no copy is needed."""

        def save() -> bool:
            self._on_still(output)
            return False

        self.stills[:] = [still for still in self.stills if still.alive or still.error is not None]
        self.stills.append(Stage("still", save, lambda: None))
        self.stills[-1].start()

    def _keep_alive(self, now: float) -> bool:
        """Nothing new came in time: steady sinks get their last frame again. After a while every sink gets a picture that says why."""
        if now - self._newest > SILENT_SECONDS:
            cover = self._cover(now)
            if self._shown is None or self._shown.state is not cover.state:
                self._shown = cover
                self._pace.sent(now, repeated=True)
                return self._outlets.write(cover)
        if self._outlets.steady:
            assert self._shown is not None
            self._repeat(self._shown, now)
        return True

    def _cover(self, now: float) -> OutputFrame:
        """What is shown while there is nothing to show."""
        hanging = max(self._works, key=lambda work: work.lasting(now))
        if hanging.lasting(now) > SILENT_SECONDS:
            self._telemetry.hanging(hanging.since)
            return self._finisher.stalled(now)
        return self._finisher.card(State.NO_SIGNAL if self._telemetry.frames_in else State.STARTING, at=now)

    def _repeat(self, output: OutputFrame, now: float) -> None:
        self._telemetry.repeated += self._outlets.repeat(output)
        self._shown = output
        self._pace.sent(now, repeated=True)
