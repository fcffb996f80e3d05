"""A network stream against a small server here: newest frame, stalls, reconnects, files, and no credential in any message."""

from __future__ import annotations

import errno
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import cv2
import pytest

from realtime.errors import SourceError
from realtime.sources.base import EndOfStream
from realtime.sources.stream import StreamSource
from realtime.sources.stream_advice import reason
from realtime.sources.urls import redacted
from realtime.types import Frame
from tests.sources.media import plain, write_video

SIZE = (96, 64)
WAIT = 60.0
"""Seconds after which a test gives up: far more than any of them needs, so that a busy machine does not fail them."""
Behaviour = Callable[[BaseHTTPRequestHandler, int], None]


@contextmanager
def server(behaviour: Behaviour) -> Iterator[str]:
    """Serves each GET by `behaviour(handler, number of the request)`; gives the address."""
    count = iter(range(1000))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):  # the client went away
                behaviour(self, next(count))

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    http = Quiet(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/live.ts"
    finally:
        http.shutdown()
        http.server_close()


def patient(url: str) -> StreamSource:
    """With time limits that a busy machine does not reach, for tests that are not about them."""
    return StreamSource(url, WAIT, WAIT)


def transport_stream(tmp_path: Path, count: int = 40) -> bytes:
    return write_video(tmp_path / "v.ts", [plain(5 * k, SIZE) for k in range(count)], codec="mpeg2video").read_bytes()


def send(handler: BaseHTTPRequestHandler, data: bytes, length: bool = False) -> None:
    handler.send_response(200)
    if length:
        handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
    handler.wfile.flush()


def endless(first: bytes, then: bytes, every: float) -> Behaviour:
    """Sends the one, and then the other again and again, so many seconds apart."""

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, first)
        while True:
            handler.wfile.write(then)
            time.sleep(every)

    return behaviour


def read_some(source: StreamSource, enough: Callable[[list[Frame]], bool]) -> list[Frame]:
    frames: list[Frame] = []
    deadline = time.perf_counter() + WAIT
    while not enough(frames):
        assert time.perf_counter() < deadline, f"only {len(frames)} frames"
        frame = source.read(0.05)
        if frame is not None:
            frames.append(frame)
    return frames


def test_a_live_stream_that_stalls_gives_none_and_comes_back(tmp_path: Path) -> None:
    data = transport_stream(tmp_path)
    silent = threading.Event()

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, data)
        if number == 0:
            silent.wait(WAIT)

    with server(behaviour) as url, StreamSource(url, read_timeout=0.5) as source:
        info = source.open()
        assert (info.width, info.height, info.live) == (*SIZE, True)
        before = read_some(source, lambda frames: bool(frames) and frames[-1].seq >= 30)
        again = read_some(source, lambda frames: bool(frames) and frames[-1].seq >= 60)
        silent.set()
    numbers = [frame.seq for frame in before + again]
    assert numbers == sorted(set(numbers))
    assert all(frame.media_time is None for frame in again)


def test_close_ends_a_read_that_waits_on_a_stalled_stream(tmp_path: Path) -> None:
    data = transport_stream(tmp_path)
    silent = threading.Event()

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, data)
        silent.wait(WAIT)

    with server(behaviour) as url:
        source = StreamSource(url, read_timeout=1.0)
        source.open()
        threading.Timer(0.1, source.close).start()
        with pytest.raises(EndOfStream):
            while True:
                source.read(3600.0)
        silent.set()


def test_a_file_over_http_plays_at_its_own_speed_and_ends(tmp_path: Path) -> None:
    times = [Fraction(k, 50) for k in range(15)]
    data = write_video(tmp_path / "v.mkv", [plain(10 * k, SIZE) for k in range(15)], times, rate=50).read_bytes()
    with server(lambda handler, number: send(handler, data, length=True)) as url, patient(url) as source:
        source.open()
        frames = []
        with pytest.raises(EndOfStream):
            while True:
                frame = source.read(WAIT)
                frames += [] if frame is None else [frame]
    assert frames[-1].seq == 14
    assert frames[-1].captured_at - frames[0].captured_at >= 0.2 * (frames[-1].seq - frames[0].seq) / 14


