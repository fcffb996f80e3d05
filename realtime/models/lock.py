"""One process at a time in a folder, by a lock that the operating system drops when its holder dies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL = 0.1
"""Seconds between two tries: neither system has a lock with a time limit that Ctrl-C can interrupt everywhere."""

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path, timeout: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file at `path`, made when absent and left in place. `on_wait` is called once when somebody else holds it.

    Raises TimeoutError when another process holds it for `timeout` seconds, OSError when the file cannot be made.
    """
    with path.open("ab") as file:
        _acquire(file.fileno(), path, timeout, on_wait)
        yield  # closing the file ends the lock


def _acquire(descriptor: int, path: Path, timeout: float, on_wait: Callable[[], None]) -> None:
    end = time.perf_counter() + timeout
    if _acquired(descriptor):
        return
    on_wait()
    while not _acquired(descriptor):
        if time.perf_counter() >= end:
            raise TimeoutError(f"{path} is held by another process")
        time.sleep(_POLL)


def _acquired(descriptor: int) -> bool:
    try:
        _try_lock(descriptor)
    except (BlockingIOError, PermissionError):  # what the two systems raise for "somebody else has it"
        return False
    return True
