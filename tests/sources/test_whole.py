from __future__ import annotations

from pathlib import Path

import pytest

from realtime.sources.whole import torn


def packets(count: int, length: int = 188, before: bytes = b"") -> bytes:
    """A transport stream of packets that hold nothing; those of 192 bytes begin with a time stamp."""
    stamp = bytes(4) if length == 192 else b""
    return before + (stamp + b"\x47" + bytes(length - 1 - len(stamp))) * count


@pytest.mark.parametrize("length", [188, 192, 204])
@pytest.mark.parametrize("before", [b"", b"\x01" * 50])
def test_a_last_packet_that_is_not_whole_is_seen(tmp_path: Path, length: int, before: bytes) -> None:
    path = tmp_path / "v.ts"
    path.write_bytes(packets(20, length, before))
    assert not torn(path)
    for missing in (1, 60, length - 1):
        path.write_bytes(packets(20, length, before)[:-missing])
        assert torn(path)


@pytest.mark.parametrize("data", [b"", b"\x47", packets(4), bytes(5000)])
def test_of_what_is_no_such_stream_nothing_is_said(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "v.ts"
    path.write_bytes(data)
    assert not torn(path)
