"""One stage of the pipeline: a named thread that repeats a step until it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Stage:
    """Runs `step` over and over in a thread of its own.

    The stage ends when `step` returns False or raises, or when `stop` was called; an exception is kept in `error`. `on_end` runs
    last in the thread whatever happened, so that a neighbour waiting for this stage always wakes.
    """

    def __init__(self, name: str, step: Callable[[], bool], on_end: Callable[[], None]) -> None:
        self.name = name
        self.error: BaseException | None = None
        self._step = step
        self._on_end = on_end
        self._stop, self._ended = threading.Event(), threading.Event()
        # A daemon: a device that never returns must not keep the process alive after the time limit of `join`.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the stage to end after the step it is in."""
        self._stop.set()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False when the thread is still running after `timeout` seconds."""
        if not self.begun:
            return True
        # Not `Thread.join`, which until Python 3.12 takes a thread for ended when Ctrl-C comes while it is waited for.
        if self._ended.wait(timeout):
            self._thread.join(timeout)
        return not self.alive

    @property
    def begun(self) -> bool:
        """Whether the thread has been started, if only just now."""
        return self._thread.ident is not None

    @property
    def alive(self) -> bool:
        return self.begun and not self._ended.is_set()

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and self._step():
                pass
        except BaseException as error:
            self.error = error
        finally:
            try:
                self._on_end()
            finally:
                self._ended.set()
