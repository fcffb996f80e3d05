from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from realtime.errors import SinkError, UsageError
from realtime.sinks import video
from realtime.sinks.disk import DiskFile
from realtime.sinks.video import VideoSink
from tests.sinks.frames import colours_wrong_by, frame, number_of, stream


def write(path: Path, times: list[float], size: tuple[int, int] = (160, 120), audio_from: str | None = None) -> None:
    with VideoSink(path, audio_from) as sink:
        sink.open(stream(*size))
        for number, time in enumerate(times):
            sink.write(frame(number, *size, media_time=time))


def read(path: Path) -> tuple[list[Any], list[float]]:
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [picture.to_ndarray(format="bgr24") for picture in frames], [float(picture.pts * picture.time_base) for picture in frames]


def tone(path: Path, seconds: float, codec: str, rate: int = 44_100) -> None:
    """A file with sound only, a 440 Hz tone."""
    samples = np.sin(np.arange(int(seconds * rate)) * 2 * np.pi * 440 / rate).astype(np.float32)[None] * 0.5
    with av.open(str(path), "w") as container:
        out = container.add_stream(codec, rate=rate)
        out.codec_context.layout = "mono"
        size = out.codec_context.frame_size or 1024
        resampler = av.AudioResampler(format=out.codec_context.format, layout="mono", rate=rate, frame_size=size)
        sound = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
        sound.sample_rate, sound.pts, sound.time_base = rate, 0, Fraction(1, rate)
        for part in [*resampler.resample(sound), *resampler.resample(None), None]:
            container.mux(out.encode(part))


