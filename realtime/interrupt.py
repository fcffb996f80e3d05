"""Ctrl-C while there is nothing yet, or no longer, that would have to be put in order: it ends the process on the spot, without a word.

Python's own answer, an exception wherever the program happens to be, is no good there: raised while a library is imported it becomes that
library's complaint, and raised after the end it is a traceback. This module imports nothing of ours and next to nothing else, so that it
comes before what takes long.
"""

from __future__ import annotations

import os
import signal

BY_SIGNAL = 128
"""What shells report for a program ended by a signal is this and its number: 130 for Ctrl-C, 143 for SIGTERM."""


def leave_at_once() -> None:
    """From now on, until `raise_again`, Ctrl-C ends the process with 130. Where it is ignored, as in a script's background, it still is."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_again() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, as it does in Python: what was begun is finished, closed or taken back on its way."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, _frame: object) -> None:
    os._exit(BY_SIGNAL + number)
