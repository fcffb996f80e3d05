"""A file gives every frame, upright, at its own times, and says in one sentence what is wrong with it."""

from __future__ import annotations

import logging
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from av.video.reformatter import ColorRange

from realtime.errors import RealtimeError, SourceError, UsageError
from realtime.sources import video
from realtime.sources.base import EndOfStream
from realtime.sources.video import FileSource, Painter
from realtime.types import Frame, Image
from tests.sources.media import corner, plain, turn_header, write_silence, write_video

SIZE = (96, 64)


def everything(source: FileSource) -> list[Frame]:
    frames = []
    while True:
        try:
            frame = source.read(1.0)
        except EndOfStream:
            return frames
        assert frame is not None
        frames.append(frame)


def test_every_frame_in_order(tmp_path: Path) -> None:
    path = write_video(tmp_path / "ä b.mp4", [plain(10 * k, SIZE) for k in range(24)])
    with FileSource(path) as source:
        info = source.open()
        frames = everything(source)
    assert (info.width, info.height, info.fps, info.live, info.audio_from) == (*SIZE, 25.0, False, None)
    assert [frame.seq for frame in frames] == list(range(24))
    assert [frame.media_time for frame in frames] == pytest.approx([k / 25 for k in range(24)], abs=1e-3)
    for k, frame in enumerate(frames):
        assert abs(float(frame.image.mean()) - 10 * k) < 4


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 2), (32, 4)])
def test_decoding_leaves_cores_to_the_swap(monkeypatch: pytest.MonkeyPatch, cores: int, threads: int) -> None:
    monkeypatch.setattr(video, "cores", lambda: cores)
    assert video.decoders() == threads


@pytest.mark.parametrize("name", ["v.mp4", "v.mkv", "v.avi"])
def test_how_many_frames_there_will_be_is_told_for_a_progress_bar(tmp_path: Path, name: str) -> None:
    path = write_video(tmp_path / name, [plain(9 * k, SIZE) for k in range(25)], codec="mpeg4" if name == "v.avi" else "libx264")
    with FileSource(path) as source:
        assert source.open().frames == pytest.approx(25, abs=1)
    with FileSource(path, loop=True) as source:
        assert source.open().frames is None


@pytest.mark.parametrize(("transfer", "told"), [(1, False), (16, True), (18, True)])
def test_hdr_video_is_told(tmp_path: Path, transfer: int, told: bool) -> None:
    path = tmp_path / "v.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height = SIZE
        stream.codec_context.color_trc = transfer
        out.mux(stream.encode(av.VideoFrame.from_ndarray(plain(90, SIZE), format="bgr24")))
        out.mux(stream.encode(None))
    with FileSource(path) as source:
        assert ("is HDR video" in source.open().note) is told


