"""Ctrl-C, and how a program ends by it.

While there is nothing yet, or no longer, that would have to be put in order, it ends the process on the spot, without a word unless a
command has one to say. Python's own answer, an exception wherever the program happens to be, is no good there: raised while a library is
imported it becomes that library's complaint, and raised after the end it is a traceback. In between it is that exception, once: who presses
the keys three times in a row means no more than who presses them once, and a second exception would break off what puts things in order
after the first.

This module imports nothing of ours and next to nothing else, so that it comes before what takes long.
"""

from __future__ import annotations

import os
import signal
import sys
import time

BY_SIGNAL = 128
"""What shells report for a program ended by a signal is this and its number: 130 for Ctrl-C, 143 for SIGTERM."""
SAME_WISH = 2.0
"""Seconds in which more interrupts after the first change nothing, as it takes one to end a run; a later one breaks off what hangs."""


UNBUILT = "interrupted before anything was built: run the builder again"


def before(argv: list[str]) -> tuple[int, str]:
    """How Ctrl-C ends a command that has begun nothing yet: status and words. To the builder it is one more way in which models fail."""
    return (1, f"realtime: {UNBUILT}") if argv[:1] == ["engines"] else (BY_SIGNAL + signal.SIGINT, "")


class Raise:
    """What answers a signal with KeyboardInterrupt, whose argument is the signal's number."""

    def __init__(self) -> None:
        self._first = -SAME_WISH

    def __call__(self, number: int, _frame: object) -> None:
        if self.is_new():
            raise KeyboardInterrupt(number)

    def is_new(self) -> bool:
        """Whether a signal that comes now is more than the last ones said already; then it is the one that counts."""
        now = time.perf_counter()
        if now - self._first < SAME_WISH:
            return False
        self._first = now
        return True


class _Leave:
    def __init__(self, status: int, words: str) -> None:
        self._status, self._words = status, words

    def __call__(self, _number: int, _frame: object) -> None:
        if self._words:
            os.write(2, f"{self._words}\n".encode())
        os._exit(self._status)


def leave_at_once(status: int = BY_SIGNAL + signal.SIGINT, words: str = "") -> None:
    """From now on, until `raise_again`, Ctrl-C ends the process with `status`, and with these words on stderr.

    Where it is ignored, as in a script's background, it still is.
    """
    if _answered():
        signal.signal(signal.SIGINT, _Leave(status, words))


def raise_again() -> Raise:
    """From now on Ctrl-C raises KeyboardInterrupt, as it does in Python: what was begun is finished, closed or taken back on its way.

    Gives what answers, for other signals, too. Where Ctrl-C is ignored it still is.
    """
    now = signal.getsignal(signal.SIGINT)
    answer = now if isinstance(now, Raise) else Raise()
    if _answered():
        signal.signal(signal.SIGINT, answer)
    return answer


def leave(status: int) -> None:
    """End the process now that all is in order: Python's own clearing up waits for threads that hang in a driver or load a network, and
    takes seconds on a busy machine, for nothing."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - without contextlib, which would come before the first answer to Ctrl-C
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or None
            pass
    os._exit(status)


def _answered() -> bool:
    """Whether Ctrl-C has one of our answers, or Python's own."""
    now = signal.getsignal(signal.SIGINT)
    return now is signal.default_int_handler or isinstance(now, Raise | _Leave)