@pytest.mark.parametrize("suffix", list(video.CODINGS))
def test_every_frame_comes_back_in_order_with_its_colours(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ausgabe é{suffix}"
    write(path, [n / 30 for n in range(12)])
    pictures, times = read(path)
    assert [number_of(picture) for picture in pictures] == list(range(12))
    assert max(colours_wrong_by(picture) for picture in pictures) <= 12
    assert np.allclose(times, [n / 30 for n in range(12)], atol=1e-3)
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


def test_ntsc_times_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "ntsc.mp4"
    write(path, [n * 1001 / 24000 for n in range(10)])
    with av.open(str(path)) as container:
        times = [picture.pts * picture.time_base for picture in container.decode(video=0)]
        assert container.streams.video[0].average_rate == Fraction(24000, 1001)
    assert times == [Fraction(1001 * n, 24000) for n in range(10)]


def test_a_variable_rate_is_kept_and_starts_at_zero(tmp_path: Path) -> None:
    given = [5.0, 5.04, 5.2, 5.21, 6.0]
    write(tmp_path / "vfr.mp4", given)
    assert np.allclose(read(tmp_path / "vfr.mp4")[1], [time - 5.0 for time in given], atol=2e-6)


def test_live_frames_have_their_capture_times_and_repeats_do_not_break_the_order(tmp_path: Path) -> None:
    path = tmp_path / "live.mp4"
    with VideoSink(path) as sink:
        sink.open(stream(live=True))
        for number, at in enumerate([10.0, 10.1, 10.1, 10.4]):
            sink.write(frame(number, at=at))
    times = read(path)[1]
    assert np.allclose(times, [0, 0.1, 0.1, 0.4], atol=1e-4) and times[1] < times[2]


@pytest.mark.parametrize("size", [(161, 121), (160, 121), (161, 120)])
def test_odd_sizes_lose_one_line(tmp_path: Path, size: tuple[int, int]) -> None:
    write(tmp_path / "odd.mp4", [0, 0.1, 0.2], size)
    pictures, _ = read(tmp_path / "odd.mp4")
    assert pictures[0].shape == (120, 160, 3) and colours_wrong_by(pictures[2]) <= 12


def test_the_file_is_tagged_as_bt601_limited(tmp_path: Path) -> None:
    write(tmp_path / "tags.mp4", [0, 0.1])
    with av.open(str(tmp_path / "tags.mp4")) as container:
        context = container.streams.video[0].codec_context
        assert (int(context.colorspace), int(context.color_range), context.pix_fmt) == (6, 1, "yuv420p")


@pytest.mark.parametrize(("codec", "name", "suffix", "expected"), [
    ("aac", "in.mp4", ".mp4", "aac"),
    ("aac", "in.mp4", ".mkv", "aac"),
    ("libmp3lame", "in.avi", ".mp4", "aac"),
    ("libmp3lame", "in.avi", ".mkv", "aac"),
    ("libmp3lame", "in.mp4", ".mp4", "mp3float"),
    ("pcm_s16le", "in.wav", ".mp4", "aac"),
    ("pcm_s16le", "in.wav", ".webm", "opus"),
    ("pcm_s16le", "in.wav", ".mov", "pcm_s16le"),
])  # fmt: skip
def test_the_sound_is_taken_along_and_ends_with_the_picture(tmp_path: Path, codec: str, name: str, suffix: str, expected: str) -> None:
    tone(tmp_path / name, 3.0, codec)
    path = tmp_path / f"out{suffix}"
    write(path, [n / 30 for n in range(45)], audio_from=str(tmp_path / name))
    with av.open(str(path)) as container:
        assert container.streams.audio[0].codec_context.name == expected
        parts = list(container.decode(audio=0))
        end = max(part.time + part.samples / part.sample_rate for part in parts)
        wave = np.concatenate([part.to_ndarray().astype(float).ravel() for part in parts])
    assert 1.35 <= end <= 1.6, f"sound ends at {end}"
    assert np.abs(wave).std() > 0
    assert len(read(path)[0]) == 45


def test_sound_follows_a_late_start_in_the_file(tmp_path: Path) -> None:
    tone(tmp_path / "in.mp4", 3.0, "aac")
    write(tmp_path / "out.mp4", [2.0 + n / 30 for n in range(60)], audio_from=str(tmp_path / "in.mp4"))
    with av.open(str(tmp_path / "out.mp4")) as container:
        parts = list(container.decode(audio=0))
    assert parts[0].time == pytest.approx(0, abs=0.05)
    assert parts[-1].time == pytest.approx(1.0, abs=0.1), "only the last second of the sound belongs to these frames"


@pytest.mark.parametrize("content", [None, b"no media at all", b""])
def test_missing_or_broken_sound_leaves_the_picture(tmp_path: Path, content: bytes | None) -> None:
    source = tmp_path / "in.mp3"
    if content is not None:
        source.write_bytes(content)
    write(tmp_path / "out.mp4", [0, 0.1], audio_from=str(source))
    assert len(read(tmp_path / "out.mp4")[0]) == 2


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    path.write_bytes(b"old")
    sink = VideoSink(path, replace=True)
    sink.open(stream())
    sink.write(frame(0, media_time=0))
    assert path.read_bytes() == b"old"
    sink.close()
    assert len(read(path)[0]) == 1
    sink.close()


def test_an_exception_in_the_middle_leaves_a_complete_file(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    with pytest.raises(KeyboardInterrupt), VideoSink(path) as sink:
        sink.open(stream())
        for number in range(5):
            sink.write(frame(number, media_time=number / 30))
        raise KeyboardInterrupt
    assert len(read(path)[0]) == 5


def test_without_a_frame_nothing_is_written(tmp_path: Path) -> None:
    with VideoSink(tmp_path / "out.mp4") as sink:
        sink.open(stream())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shown", [60, 600])
def test_a_killed_run_leaves_all_but_the_last_second_in_its_part_file(tmp_path: Path, shown: int) -> None:
    sink = VideoSink(tmp_path / "out.mp4")
    sink.open(stream(fps=30))
    for number in range(shown):
        sink.write(frame(number % 256, media_time=number / 30))
    data = (tmp_path / "out.part.mp4").read_bytes()  # what a power cut would leave
    (tmp_path / "cut.mp4").write_bytes(data)
    assert len(read(tmp_path / "cut.mp4")[0]) >= shown - 30
    sink.close()


def test_two_runs_at_once_do_not_share_the_part_file(tmp_path: Path) -> None:
    first, second = VideoSink(tmp_path / "out.mp4"), VideoSink(tmp_path / "out.mp4")
    for sink in (first, second):
        sink.open(stream())
    for number in range(3):
        first.write(frame(number, media_time=number / 30))
        second.write(frame(number, media_time=number / 30))
    first.close()
    with pytest.raises(SinkError, match=r"another program wrote .*out\.mp4 meanwhile, which is left as it is: this one is .*out-2\.mp4"):
        second.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out-2.mp4", "out.mp4"]
    assert all(len(read(path)[0]) == 3 for path in tmp_path.iterdir())


def test_a_file_that_is_there_is_left_alone_unless_it_may_go(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match=r"there is already a file .*: give another name, or --overwrite"):
        VideoSink(path).open(stream())
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_wrong_targets_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder.mp4").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"use one of \.mp4"):
        VideoSink(tmp_path / "out.gif")
    for path, words in (("gone/out.mp4", "there is no folder"), ("folder.mp4", "it is a folder"), ("file/out.mp4", "no folder")):
        with pytest.raises(UsageError, match=words):
            VideoSink(tmp_path / path).open(stream())


def test_a_frame_of_another_size_is_refused(tmp_path: Path) -> None:
    with VideoSink(tmp_path / "out.mp4") as sink:
        sink.open(stream())
        sink.write(frame(0, media_time=0))
        with pytest.raises(SinkError, match="does not fit"):
            sink.write(frame(1, 320, 240, media_time=0.1))
    assert len(read(tmp_path / "out.mp4")[0]) == 1


class _Narrow:
    """Stands in for a file on a disk with little room."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: memoryview) -> int:
        if self._file.tell() >= self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(data[: self._room - self._file.tell()]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def limited(room: int) -> type[DiskFile]:
    """What stands for a file where no video gets larger than this."""

    class Small(DiskFile):
        def __init__(self, path: Path, step: Callable[[], object]) -> None:
            super().__init__(path, step)
            self._file = _Narrow(self._file, room)  # type: ignore[assignment]

    return Small


@pytest.fixture
def disk_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`disk_of(bytes)`: no video file gets larger than this."""
    return lambda room: monkeypatch.setattr(video, "DiskFile", limited(room))


@pytest.mark.parametrize("suffix", list(video.CODINGS))
@pytest.mark.parametrize("room", [0, 20, 300])
def test_a_disk_without_room_for_a_beginning_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, disk_of: Callable[[int], None], suffix: str, room: int
) -> None:
    """The muxer must not be used after a header that failed: it would end the process."""
    disk_of(room)
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")
    sink = VideoSink(path, replace=True)
    sink.open(stream())
    with pytest.raises(SinkError, match="the disk is full; free some space"):
        for number in range(300):
            sink.write(frame(number % 256, media_time=number / 30))
    sink.close()
    sink.close()
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("suffix", "room"), [*((".mp4", 30_000 + 250 * n) for n in range(10)), (".mkv", 30_000), (".webm", 30_000)])
def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path: Path, disk_of: Callable[[int], None], suffix: str, room: int) -> None:
    """Of MP4 wherever it is cut: in a fragment's header, or in its pictures."""
    disk_of(room)
    path = tmp_path / f"out{suffix}"
    sink = VideoSink(path)
    sink.open(stream())
    with pytest.raises(SinkError, match=r"go on writing .*the disk is full; the video so far is in .*out\.part.*; free some space or"):
        for number in range(2000):
            sink.write(frame(number * 37 % 256, media_time=number / 30))
    sink.close()
    assert not path.exists()
    seen = 0
    with av.open(str(tmp_path / f"out.part{suffix}")) as container, suppress(av.FFmpegError):  # the last packet may be cut
        for _ in container.decode(video=0):
            seen += 1
    assert seen > 10


