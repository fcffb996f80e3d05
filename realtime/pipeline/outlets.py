"""The sinks of a run, and what becomes of one that fails while the others go on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from realtime.errors import RealtimeError, SinkError
from realtime.sinks.base import Sink
from realtime.types import OutputFrame, StreamFormat

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.25
"""Between two attempts to open a virtual camera that failed: short, because a meeting looks at a frozen picture meanwhile."""
GIVE_UP_SECONDS = 30.0
"""A virtual camera that takes no frame for this long counts as gone for good."""
_JOIN_SECONDS = 0.2


class Outlets:
    """Writes frames to every sink; belongs to the blend thread, `finish` to the main one.

    Of a file every frame matters, so there the first failure is raised. Live, the show goes on: a steady sink (a virtual camera) that
    fails is opened anew until it takes frames again; any other is left out, its error told at once and raised by `finish`. A failure
    that leaves no sink at all is raised.
    """

    def __init__(self, sinks: Sequence[Sink], stream: StreamFormat) -> None:
        self._live = stream.live
        self._all = [_Outlet(sink, stream) for sink in sinks]
        self.steady = stream.live and any(sink.steady for sink in sinks)
        """Whether any sink expects frames at a steady rate."""

    def write(self, output: OutputFrame) -> None:
        for outlet in self._all:
            self._write(outlet, output)

    def repeat(self, output: OutputFrame) -> None:
        """Only to the steady sinks."""
        for outlet in self._all:
            if outlet.sink.steady:
                self._write(outlet, output)

    def finish(self) -> None:
        """Stop looking after sinks that are away. Raises the error of the first one that was given up."""
        for outlet in self._all:
            outlet.stop()
        for outlet in self._all:
            if outlet.gone and outlet.error is not None:
                raise outlet.error

    def stop(self) -> None:
        """As `finish`, when something else went wrong."""
        for outlet in self._all:
            outlet.stop()

    def _write(self, outlet: _Outlet, output: OutputFrame) -> None:
        if outlet.gone:
            return
        try:
            outlet.write(output)
        except SinkError as error:
            outlet.error = error
            if self._live and outlet.sink.steady and not outlet.overdue:
                outlet.reopen()
                return
            outlet.gone = True
            if not self._live or all(each.gone for each in self._all):
                raise
            log.warning("going on without %s: %s", outlet.sink.name, error)


class _Outlet:
    """One sink, and its being away."""

    def __init__(self, sink: Sink, stream: StreamFormat) -> None:
        self.sink = sink
        self.error: RealtimeError | None = None
        self.gone = False
        self._stream = stream
        self._failing_since: float | None = None
        self._back: _Reopening | None = None

    @property
    def overdue(self) -> bool:
        """Whether it has been failing for too long."""
        return self._failing_since is not None and monotonic() - self._failing_since > GIVE_UP_SECONDS

    def write(self, output: OutputFrame) -> None:
        """Raises SinkError; a frame for a sink that is away is dropped."""
        if self._back is not None and not self._returned(self._back):
            return
        self.sink.write(output)
        if self._failing_since is not None:
            self._failing_since = None
            log.warning("%s takes frames again", self.sink.name)

    def reopen(self) -> None:
        """Begin to open it anew, in a thread, because a driver may take its time."""
        if self._failing_since is None:
            self._failing_since = monotonic()
            log.warning("%s; trying again", self.error)
        self._back = _Reopening(lambda: self.sink.open(self._stream), self.sink.close)

    def stop(self) -> None:
        if self._back is not None:
            self._back.stop()
            self._back = None

    def _returned(self, back: _Reopening) -> bool:
        """Raises SinkError when it has been away for too long."""
        if back.done:
            self._back = None
            return True
        if self.overdue:
            self.stop()
            raise SinkError(str(back.error or self.error))
        return False


class _Reopening:
    """A thread that closes and opens a sink until that works."""

    def __init__(self, open_sink: Callable[[], None], close: Callable[[], None]) -> None:
        self.done = False
        self.error: RealtimeError | None = None
        self._open, self._close = open_sink, close
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reopen", daemon=True)  # a driver that hangs must not keep the process
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while True:
            try:
                self._close()
                if not self._stop.is_set():
                    self._open()
                    self.done = True
            except RealtimeError as error:
                self.error = error
            if self.done or self._stop.wait(RETRY_SECONDS):
                break
        if self._stop.is_set():  # nobody will write to it any more
            self._close()
