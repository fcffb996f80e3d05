from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("c2pa", reason="c2pa-python is not installed: pip install 'realtime-faceswap[credentials]'")

from benchmarks.endings import playable
from realtime.errors import SinkError
from realtime.sinks.image import ImageSink, save_still
from realtime.sinks.select import open_output
from realtime.sinks.video import VideoSink
from realtime.trust import credentials
from realtime.trust.credentials import Credentials, read
from realtime.trust.seal import Sealer
from realtime.trust.xmp import COMPOSITE, source_types
from realtime.types import OutputFrame, State, StreamFormat
from tests.sinks.frames import frame, picture, stream
from tests.trust.files import write


def lost(number: int) -> OutputFrame:
    taken = frame(number)
    return OutputFrame(taken.seq, taken.captured_at, State.LOST, taken.image, taken.i420, taken.media_time)


def run(sink: Any, frames: list[OutputFrame]) -> None:
    with sink:
        sink.open(stream())
        for each in frames:
            sink.write(each)


def sealed(folder: Path, **options: Any) -> Sealer:
    return Sealer(folder / "keys", **options)


@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.png", "out.jpg", "out.webp"])
def test_files_of_a_run_are_signed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    run(open_output(str(path), seal=sealed(tmp_path)), [frame(0), lost(1)])
    assert read(path).state == "intact" and read(path).by_ai
    assert source_types(path) == ([COMPOSITE] if path.suffix in (".png", ".jpg", ".webp") else [])
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["keys", name])


@pytest.mark.parametrize("sink", [VideoSink, ImageSink])
def test_a_file_without_a_swapped_frame_declares_nothing(tmp_path: Path, sink: Any) -> None:
    path = tmp_path / ("out.mp4" if sink is VideoSink else "out.png")
    run(sink(path, seal=sealed(tmp_path)), [lost(0), lost(1)])
    assert read(path).state == "none" and source_types(path) == []


def test_a_still_is_signed(tmp_path: Path) -> None:
    path = save_still(picture(64, 48), tmp_path, sealed(tmp_path))
    assert read(path).by_ai and source_types(path) == [COMPOSITE]


INTERRUPTED = """
import signal, sys, time
from pathlib import Path
from realtime import interrupt
from realtime.errors import SinkError
from realtime.pipeline.ending import Closing
from realtime.sinks.select import open_output
from realtime.trust import credentials, seal
from tests.sinks.frames import frame, stream
from tests.trust.test_seal import sealed

folder, step, runs_end = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
clock, real = [100.0], getattr(credentials, step)

def interrupted(*given):
    signal.raise_signal(signal.SIGINT)
    if runs_end:
        assert not given[-1](), "it is the wish that ended the run"
        clock[0] += interrupt.SAME_WISH
        signal.raise_signal(signal.SIGINT)
    until = time.perf_counter() + 30
    while not given[-1]() and time.perf_counter() < until:
        time.sleep(0.01)  # for the main thread to hear of it
    return real(*given)

signal.signal(signal.SIGINT, signal.default_int_handler)
answer = interrupt.raise_again()
setattr(credentials, step, interrupted)
seal.LONG = 100
sink = open_output(str(folder / "out.mp4"), seal=sealed(folder, notify=print))
try:
    with Closing() as closing:
        closing.close(sink)
        sink.open(stream())
        for number in range(2):
            sink.write(frame(number))
        if runs_end:
            import types
            interrupt.time = types.SimpleNamespace(perf_counter=lambda: clock[0])
            signal.raise_signal(signal.SIGINT)
except (SinkError, KeyboardInterrupt) as error:
    print(error if isinstance(error, SinkError) else "ended")
"""


@pytest.mark.parametrize("runs_end", ["", "too"], ids=["once", "again after the one that ended the run"])
@pytest.mark.parametrize("step", ["sign", "read"])
def test_ctrl_c_while_a_long_film_is_signed_leaves_the_unsigned_file(tmp_path: Path, step: str, runs_end: str) -> None:
    """In a process of its own: the one of the tests has signals set up otherwise."""
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), step, runs_end]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    announced, *told = ended.stdout.splitlines()
    assert (told == ["ended"]) == bool(runs_end)
    told = ended.stderr.strip() if runs_end else told[0]
    assert "signing the video" in announced and "Ctrl-C leaves it unsigned" in announced
    unsigned = tmp_path / "out.unsigned.mp4"
    assert "out.mp4 is not signed: the signing was broken off" in told and told.endswith(f"the unsigned file is {unsigned}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys", "out.unsigned.mp4"]
    assert playable(unsigned) and read(unsigned).state == "none"