def test_a_disk_that_is_pulled_out_is_told_though_its_file_cannot_be_mended(tmp_path: Path, disk_of: Callable[[int], None]) -> None:
    disk_of(30_000)
    sink = VideoSink(tmp_path / "out.mp4")
    sink.open(stream())
    (tmp_path / "out.part.mp4").unlink()
    with pytest.raises(SinkError, match="cannot go on writing"):
        for number in range(2000):
            sink.write(frame(number * 37 % 256, media_time=number / 30))
    sink.close()


def test_a_disk_that_fills_up_at_the_very_end_is_an_error_of_close(tmp_path: Path, disk_of: Callable[[int], None]) -> None:
    times = [number / 30 for number in range(3)]
    write(tmp_path / "whole.mp4", times)
    disk_of((tmp_path / "whole.mp4").stat().st_size - 10)
    sink = VideoSink(tmp_path / "out.mp4")
    sink.open(stream())
    for number, time in enumerate(times):
        sink.write(frame(number, media_time=time))
    with pytest.raises(SinkError, match=r"cannot finish .*the disk is full"):
        sink.close()
    assert not (tmp_path / "out.mp4").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_the_disk_is_probed_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "touch", lambda path, exist_ok: path.symlink_to("/dev/full"))
    with pytest.raises(SinkError, match="the disk is full; free some space or give another folder"):
        VideoSink(tmp_path / "out.mp4").open(stream())
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_that_is_missing_is_replaced_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(video.CODINGS, ".mp4", (video.Coding("no-such-encoder"), video.Coding("mpeg4", {"qscale": "3"})))
    write(tmp_path / "out.mp4", [0, 0.04, 0.08])
    assert len(read(tmp_path / "out.mp4")[0]) == 3
    monkeypatch.setitem(video.CODINGS, ".mp4", (video.Coding("no-such-encoder"),))
    with pytest.raises(SinkError, match="no-such-encoder"):
        write(tmp_path / "none.mp4", [0])
    assert not (tmp_path / "none.part.mp4").exists()
