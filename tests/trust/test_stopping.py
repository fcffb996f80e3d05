from __future__ import annotations

import io

import pytest

from realtime.trust.stopping import StoppableFile, never


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