def test_each_frame_has_a_writable_buffer_of_its_own(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", [plain(100, SIZE)] * 3)
    with FileSource(path) as source:
        source.open()
        first, second, _ = everything(source)
    second.image[:] = 0
    assert first.image.flags.c_contiguous and first.image.flags.writeable
    assert first.image.min() > 90


@pytest.mark.parametrize("width", [98, 102, 110])
def test_a_width_whose_rows_are_padded(tmp_path: Path, width: int) -> None:
    path = write_video(tmp_path / "v.mp4", [corner((width, 64))])
    with FileSource(path) as source:
        source.open()
        (frame,) = everything(source)
    assert frame.image.shape == (64, width, 3)
    assert frame.image.flags.c_contiguous
    np.testing.assert_allclose(frame.image, corner((width, 64)), atol=60)
    assert abs(frame.image.astype(int) - corner((width, 64))).mean() < 4


def test_a_variable_rate_is_kept(tmp_path: Path) -> None:
    times = [Fraction(t, 1000) for t in (0, 40, 200, 230, 900)]
    path = write_video(tmp_path / "v.mkv", [plain(50, SIZE)] * 5, times)
    with FileSource(path) as source:
        source.open()
        found = [frame.media_time for frame in everything(source)]
    assert found == pytest.approx([float(t) for t in times], abs=2e-3)


@pytest.mark.parametrize(("degrees", "bright"), [(90, (0, 1)), (180, (1, 1)), (270, (1, 0))])
def test_the_display_matrix_is_honoured(tmp_path: Path, degrees: int, bright: tuple[int, int]) -> None:
    path = write_video(tmp_path / "v.mp4", [corner(SIZE)])
    turn_header(path, degrees)
    with FileSource(path) as source:
        info = source.open()
        (frame,) = everything(source)
    assert (info.width, info.height) == (SIZE if degrees == 180 else SIZE[::-1])
    assert frame.image.shape[:2] == (info.height, info.width)
    height, width = frame.image.shape[:2]
    quarters = [[frame.image[y * height // 2 :, x * width // 2 :][: height // 2, : width // 2].mean() for x in (0, 1)] for y in (0, 1)]
    assert np.unravel_index(np.argmax(quarters), (2, 2)) == bright


def test_sound_is_named(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", [plain(50, SIZE)] * 3, sound=True)
    with FileSource(path) as source:
        assert source.open().audio_from == str(path)
    with FileSource(path, loop=True) as source:
        assert source.open().audio_from is None


def test_looping_goes_on_in_time(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", [plain(80 * k, SIZE) for k in range(3)])
    with FileSource(path, loop=True) as source:
        source.open()
        frames = [source.read(1.0) for _ in range(7)]
    assert all(frame is not None for frame in frames)
    times = [frame.media_time for frame in frames if frame is not None]
    assert times == pytest.approx([k / 25 for k in range(7)], abs=2e-3)
    assert abs(float(frames[4].image.mean()) - 80) < 4  # type: ignore[union-attr]


def noise(count: int) -> list[Image]:
    """Pictures that take their room in a file."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8) for _ in range(count)]


@pytest.mark.parametrize("sound", [False, True])
def test_a_file_that_is_cut_short_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture, sound: bool) -> None:
    noise = np.random.default_rng(0)
    path = write_video(tmp_path / "v.mkv", [noise.integers(0, 255, (64, 96, 3), np.uint8) for _ in range(75)], sound=sound)
    whole = path.read_bytes()
    with FileSource(path) as source:
        source.open()
        assert len(everything(source)) == 75
    assert caplog.messages == []
    path.write_bytes(whole[: len(whole) // 3])
    with FileSource(path) as source:
        source.open()
        assert 10 < len(everything(source)) < 40
    (told,) = (message for message in caplog.messages if "ends early" in message)
    assert "of 3.0 seconds; copy or download it again" in told


def test_an_avi_file_that_is_cut_short_is_told_by_its_count_of_pictures(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    noise = np.random.default_rng(0)
    path = write_video(tmp_path / "v.avi", [noise.integers(0, 255, (64, 96, 3), np.uint8) for _ in range(75)], codec="mpeg4")
    whole = path.read_bytes()
    with FileSource(path) as source:
        source.open()
        assert len(everything(source)) == 75
    assert caplog.messages == []
    path.write_bytes(whole[: len(whole) // 2])
    with FileSource(path) as source:
        source.open()
        assert 10 < len(everything(source)) < 60
    assert any("is cut short or damaged: it ends early, after" in message for message in caplog.messages)


def test_a_transport_stream_that_ends_within_a_packet_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    noise = np.random.default_rng(0)
    path = write_video(tmp_path / "v.ts", [noise.integers(0, 255, (64, 96, 3), np.uint8) for _ in range(50)])
    whole = path.read_bytes()
    with FileSource(path) as source:
        source.open()
        assert len(everything(source)) == 50
    assert caplog.messages == []
    path.write_bytes(whole[: len(whole) // 2 // 188 * 188 + 100])
    with FileSource(path) as source:
        source.open()
        everything(source)
    assert [message for message in caplog.messages if "its end is missing" in message]



def damaged(tmp_path: Path) -> Path:
    """A file with a stretch of nonsense in the middle."""
    path = write_video(tmp_path / "v.mkv", noise(40), codec="mpeg4")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 12000] = bytes(np.random.default_rng(1).integers(0, 255, 12000, np.uint8))
    path.write_bytes(data)
    return path


def test_a_damaged_stretch_is_survived(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FileSource(damaged(tmp_path)) as source, caplog.at_level(logging.WARNING):
        source.open()
        frames = everything(source)
        assert 15 < len(frames) <= 40
        if source.corrupt:
            assert "damaged" in caplog.text


def test_a_truncated_file_gives_what_is_there(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv", noise(50))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with FileSource(path) as source:
        source.open()
        found = everything(source)
    assert 20 < len(found) < 40
    assert [frame.media_time for frame in found] == pytest.approx([k / 25 for k in range(len(found))], abs=2e-3)


def test_what_is_no_video(tmp_path: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("just words, and more words")
    empty = tmp_path / "empty.mp4"
    empty.touch()
    headless = write_video(tmp_path / "cut.mp4", [plain(50, SIZE)] * 5)
    headless.write_bytes(headless.read_bytes()[:-400])
    for path in (text, empty, headless, tmp_path / "none.mp4", tmp_path):
        with pytest.raises(RealtimeError) as caught, FileSource(path) as source:
            source.open()
        assert path.name in str(caught.value) and "\n" not in str(caught.value)
        assert caught.value.exit_code == 2


def test_no_frames_at_all(tmp_path: Path) -> None:
    path = tmp_path / "v.y4m"
    path.write_bytes(b"YUV4MPEG2 W96 H64 F25:1 Ip C420jpeg\n")
    with pytest.raises(SourceError, match="no frame"), FileSource(path) as source:
        source.open()


def test_sound_only(tmp_path: Path) -> None:
    path = tmp_path / "s.wav"
    write_silence(path, "pcm_s16le")
    with pytest.raises(UsageError, match="no picture"), FileSource(path) as source:
        source.open()


def test_a_closed_file_ends(tmp_path: Path) -> None:
    source = FileSource(write_video(tmp_path / "v.mp4", [plain(50, SIZE)] * 5))
    source.open()
    source.read(1.0)
    source.close()
    source.close()
    with pytest.raises(EndOfStream):
        source.read(1.0)


@pytest.mark.parametrize("size", [(96, 64), (70, 34), (30, 16), (65, 34)])
@pytest.mark.parametrize("space", [2, 1, 5, 9])
@pytest.mark.parametrize("span", [ColorRange.UNSPECIFIED, ColorRange.MPEG, ColorRange.JPEG])
def test_colours_are_those_that_the_video_names(size: tuple[int, int], space: int, span: ColorRange) -> None:
    """Also of formats that FFmpeg converts in our stead: full range, BT.2020, odd and small sizes. It is the judge of all."""
    smooth = cv2.resize(np.random.default_rng(3).integers(0, 256, (3, 4, 3), np.uint8), size, interpolation=cv2.INTER_LINEAR)
    frame = av.VideoFrame.from_ndarray(smooth, format="bgr24").reformat(format="yuv420p")
    frame.colorspace, frame.color_range = space, span
    wanted = frame.reformat(format="bgr24").to_ndarray()
    assert np.abs(Painter().paint(frame, 0).astype(int) - wanted).mean() < 2


def test_a_title_that_is_no_utf_8_is_taken_by_every_version_of_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 19, which Python 3.12 and later get, has done away with the option that earlier ones need for it."""
    path = write_video(tmp_path / "v.mkv", [plain(50, (64, 48))])
    with av.open(str(path)) as before, av.open(str(tmp_path / "t.mkv"), "w") as after:
        after.metadata["title"] = "TITLE?"
        track = after.add_stream_from_template(before.streams.video[0])
        for packet in before.demux(video=0):
            if packet.dts is not None:
                packet.stream = track
                after.mux(packet)
    (tmp_path / "t.mkv").write_bytes((tmp_path / "t.mkv").read_bytes().replace(b"TITLE?", b"TITL\xe9?"))
    with FileSource(tmp_path / "t.mkv") as source:
        source.open()
        assert source.read(1.0) is not None
    monkeypatch.setattr(av, "__version__", "18.1.0")
    assert video.lenient() == {"metadata_errors": "replace"}
    monkeypatch.setattr(av, "__version__", "19.0.2")
    assert video.lenient() == {}
