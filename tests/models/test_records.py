"""Files that are complete as soon as they are there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from realtime.models import records
from realtime.models.records import PARTIAL, looks, read_record, replace, sha256_of, write_record


def test_what_a_dead_process_left_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    (tmp_path / f"{PARTIAL}model.onnx").write_bytes(b"half of ano")
    replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
def test_a_link_that_lies_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    other = tmp_path / "somebody else's"
    other.write_bytes(b"untouched")
    (tmp_path / f"{PARTIAL}model.onnx").symlink_to(other)
    replace(tmp_path / "model.onnx", b"new")
    assert other.read_bytes() == b"untouched" and not (tmp_path / "model.onnx").is_symlink()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records.os, "fsync", full)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space"):
        replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_record_comes_back_and_one_that_is_none_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    assert read_record(path) == {}
    write_record(path, {"sha256": "ab", "size": 3})
    assert read_record(path) == {"sha256": "ab", "size": 3}
    for content in ("not JSON", "[1, 2]", "", "[" * 100_000):
        records.record_of(path).write_text(content)
        assert read_record(path) == {}


def test_another_content_looks_and_sums_differently(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    before = looks(path), sha256_of(path)
    assert before[1] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    replace(path, b"abd")
    assert looks(path) != before[0] and sha256_of(path) != before[1]
