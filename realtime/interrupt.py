"""Ctrl-C while there is nothing yet, or no longer, that would have to be put in order: it ends the process on the spot, without a word
unless a command has one to say.

Python's own answer, an exception wherever the program happens to be, is no good there: raised while a library is imported it becomes that
library's complaint, and raised after the end it is a traceback. This module imports nothing of ours and next to nothing else, so that it
comes before what takes long.
"""

from __future__ import annotations

import os
import signal

BY_SIGNAL = 128
"""What shells report for a program ended by a signal is this and its number: 130 for Ctrl-C, 143 for SIGTERM."""


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
    answer = signal.getsignal(signal.SIGINT)
    if answer is signal.default_int_handler or isinstance(answer, _Leave):
        signal.signal(signal.SIGINT, _Leave(status, words))


def raise_again() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, as it does in Python: what was begun is finished, closed or taken back on its way."""
    if isinstance(signal.getsignal(signal.SIGINT), _Leave):
        signal.signal(signal.SIGINT, signal.default_int_handler)
