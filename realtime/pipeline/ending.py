"""The end of a run, however it comes: every stage ends, every sink is closed, the first error is the one that is raised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from types import TracebackType

from realtime.errors import SinkError
from realtime.pipeline.outlet import PATIENCE_SECONDS, SILENT_SECONDS
from realtime.pipeline.stage import Stage
from realtime.pipeline.watchdog import Watchdog
from realtime.sinks.base import Sink

log = logging.getLogger(__name__)

JOIN_SECONDS = 0.8
"""Time all stages together get to end; Ctrl-C is to be over within a second."""

CLOSE_SECONDS = 0.2
"""Time that a driver gets to close: it takes milliseconds."""
_LOOK_SECONDS = 0.02


class Stages:
    """Starts the stages, and ends them whatever happens inside the block; then the first error of a stage is raised."""

    def __init__(self, stages: Sequence[Stage], shut: Callable[[], None], later: Sequence[Stage] = ()) -> None:
        """`later`: stages that somebody else starts while the block runs, ended like the others; there may be more by then."""
        self._stages = stages
        self._later = later
        self._shut = shut

    @property
    def failed(self) -> bool:
        return any(stage.error is not None for stage in (*self._stages, *self._later))

    def __enter__(self) -> Stages:
        for stage in self._stages:
            stage.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        limit = perf_counter() + JOIN_SECONDS
        self._shut()
        for stage in (*self._stages, *self._later):
            if not stage.join(max(0.05, limit - perf_counter())):
                log.warning("the %s thread did not end in time and was left behind: its device or file hangs", stage.name)
        if error is None:
            self._raise()

    def _raise(self) -> None:
        for stage in (*self._stages, *self._later):
            if stage.error is not None:
                raise stage.error


class _Closer:
    """A thread that closes one sink, and for how long that is waited for. A sink that is tied to the calling thread is closed there."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.left = False
        """Whether it is left to its thread."""
        self.failure: Exception | None = None
        self._stage = Stage(f"close {sink.name}", self._close, lambda: None)
        self._limit = CLOSE_SECONDS if sink.steady else PATIENCE_SECONDS
        self._watchdog = Watchdog(sink.headway)
        self._told = self._hurried = False

    def start(self) -> None:
        """Again when it was broken off."""
        if self.sink.tied:
            self._close()
        elif not self._stage.begun:
            self._stage.start()

    def join(self, timeout: float) -> bool:
        """Whether it is done, or not waited for any longer."""
        return self.left or self._stage.join(timeout)

    def look(self, now: float) -> None:
        """Say once that it does not get on, and after a while leave it behind."""
        idle = self._watchdog.look(now)
        if self.join(0.0):
            return
        if idle > self._limit:
            self._leave()
        elif idle > SILENT_SECONDS and not self._told:
            self._told = True
            wait = f"that is waited for, {self._limit:.0f} seconds at most, and Ctrl-C leaves it behind"
            log.warning("%s cannot be finished, for its disk does not answer: %s", self.sink.name, wait)

    def hurry(self) -> None:
        """Leave out what takes long; what does not answer, or was asked before, is left behind at once."""
        self.sink.headway.stop()
        if (self._told or self._hurried) and not self.join(0.0):
            self._leave()
        self._hurried = True

    def _leave(self) -> None:
        self.left = True
        what = "closed and was left behind: its device" if self.sink.steady else "finished and was left behind: its disk"
        kept = f"; what was written of it is in {self.sink.remains}" if self.sink.remains else ""
        self.failure = SinkError(f"{self.sink.name} could not be {what} does not answer{kept}")

    def _close(self) -> bool:
        try:
            self.sink.close()
        except Exception as error:
            log.debug("%s could not be closed: %s", self.sink.name, error)
            self.failure = self.failure or error
        return False


class Closing:
    """Closes sinks at the end of the block; a failure keeps none of the others from being closed, and is raised unless something else is.

    Each is closed in a thread of its own, for a driver or a disk may hang: one that does not get on for long is named and left behind. The
    calling thread waits, which signals reach: the first one breaks off what takes long, as signing does, a second one the waiting. A
    window is closed in the calling thread, to which it belongs.
    """

    def __init__(self) -> None:
        self._sinks: list[Sink] = []
        self._closers: list[_Closer] = []
        self._failures: list[Exception] = []

    @property
    def left(self) -> list[Sink]:
        """Those that did not close in time."""
        return [closer.sink for closer in self._closers if closer.left]

    def close(self, sink: Sink) -> None:
        """Note it for the end of the block."""
        self._sinks.append(sink)

    def note(self, failure: Exception) -> None:
        """Of a sink that cannot be closed at all."""
        self._failures.append(failure)

    def __enter__(self) -> Closing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        interrupt, failures = self._close_all(), self._failures
        for closer in self._closers:
            if closer.left and closer.sink.steady:  # a driver: no frame is lost by it
                log.warning("%s", closer.failure)
            elif closer.failure is not None:
                failures.append(closer.failure)
        if error is None and failures:
            raise failures[0]
        for failure in failures:
            if str(failure) != str(error):  # what ended the run comes first
                log.warning("%s", failure)
        if error is None and interrupt is not None:
            raise interrupt

    def _close_all(self) -> KeyboardInterrupt | None:
        """Gives the interrupt that came meanwhile."""
        self._closers = [_Closer(sink) for sink in sorted(self._sinks, key=lambda sink: sink.tied)]
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._wait()
                return interrupt
            except KeyboardInterrupt as another:
                interrupt = interrupt or another
                for closer in self._closers:
                    closer.hurry()

    def _wait(self) -> None:
        for closer in self._closers:
            closer.start()
        while not all(closer.join(_LOOK_SECONDS) for closer in self._closers):
            now = perf_counter()
            for closer in self._closers:
                closer.look(now)