def interrupted(path: Path, stopped: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_between_the_steps_keeps_the_unsigned_file_too(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="broken off; the unsigned file is"):
        run(open_output(str(tmp_path / "out.mp4"), seal=interrupted), [frame(0), frame(1)])
    assert playable(tmp_path / "out.unsigned.mp4")


def failing(path: Path, stopped: object) -> None:
    raise SinkError("the Content Credentials could not be written (no reason)")


@pytest.mark.parametrize("name", ["out.mp4", "out.png"])
def test_a_failed_signing_keeps_the_unsigned_file_under_another_name_and_the_older_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"older")
    unsigned = tmp_path / name.replace("out", "out.unsigned")
    with pytest.raises(SinkError, match=f"{name} is not signed: .*; the unsigned file is .*{unsigned.name}"):
        run(open_output(str(path), seal=failing, replace=True), [frame(0), frame(1)])
    assert path.read_bytes() == b"older"
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, unsigned.name])
    assert unsigned.stat().st_size > 500


def test_a_second_failed_signing_replaces_no_first(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(SinkError, match="is not signed"):
            run(ImageSink(tmp_path / "out.png", failing), [frame(0)])
    assert len(list(tmp_path.glob("out.unsigned*.png"))) == 2


def test_what_does_not_read_back_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "p.mp4")
    before = path.read_bytes()
    monkeypatch.setattr(credentials, "read", lambda *given: Credentials("broken", problems=("assertion.bmffHash.mismatch",)))
    with pytest.raises(SinkError, match=r"do not read back \(assertion.bmffHash.mismatch\)"):
        sealed(tmp_path)(path)
    assert path.read_bytes() == before and not list(tmp_path.glob("*.part*"))


def test_a_full_disk_leaves_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "p.mp4")
    before = path.read_bytes()

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(credentials, "sign", full)
    with pytest.raises(SinkError, match="the disk is full"):
        sealed(tmp_path)(path)
    assert path.read_bytes() == before and not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize(("name", "said"), [("p.mkv", "no place for Content Credentials"), ("p.bmp", "no place for Content Credentials")])
def test_a_format_without_a_place_is_told_once(tmp_path: Path, name: str, said: str) -> None:
    told: list[str] = []
    seal = sealed(tmp_path, notify=told.append)
    path = write(tmp_path / name)
    before = path.read_bytes()
    seal(path)
    seal(path)
    assert len(told) == 1 and said in told[0] and path.read_bytes() == before


def test_without_the_library_files_are_written_unsigned_and_it_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "available", lambda: False)
    told: list[str] = []
    seal = sealed(tmp_path, notify=told.append)
    for name in ("a.png", "b.png"):
        run(ImageSink(tmp_path / name, seal), [frame(0)])
        assert source_types(tmp_path / name) == [COMPOSITE]
    assert len(told) == 1 and "pip install" in told[0] and not (tmp_path / "keys").exists()


def test_the_program_starts_where_the_library_is_not_installed() -> None:
    """As on Windows without the extra: neither c2pa nor what it brings can be imported."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(['c2pa', 'cryptography', 'requests']))"
    done = subprocess.run([sys.executable, "-c", f"{blocked}; import realtime.app, realtime.trust.verify"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_credentials_of_the_file_that_the_run_reads_are_kept(tmp_path: Path) -> None:
    given = write(tmp_path / "in.mp4")
    sealed(tmp_path)(given)
    path = write(tmp_path / "out.mp4")
    sealed(tmp_path, ingredient=given)(path)
    assert read(path).ingredients == 1


def test_a_film_still_plays_after_it_was_signed(tmp_path: Path) -> None:
    import av

    path = tmp_path / "out.mp4"
    with VideoSink(path, seal=sealed(tmp_path)) as sink:
        sink.open(StreamFormat(160, 120, 30.0, live=False))
        for number in range(6):
            sink.write(frame(number))
    with av.open(str(path)) as container:
        frames = [each.to_ndarray(format="bgr24") for each in container.decode(video=0)]
    assert len(frames) == 6 and not np.array_equal(frames[0], frames[5])
