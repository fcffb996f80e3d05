from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from realtime.sinks.disk import cut_to_whole


def box(kind: bytes, content: int) -> bytes:
    return pack(">I4s", 8 + content, kind) + bytes(content)


WHOLE = box(b"ftyp", 28) + box(b"moov", 100) + box(b"moof", 200) + box(b"mdat", 3000)
LARGE = pack(">I4sQ", 1, b"mdat", 16 + 5000) + bytes(5000)


@pytest.mark.parametrize("end", [1, 7, 8, 100, 207])
def test_a_header_that_was_cut_short_is_taken_off(tmp_path: Path, end: int) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(WHOLE + box(b"moof", 200)[:end])
    cut_to_whole(path)
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("data", [b"", WHOLE, WHOLE[:-1000], WHOLE + LARGE, WHOLE + LARGE[:-1], WHOLE + LARGE + box(b"moof", 200)])
def test_what_is_whole_or_ends_in_pictures_stays(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(data)
    cut_to_whole(path)
    assert path.read_bytes() == data
