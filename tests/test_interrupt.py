"""Ctrl-C at any moment of a start ends it with 130 and no traceback. In processes of their own: the one of the tests has signals set up
otherwise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from realtime import interrupt
from realtime.assets import SOURCE
from tests.importing import interrupted_at

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to whole consoles only")

ANSWERS = """
import os, signal, sys
from realtime import interrupt
{first}
interrupt.leave_at_once()
{then}
os.kill(os.getpid(), signal.SIGINT)
print("went on")
"""


def answer(first: str = "", then: str = "") -> subprocess.CompletedProcess[str]:
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # the tests themselves may run in a background
    program = heeding + ANSWERS.format(first=first, then=then)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment, check=False)


def test_it_ends_on_the_spot_without_a_word() -> None:
    ended = answer()
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_it_is_an_exception_once_there_is_something_to_put_in_order() -> None:
    for raising in ("interrupt.raise_again()", "from realtime.commands.signals import end_on_signals; end_on_signals()"):
        assert "KeyboardInterrupt" in answer(then=raising).stderr


def test_several_in_a_row_are_one_and_a_later_one_counts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(interrupt.time, "perf_counter", lambda: clock[0])
    answer = interrupt.Raise()
    for clock[0] in (100.0, 103.0):
        with pytest.raises(KeyboardInterrupt) as raised:
            answer(signal.SIGINT, None)
        assert raised.value.args == (signal.SIGINT,)
        answer(signal.SIGINT, None)
        clock[0] += 1.5
        answer(signal.SIGTERM, None)


def test_what_puts_things_in_order_is_not_broken_off_by_more_of_them() -> None:
    thrice = "interrupt.raise_again()\ntry: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: print('in order')"
    assert answer(then=thrice).stdout == "in order\nwent on\n"
    left = "interrupt.raise_again(); interrupt.leave_at_once()"
    assert (answer(then=left).returncode, answer(then=left).stderr) == (130, "")


def test_where_it_is_ignored_it_still_is() -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    assert answer(first=ignoring).stdout == "went on\n"
    assert answer(first=ignoring, then="interrupt.raise_again()").stdout == "went on\n"


def test_an_interrupted_program_waits_for_no_thread_that_hangs(tmp_path: Path) -> None:
    program = (
        "import threading, sys; from realtime import __main__, cli\n"
        "def main():\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    print('what it measured')\n"
        "    return int(sys.argv[1])\n"
        "cli.main = main\n"
        "sys.exit(__main__.start())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    ended = subprocess.run([*command, "143"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "what it measured\n", "")


@pytest.mark.parametrize(("status", "kept"), [("0", 0), ("1", 1), ("2", 2), ("130", 1)])
def test_a_builder_that_ended_is_not_undone_while_python_clears_up(status: str, kept: int) -> None:
    program = (
        "import atexit, os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from realtime import __main__, cli\n"
        "cli.main = lambda: int(sys.argv[2])\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.exit(__main__.start())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for command, expected in (("engines", kept), ("run", 130)):
        asked = [sys.executable, "-c", program, command, status]
        ended = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (expected, "")


@pytest.mark.parametrize("module", ["cv2", "numba", "realtime.app"])
def test_a_start_that_is_interrupted_while_it_imports_says_nothing(tmp_path: Path, module: str) -> None:
    arguments = ["realtime", "--source", str(SOURCE), "--input", "synthetic", "--output", "null"]
    ended = interrupted_at(module, arguments, "runpy.run_module('realtime', run_name='__main__', alter_sys=True)", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
