from __future__ import annotations

import io
import signal
import threading

import pytest

from realtime.trust.stopping import StoppableFile, never, on_signal


def test_a_signal_is_only_noted_and_ends_the_program_again_afterwards() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with on_signal() as stopped:
            assert not stopped()
            signal.raise_signal(signal.SIGINT)
            assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_the_program_leaves_to_the_system_stays_there() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with on_signal() as stopped:
            signal.raise_signal(signal.SIGTERM)
            assert not stopped()
    finally:
        signal.signal(signal.SIGTERM, before)


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
