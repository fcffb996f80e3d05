"""The end of a run, however it comes: every stage ends, every sink is closed, the first error is the one that is raised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from types import TracebackType

from realtime.pipeline.stage import Stage
from realtime.sinks.base import Sink

log = logging.getLogger(__name__)

JOIN_SECONDS = 0.8
"""Time all stages together get to end; Ctrl-C is to be over within a second."""

CLOSE_SECONDS = 0.2
"""Time that drivers get to close, all at once: it takes milliseconds."""


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


class Closing:
    """Closes sinks at the end of the block; a failure keeps none of the others from being closed, and is raised unless something else is.

    A steady sink is a driver, which may hang: each is closed in a thread of its own, named and left behind after `CLOSE_SECONDS`. The
    others follow in the calling thread, which signals reach: a file that is being signed must hear of Ctrl-C, and a window belongs to it.
    """

    def __init__(self) -> None:
        self._sinks: list[Sink] = []
        self._failure: Exception | None = None

    def close(self, sink: Sink) -> None:
        """Note it for the end of the block."""
        self._sinks.append(sink)

    def __enter__(self) -> Closing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close_all()
        if self._failure is None:
            return
        if error is None:
            raise self._failure
        if str(self._failure) != str(error):  # what ended the run comes first
            log.warning("%s", self._failure)

    def _close_all(self) -> None:
        drivers = [Stage(sink.name, partial(self._close, sink), lambda: None) for sink in self._sinks if sink.steady]
        for driver in drivers:
            driver.start()
        try:
            for sink in self._sinks:
                if not sink.steady:
                    self._close(sink)
        finally:
            limit = perf_counter() + CLOSE_SECONDS
            for driver in drivers:
                if not driver.join(max(0.0, limit - perf_counter())):
                    log.warning("%s could not be closed and was left behind: its device does not answer", driver.name)

    def _close(self, sink: Sink) -> bool:
        try:
            sink.close()
        except Exception as error:
            log.debug("%s could not be closed: %s", sink.name, error)
            self._failure = self._failure or error
        return False
