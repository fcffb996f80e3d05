"""A network stream against a small server here: newest frame, stalls, reconnects, files, and no credential in any message."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from realtime.errors import SourceError
from realtime.sources import stream
from realtime.sources.base import EndOfStream
from realtime.sources.stream import StreamSource, redacted
from realtime.types import Frame
from tests.sources.media import plain, write_video

SIZE = (96, 64)
WAIT = 20.0
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


def transport_stream(tmp_path: Path, count: int = 40) -> bytes:
    return write_video(tmp_path / "v.ts", [plain(5 * k, SIZE) for k in range(count)], codec="mpeg2video").read_bytes()


def send(handler: BaseHTTPRequestHandler, data: bytes, length: bool = False) -> None:
    handler.send_response(200)
    if length:
        handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
    handler.wfile.flush()


def read_some(source: StreamSource, enough: Callable[[list[Frame]], bool]) -> list[Frame]:
    frames: list[Frame] = []
    deadline = time.monotonic() + WAIT
    while not enough(frames):
        assert time.monotonic() < deadline, f"only {len(frames)} frames"
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
    with server(lambda handler, number: send(handler, data, length=True)) as url, StreamSource(url) as source:
        source.open()
        frames = []
        with pytest.raises(EndOfStream):
            while True:
                frame = source.read(WAIT)
                frames += [] if frame is None else [frame]
    assert frames[-1].seq == 14
    assert frames[-1].captured_at - frames[0].captured_at >= 0.2 * (frames[-1].seq - frames[0].seq) / 14


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
    ],
)
def test_redacted(url: str, shown: str) -> None:
    assert redacted(url) == shown


def test_an_input_output_error_comes_with_what_may_be_done() -> None:
    """FFmpeg says no more than that of an unknown host and of a file whose index is out of reach."""
    said = stream._reason(OSError(errno.EIO, "Input/output error"))
    assert said == "input/output error; check the host's name, or download the file first and give its path"
