"""An interrupt that a library has lost comes again. In processes of their own: the one of the tests has signals set up otherwise."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

LOSING = """
import signal, time
from realtime.commands.signals import end_on_signals

class Careless:
    def __del__(self):
        raise {error}

end_on_signals()
Careless()
try:
    time.sleep({seconds})
except KeyboardInterrupt as interrupt:
    print("interrupted", *map(int, interrupt.args))
"""


def losing(error: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """A program in which an exception is raised where Python cannot pass it on: here in a finaliser, in a compiler in its callbacks."""
    program = LOSING.format(error=error, seconds=seconds)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
@pytest.mark.parametrize(("error", "number"), [("KeyboardInterrupt", "SIGINT"), ("KeyboardInterrupt(signal.SIGTERM)", "SIGTERM")])
def test_an_interrupt_lost_in_a_callback_is_raised_after_it(error: str, number: str) -> None:
    ended = losing(error, 30)
    assert (ended.stdout, ended.stderr) == (f"interrupted {int(signal.Signals[number])}\n", "")


def test_other_exceptions_are_printed_as_ever() -> None:
    ended = losing("ValueError('odd')", 0)
    assert ended.stdout == ""
    assert "ValueError: odd" in ended.stderr