def test_a_file_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    data = write_video(tmp_path / "v.mkv", [plain(4 * k, SIZE) for k in range(60)], rate=20).read_bytes()

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        start = int((re.match(r"bytes=(\d+)-", handler.headers.get("Range", "")) or [0, 0])[1])
        handler.send_response(206 if start else 200)
        handler.send_header("Accept-Ranges", "bytes")
        handler.send_header("Content-Length", str(len(data) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.end_headers()
        handler.wfile.write(data[start:] if number else data[: len(data) // 3])  # the first answer is cut short

    with server(behaviour) as url, patient(url) as source:
        source.open()
        levels = []
        with pytest.raises(EndOfStream):
            while True:
                frame = source.read(WAIT)
                levels += [] if frame is None else [float(frame.image.mean())]
    assert levels == sorted(levels)
    assert levels[0] < 60 and levels[-1] > 200


def test_a_file_that_is_cut_short_ends_all_the_same(tmp_path: Path) -> None:
    data = write_video(tmp_path / "v.mkv", [plain(4 * k, SIZE) for k in range(60)], rate=50).read_bytes()
    cut = data[: len(data) // 2]
    with server(lambda handler, number: send(handler, cut, length=True)) as url, patient(url) as source:
        source.open()
        with pytest.raises(EndOfStream):
            while True:
                source.read(WAIT)


def test_refusals_are_one_sentence_without_credentials(tmp_path: Path) -> None:
    def forbidden(handler: BaseHTTPRequestHandler, number: int) -> None:
        handler.send_error(401)

    def words(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, b"hello " * 100, length=True)

    for behaviour, expected in ((forbidden, "user and password"), (words, "not a video")):
        with server(behaviour) as url:
            secret = url.replace("http://", "http://me:hunter2@") + "?token=hunter3"
            with pytest.raises(SourceError, match=expected) as caught, StreamSource(secret) as source:
                source.open()
        assert "hunter" not in str(caught.value) and "127.0.0.1" in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_stream_that_never_answers(tmp_path: Path) -> None:
    silent = threading.Event()
    with server(lambda handler, number: bool(silent.wait(WAIT))) as url:  # type: ignore[arg-type, return-value]
        with pytest.raises(SourceError, match=r"time limit|does not answer"), StreamSource(url, 0.3, 0.3) as source:
            source.open()
        silent.set()


def test_nobody_there() -> None:
    with pytest.raises(SourceError, match="refused; check the address"), StreamSource("http://127.0.0.1:9/x") as source:
        source.open()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("rtsp://me:pw@cam.local:554/live?key=1", "rtsp://cam.local:554/live?..."),
        ("http://cam/x", "http://cam/x"),
        ("rtsp://me:p@w@[::1]:8/x", "rtsp://[::1]:8/x"),
        ("http://me:pw@host:notaport/x", "http://..."),
        ("rtsp://me:12/34pw@cam/x", "rtsp://..."),
        ("rtsp://me:12#pw@cam/x", "rtsp://..."),
    ],
)
def test_redacted(url: str, shown: str) -> None:
    assert redacted(url) == shown


def test_an_input_output_error_comes_with_what_may_be_done() -> None:
    """FFmpeg says no more than that of an unknown host and of a file whose index is out of reach."""
    said = reason(OSError(errno.EIO, "Input/output error"), "http://127.0.0.1/v.mp4")
    assert said == "input/output error; check the address, or download the file first and give its path"


@pytest.mark.parametrize(
    ("error", "waited", "said"),
    [
        (av.error.InvalidDataError(1, "Invalid data"), 0.1, "it is not a video stream"),
        (av.error.InvalidDataError(1, "Invalid data"), 4.1, "it gave nothing within the time limit"),
        (OSError(errno.EIO, "Input/output error"), 4.1, "it gave nothing within the time limit"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), 0.1, "network is unreachable"),
        (av.error.ProtocolNotFoundError(1, "Protocol not found"), 0.1, "the FFmpeg that came with PyAV does not know srt://, .*"),
    ],
)
def test_what_ffmpeg_says_in_words_that_help(error: Exception, waited: float, said: str) -> None:
    assert re.fullmatch(said, reason(error, "srt://127.0.0.1:1", waited, 4.0))


def test_begun_early_a_wrong_address_is_told_before_it_is_opened() -> None:
    with StreamSource("http://127.0.0.1:9/x") as source:
        with pytest.raises(SourceError, match="refused"):
            source.begin(WAIT)
        with pytest.raises(SourceError, match="refused"):
            source.open()


def test_begun_early_a_live_stream_is_at_its_newest_frame_when_it_is_opened(tmp_path: Path) -> None:
    data = transport_stream(tmp_path)
    with server(endless(data, data, every=0.02)) as url, patient(url) as source:
        source.begin(WAIT)
        time.sleep(0.3)
        asked = time.perf_counter()
        source.open()
        (frame,) = read_some(source, bool)
    assert frame.captured_at >= asked - 0.1 and frame.seq < 200


def test_begun_early_a_file_waits_at_its_first_frame(tmp_path: Path) -> None:
    data = write_video(tmp_path / "v.mkv", [plain(10 * k, SIZE) for k in range(15)], rate=50).read_bytes()
    with server(lambda handler, number: send(handler, data, length=True)) as url, patient(url) as source:
        source.begin(WAIT)
        time.sleep(0.4)
        source.open()
        (first,) = read_some(source, bool)
    assert first.seq < 5 and first.image.mean() < 60


def test_an_rtmp_address_is_called_and_not_listened_at() -> None:
    """FFmpeg takes a time limit there for the wish to be the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT)
        with StreamSource(f"rtmp://127.0.0.1:{listener.getsockname()[1]}/live/x") as source:
            source.begin()
            caller, _ = listener.accept()
            with caller:
                assert caller.recv(1) == b"\x03"  # its version, with which a client begins: Adobe's RTMP 1.0, section 5.2.2


def test_motion_jpeg_in_parts(tmp_path: Path) -> None:
    """As cameras and their apps serve it: multipart/x-mixed-replace."""
    pictures = [cv2.imencode(".jpg", plain(12 * k, SIZE))[1].tobytes() for k in range(20)]

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "multipart/x-mixed-replace; boundary=part")
        handler.end_headers()
        for picture in pictures * 20:
            head = f"--part\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
            handler.wfile.write(head.encode() + picture + b"\r\n")
            time.sleep(0.01)

    with server(behaviour) as url, patient(url) as source:
        info = source.open()
        frames = read_some(source, lambda frames: len(frames) >= 10)
    assert (info.width, info.height, info.live) == (*SIZE, True)
    assert len({round(float(frame.image.mean())) for frame in frames}) > 3


def test_http_live_streaming_of_parts_and_their_list(tmp_path: Path) -> None:
    data = transport_stream(tmp_path)
    listed = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.6,\none.ts\n#EXT-X-ENDLIST\n"

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, listed.encode() if handler.path.endswith(".m3u8") else data, length=True)

    with server(behaviour) as url, patient(url.replace(".ts", ".m3u8")) as source:
        assert source.open().width == SIZE[0]
        with pytest.raises(EndOfStream):
            while True:
                source.read(WAIT)


def test_a_live_stream_in_parts_is_no_row_of_bursts(tmp_path: Path) -> None:
    """Each part comes at once, then none for its length."""
    data = transport_stream(tmp_path)
    listed = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.6,\none.ts\n"

    def behaviour(handler: BaseHTTPRequestHandler, number: int) -> None:
        send(handler, listed.encode() if handler.path.endswith(".m3u8") else data, length=True)

    with server(behaviour) as url, patient(url.replace(".ts", ".m3u8")) as source:
        source.open()
        frames = read_some(source, lambda frames: bool(frames) and frames[-1].seq >= 20)
    assert frames[-1].captured_at - frames[0].captured_at >= 0.5 * (frames[-1].seq - frames[0].seq) / 25


def test_a_stream_that_changes_its_size(tmp_path: Path) -> None:
    other = write_video(tmp_path / "o.ts", [plain(250, (64, 64))] * 40, codec="mpeg2video").read_bytes()
    with server(endless(transport_stream(tmp_path), other, every=0.05)) as url, patient(url) as source:
        source.open()
        frames = read_some(source, lambda frames: bool(frames) and frames[-1].image.max() > 230)
    last = frames[-1].image
    assert last.shape == (SIZE[1], SIZE[0], 3)
    assert not last[:, :8].any() and not last[:, -8:].any()
