"""Network cameras, against a server here: within the connection and by UDP, passwords, breaks, stalls and changes of size."""

from __future__ import annotations

import dataclasses
import errno
import logging
import socket

import pytest

from realtime.errors import SourceError
from realtime.sources.stream import StreamSource
from realtime.sources.stream_advice import reason
from tests.sources.rtsp import Camera, camera, encoded, pictures
from tests.sources.test_stream import WAIT, patient, read_some

SIZE = (128, 96)


@pytest.fixture(scope="module")
def shown() -> Camera:
    return Camera(encoded(pictures(SIZE)))


@pytest.mark.parametrize("udp_only", [False, True])
def test_a_camera_is_played_within_the_connection_and_by_udp_where_it_has_nothing_else(shown: Camera, udp_only: bool) -> None:
    with camera(dataclasses.replace(shown, udp_only=udp_only)) as url, patient(url) as source:
        info = source.open()
        frames = read_some(source, lambda frames: len(frames) >= 10)
    assert (info.width, info.height, info.live, info.name) == (*SIZE, True, url)
    assert {frame.image.shape for frame in frames} == {(SIZE[1], SIZE[0], 3)}
    assert frames[-1].image.std() > 20  # noise as it was sent, not a grey picture


def test_a_password_is_asked_for_told_when_wrong_and_used_when_right(shown: Camera, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with camera(dataclasses.replace(shown, login="me:hunter2")) as url:
        with pytest.raises(SourceError, match=r"asks for a user and password, .* rtsp://user:password@host/$"), StreamSource(url) as source:
            source.open()
        wrong = url.replace("rtsp://", "rtsp://me:hunter3@")
        with pytest.raises(SourceError, match="does not take the user and password") as caught, StreamSource(wrong) as source:
            source.open()
        assert "hunter" not in str(caught.value)
        with patient(url.replace("rtsp://", "rtsp://me:hunter2@") + "?key=hunter4") as source:
            info = source.open()
            read_some(source, lambda frames: len(frames) >= 2)
    assert info.name == f"{url}?..."
    assert "hunter" not in caplog.text


def test_a_camera_that_goes_away_and_comes_back_in_another_size(shown: Camera, caplog: pytest.LogCaptureFixture) -> None:
    other = dataclasses.replace(shown, pictures=encoded(pictures((96, 96), seed=1)))
    with camera(dataclasses.replace(shown, stays_for=120)) as url:
        port = int(url.split(":")[2].partition("/")[0])
        source = StreamSource(url, read_timeout=1.0)
        source.open()
        read_some(source, lambda frames: bool(frames))
    with source, camera(other, port):
        frames = read_some(source, lambda frames: len(frames) > 0 and _barred(frames[-1].image))
    assert {frame.image.shape for frame in frames} == {(SIZE[1], SIZE[0], 3)}
    told = [record.getMessage() for record in caplog.records]
    assert any("broke off" in sentence and "connecting again" in sentence for sentence in told)
    assert any(f"changed its frame size: it is fitted into {SIZE[0]}x{SIZE[1]}" in sentence for sentence in told)


def _barred(image) -> bool:  # type: ignore[no-untyped-def]
    """Letterboxed: black left and right."""
    return not image[:, :8].any() and not image[:, -8:].any()


def test_a_camera_that_falls_silent_is_asked_again(shown: Camera, caplog: pytest.LogCaptureFixture) -> None:
    with camera(dataclasses.replace(shown, silent_from=100)) as url, StreamSource(url, read_timeout=0.5) as source:
        source.open()
        frames = read_some(source, lambda frames: bool(frames) and frames[-1].seq >= 110)
    assert frames[-1].seq >= 110
    assert "broke off" in caplog.text


def test_closing_is_no_break(shown: Camera, caplog: pytest.LogCaptureFixture) -> None:
    with camera(shown) as url:
        with patient(url) as source:
            source.open()
            read_some(source, lambda frames: len(frames) >= 3)
        assert source._drain is not None and source._drain.join(WAIT)
    assert caplog.text == ""


def test_nothing_of_that_name(shown: Camera) -> None:
    with camera(shown) as url, StreamSource(url.replace("/live", "/dead")) as source, pytest.raises(SourceError, match="nothing of that"):
        source.open()


def test_a_server_that_takes_the_connection_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"rtsp://127.0.0.1:{listener.getsockname()[1]}/live"
        with pytest.raises(SourceError, match=r"time limit|does not answer"), StreamSource(url, 2.0, 0.5) as source:
            source.open()


def test_an_unknown_host_is_named() -> None:
    """By a name that no server need be asked about."""
    said = reason(OSError(errno.EIO, "Input/output error"), "rtsp://me:hunter2@no..such/x")
    assert said == "no host 'no..such' is known here, check its name"
