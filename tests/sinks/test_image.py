from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.errors import SinkError, UsageError
from realtime.sinks import files
from realtime.sinks.files import Target, free, numbered, probe
from realtime.sinks.image import IMAGE_SUFFIXES, ImageSink, save_still
from tests.sinks.frames import colours_wrong_by, frame, number_of, picture, stream


def read(path: Path) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.parametrize("suffix", [*IMAGE_SUFFIXES, ".PNG"])
def test_the_newest_frame_is_written_at_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bild ü 图{suffix}"
    with ImageSink(path) as sink:
        sink.open(stream())
        for number in range(4):
            sink.write(frame(number))
        assert not path.exists()
    assert number_of(read(path)) == 3 and colours_wrong_by(read(path)) <= 6
    sink.close()
    assert list(tmp_path.iterdir()) == [path]


def test_a_kept_frame_does_not_change_with_the_callers_array(tmp_path: Path) -> None:
    given = frame(6)
    with ImageSink(tmp_path / "out.png") as sink:
        sink.open(stream())
        sink.write(given)
        given.image[:] = 0
    assert np.array_equal(read(tmp_path / "out.png"), picture(160, 120, 6))


def test_without_a_frame_an_older_picture_stays(tmp_path: Path) -> None:
    (tmp_path / "out.png").write_bytes(b"old")
    with ImageSink(tmp_path / "out.png", replace=True) as sink:
        sink.open(stream())
    assert (tmp_path / "out.png").read_bytes() == b"old"


def test_the_placeholder_is_no_picture(tmp_path: Path) -> None:
    card = replace(frame(9), card=True)
    with ImageSink(tmp_path / "none.png") as none, ImageSink(tmp_path / "one.png") as one:
        for sink in (none, one):
            sink.open(stream())
            sink.write(card)
        one.write(frame(5))
        one.write(card)
    assert number_of(read(tmp_path / "one.png")) == 5 and list(tmp_path.iterdir()) == [tmp_path / "one.png"]


def test_a_picture_that_is_there_is_left_alone_unless_it_may_go(tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match="there is already a file"):
        ImageSink(path).open(stream())
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with ImageSink(path, replace=True) as sink:
        sink.open(stream())
        sink.write(frame(7))
    assert number_of(read(path)) == 7


def test_wrong_targets_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="as a picture"):
        ImageSink(tmp_path / "out.tiff2")
    with pytest.raises(UsageError, match="there is no folder"):
        ImageSink(tmp_path / "gone" / "out.png").open(stream())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="it is a pipe"):
        ImageSink(path, replace=True).open(stream())
    assert path.is_fifo()


def test_names_are_numbered_as_far_as_they_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    assert free(path) == path and numbered(path) == []
    for name in ("out.png", "out-2.png", "out-4.png"):
        (tmp_path / name).touch()
    assert free(path) == tmp_path / "out-3.png"
    assert numbered(path) == [tmp_path / "out-2.png"]


def test_stills_never_replace_one_another(tmp_path: Path) -> None:
    paths = [save_still(picture(64, 48, number), tmp_path) for number in range(3)]
    assert len(set(paths)) == 3
    assert [number_of(read(path)) for path in paths] == [0, 1, 2]
    with pytest.raises(SinkError, match="there is no folder"):
        save_still(picture(64, 48), tmp_path / "gone")


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SinkError, match="the disk is full"):
        save_still(picture(64, 48), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_to_find_out_whether_a_file_can_be_written_none_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An end between the two steps would leave it."""
    monkeypatch.setattr(Path, "touch", lambda *given, **more: pytest.fail("made a file"))
    probe(tmp_path / "out.png")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="there is no folder"):
        probe(tmp_path / "gone" / "out.png")
    with pytest.raises(UsageError, match="cannot write"):
        probe(tmp_path / ("x" * 252 + ".png"))


def test_a_beginning_that_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, data: bytes) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Target(tmp_path / "out.mp4").prepare()
    with pytest.raises(KeyboardInterrupt):
        save_still(picture(64, 48), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_part_file_of_another_run_is_left_alone(tmp_path: Path) -> None:
    for name in ("out.mp4", "out.part.mp4"):
        (tmp_path / name).write_bytes(b"another's")
    target = Target(tmp_path / "out.mp4")
    with pytest.raises(UsageError, match="there is already"):
        target.prepare()
    target.discard()
    assert (tmp_path / "out.part.mp4").read_bytes() == b"another's"


def test_a_target_replaces_only_when_complete(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"old")
    target = Target(tmp_path / "a.bin", replace=True)
    target.prepare()
    target.part.write_bytes(b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"old" and target.part.suffix == ".bin"
    target.commit()
    assert (tmp_path / "a.bin").read_bytes() == b"new" and not target.part.exists()


@pytest.mark.parametrize(("platform", "refusals", "works"), [("win32", 3, True), ("win32", 9, False), ("linux", 1, False)])
def test_what_a_virus_scanner_looks_at_is_renamed_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, refusals: int, works: bool
) -> None:
    part, rename, left = tmp_path / "p.part.png", os.replace, iter(range(refusals))
    part.touch()

    def refusing(one: Path, other: Path) -> None:
        if next(left, None) is not None:
            raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used by another process")
        rename(one, other)

    monkeypatch.setattr(os, "replace", refusing)
    monkeypatch.setattr(files, "_SCANNED", (0.001,) * 5)
    with nullcontext() if works else pytest.raises(PermissionError):
        files._put_in_place(part, tmp_path / "p.png", platform)
    assert (tmp_path / "p.png").exists() is works and part.exists() is not works
