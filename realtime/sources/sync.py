"""The little threading that sources need: a slot for the newest frame, a stop signal, a drain thread, a deferred release.

Sources otherwise know nothing of threads; only these classes do.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, Self, TypeVar

from realtime.sources.base import EndOfStream

T = TypeVar("T")

# An event may wake up to 16 ms late on Windows (its timer's tick) while time.sleep is exact there: the last stretch is slept. It is longer
# than a frame at 30 fps takes, for which one sleep is enough then: each time that a thread wakes up takes 0.05 ms of its processor.
_EXACT = 0.04


class Managed(ABC):
    """`with source:` closes the source at the end; entering does not open it (`open` returns what the caller needs)."""

    def begin(self, wait: float = 0.0) -> None:  # noqa: B027 - most sources open quickly and have nothing to begin
        """See `Source.begin`."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Stop:
    """A signal that is given once and ends every wait on it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, and say whether the signal came."""
        return self._event.wait(max(seconds, 0.0))

    def wait_until(self, moment: float) -> bool:
        """Wait for a moment of `time.perf_counter()`, exact to well under a millisecond, and say whether the signal came."""
        coarse = moment - time.perf_counter() - _EXACT
        if coarse > 0 and self._event.wait(coarse):
            return True
        time.sleep(max(moment - time.perf_counter(), 0.0))
        return self._event.is_set()


class Newest(Generic[T]):
    """Holds the newest item only: putting one replaces an item that nobody took, so nothing grows old in a queue."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._item: T | None = None
        self._error: Exception | None = None
        self._closed = False
        self._ended = False

    def put(self, item: T) -> None:
        with self._changed:
            self._item = item
            self._changed.notify_all()

    def put_if_empty(self, item: T) -> None:
        """Give back what was taken, unless there is a newer one by now."""
        with self._changed:
            if self._item is None:
                self._item = item
                self._changed.notify_all()

    def there(self, timeout: float) -> bool:
        """Whether there is an item within `timeout` seconds, which stays. Raises as `take` does."""
        with self._changed:
            self._changed.wait_for(self._ready, max(timeout, 0.0))
            self._raise_ending()
            return self._item is not None

    def fail(self, error: Exception) -> None:
        """Every `take` from now on raises this error."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing follows the item that is there now."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._item = None
            self._changed.notify_all()

    def take(self, timeout: float) -> T | None:
        """The newest item, None when there is none within `timeout` seconds.

        Raises EndOfStream when closed or ended, and whatever `fail` was given.
        """
        with self._changed:
            self._changed.wait_for(self._ready, max(timeout, 0.0))
            self._raise_ending()
            item, self._item = self._item, None
            return item

    def _raise_ending(self) -> None:
        if self._closed or (self._ended and self._item is None):
            raise EndOfStream
        if self._error is not None:
            raise self._error

    def _ready(self) -> bool:
        return self._closed or self._ended or self._error is not None or self._item is not None


class Drain:
    """One named daemon thread. It must not outlive a process that a driver hangs, hence daemon."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, name=name, daemon=True)
        self._thread.start()

    def join(self, limit: float) -> bool:
        """Wait up to `limit` seconds and say whether the thread has ended."""
        if self._thread is not threading.current_thread():
            self._thread.join(limit)
        return not self._thread.is_alive()


class Lease:
    """Guards a handle that must not be released while a call is inside it.

    `close` releases it at once when nobody uses it; otherwise the user releases it on the way out, so `close` never waits.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release
        self._lock = threading.Lock()
        self._closing = False

    @contextmanager
    def use(self) -> Iterator[None]:
        """Raises EndOfStream when closed."""
        try:
            with self._lock:
                if self._closing:
                    raise EndOfStream
                yield
        finally:
            if self._closing:
                self.close()

    def close(self) -> None:
        self._closing = True
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._release()
        finally:
            self._lock.release()
