"""Signals that end a run."""

from __future__ import annotations

import signal
import sys
from typing import Any

from realtime.interrupt import Raise, raise_again

_AGAIN = 0.05
"""Seconds until an interrupt that was lost is made again: by then the callback that lost it is over."""


def end_on_signals() -> None:
    """A polite kill and a closed terminal end a command as Ctrl-C does: devices are released, files are playable, no child lives on.

    Called when there is something to put in order, not earlier: until then Ctrl-C ends the process on the spot (`realtime.interrupt`),
    which no library can catch or lose. From then on one may: code is compiled through callbacks, where Python prints an exception and
    goes on.
    """
    answer = raise_again()
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, answer)
    sys.unraisablehook = _told


def _told(lost: Any) -> None:
    """Called for an exception that could not be passed on. Where there are no timers (Windows) Ctrl-C has to be pressed again."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
    elif hasattr(signal, "setitimer"):
        given = lost.exc_value.args if lost.exc_value is not None else ()
        again = Raise()  # another answer: this one was not had yet
        signal.signal(signal.SIGALRM, lambda *_: again(given[0] if given else signal.SIGINT, None))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
