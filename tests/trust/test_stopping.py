from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest

from realtime.trust.stopping import StoppableFile, never, on_signal

NOTED = """
import signal
from realtime.trust.stopping import on_signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
with on_signal() as stopped:
    signal.raise_signal(signal.SIGTERM)
    assert not stopped(), "what the program leaves to the system stays there"
    signal.raise_signal(signal.SIGINT)
    assert stopped()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("ended as ever")
"""


def test_a_signal_is_only_noted_and_ends_the_program_again_afterwards() -> None:
    """In a process of its own: the one of the tests has libraries loaded that see to signals themselves."""
    ended = subprocess.run([sys.executable, "-c", NOTED], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended as ever\n", "")


IN_A_ROW = """
import signal
from realtime import interrupt
from realtime.trust.stopping import on_signal

clock = [100.0]
interrupt.time.perf_counter = lambda: clock[0]
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupt.raise_again()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    with on_signal() as stopped:
        signal.raise_signal(signal.SIGINT)
        assert not stopped(), "it is the wish that ended the run"
        clock[0] += interrupt.SAME_WISH
        signal.raise_signal(signal.SIGINT)
        assert stopped()
    print("broken off")
"""


def test_of_several_in_a_row_only_the_first_counts() -> None:
    ended = subprocess.run([sys.executable, "-c", IN_A_ROW], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "broken off\n", "")


def test_in_another_thread_there_is_nothing_to_note() -> None:
    seen = []

    def work() -> None:
        with on_signal() as stopped:
            seen.append(stopped())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_file_fails_from_then_on() -> None:
    asked: list[int] = []
    file = StoppableFile(io.BytesIO(b"abcdef"), lambda: bool(asked))
    assert (file.read(2), file.tell(), file.seek(0), file.write(b"xy")) == (b"ab", 2, 0, 2)
    buffer = bytearray(2)
    assert file.readinto(buffer) == 2 and buffer == b"cd"
    file.flush()
    asked.append(1)
    for use in (lambda: file.read(1), lambda: file.readinto(buffer), lambda: file.write(b"z"), lambda: file.seek(0)):
        with pytest.raises(InterruptedError):
            use()
    assert not never()
