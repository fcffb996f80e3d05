"""One sink of a run: its being away while it is opened anew, and its not answering."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

from realtime.errors import RealtimeError, SinkError
from realtime.pipeline.watchdog import Watchdog, Work
from realtime.sinks.base import Sink
from realtime.types import OutputFrame, StreamFormat

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.25
"""Between two attempts to open a virtual camera that failed: short, because a meeting looks at a frozen picture meanwhile."""
GIVE_UP_SECONDS = 30.0
"""A virtual camera that takes no frame for this long counts as gone for good."""
SILENT_SECONDS = 2.0
"""A write that lasts this long is told: the disk, or the driver, hangs."""
PATIENCE_SECONDS = 60.0
"""Of a file every frame waits for every sink, so there one whose write lasts this long is left behind: a disk that has to wake up takes
some ten seconds, a network share that lost its server up to half a minute."""
_JOIN_SECONDS = 0.2


class Outlet:
    """A sink as the pipeline sees it. `write` and `reopen` belong to one thread, the rest to the main one."""

    def __init__(self, sink: Sink, stream: StreamFormat) -> None:
        self.sink = sink
        self.error: RealtimeError | None = None
        self.gone = False
        """Given up: it gets no more frames."""
        self.written = 0
        self._stream = stream
        self._failing_since: float | None = None
        self._back: _Reopening | None = None
        self._work = Work()
        self._watchdog = Watchdog(self._work)
        self._lasting = 0.0
        self._lock = threading.Lock()  # of `_left` and of being in a write
        self._left = False
        self._told: float | None = None

    @property
    def stuck(self) -> bool:
        """Whether the last `look` found it in a write that has lasted for longer than anybody waits."""
        return self._lasting > PATIENCE_SECONDS

    @property
    def overdue(self) -> bool:
        """Whether it has been failing for too long."""
        return self._failing_since is not None and perf_counter() - self._failing_since > GIVE_UP_SECONDS

    def write(self, output: OutputFrame) -> None:
        """Raises SinkError; a frame for a sink that is away is dropped."""
        if self._back is not None and not self._returned(self._back):
            return
        self._work.begin()
        try:
            self.sink.write(output)
            self.written += 1
        finally:
            self._out()
        if self._failing_since is not None:
            self._failing_since = None
            log.warning("%s takes frames again", self.sink.name)

    def _out(self) -> None:
        """A write came back. If the run is over by now nobody else will close the sink."""
        with self._lock:
            self._work.end()
            left = self._left
        if left:
            with suppress(Exception):
                self.sink.close()

    @property
    def left(self) -> bool:
        """Whether it is left to the thread that is in a write of it."""
        return self._left

    def leave(self) -> bool:
        """Whether a thread still is in a write of this sink; that one closes it on its return, for two at once may not use it."""
        with self._lock:
            self._left = self._left or self._work.since is not None
            return self._left

    def look(self, now: float) -> None:
        """Say once that a write does not come back, and once that it did."""
        since, self._lasting = self._work.since, self._watchdog.look(now)
        if self._told is None and self._lasting > SILENT_SECONDS:
            self._told = since
            wait = "" if self._stream.live else f", which is waited for, {PATIENCE_SECONDS:.0f} seconds at most"
            log.warning("%s takes no frames: its disk or device does not answer%s", self.sink.name, wait)
        elif self._told is not None and since != self._told:
            self._told = None
            if not self.gone:
                log.warning("%s takes frames again", self.sink.name)

    def hangs(self) -> SinkError:
        """The error about a write that never came back."""
        kept = f"; what was written so far is in {self.sink.remains}" if self.sink.remains else ""
        return SinkError(f"{self.sink.name} took no more frames and was left behind: its disk or device does not answer{kept}")

    def reopen(self) -> None:
        """Begin to open it anew, in a thread, because a driver may take its time."""
        if self._failing_since is None:
            self._failing_since = perf_counter()
            log.warning("%s; trying again", self.error)
        self._back = _Reopening(lambda: self.sink.open(self._stream), self.sink.close)

    def stop(self) -> None:
        """Stop looking after a sink that is away."""
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
