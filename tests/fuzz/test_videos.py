"""Videos that lie."""

from __future__ import annotations

import re
import socket
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from realtime.errors import SourceError, UsageError
from realtime.sources import video
from realtime.sources.base import EndOfStream
from realtime.sources.video import FileSource
from tests.fuzz.mutations import mutated
from tests.fuzz.test_pictures import peak_megabytes
from tests.sources.media import plain, write_video

SIZE = (64, 48)


def film(path: Path, codec: str) -> bytes:
    write_video(path, [plain(40 * n, SIZE) for n in range(4)], codec=codec)
    return path.read_bytes()


def played(path: Path) -> int:
    """Frames that come out of a file, at most a few; errors must be sentences."""
    count = 0
    with suppress(UsageError, SourceError), FileSource(path) as source:
        info = source.open()
        with suppress(EndOfStream):
            while count < 8:
                frame = source.read(1.0)
                assert frame.image.shape == (info.height, info.width, 3) and frame.image.dtype == np.uint8
                count += 1
    return count


@pytest.mark.parametrize(("suffix", "codec"), [("mp4", "libx264"), ("avi", "mjpeg"), ("mkv", "mpeg4")])
def test_damaged_videos(suffix, codec, tmp_path):
    path = tmp_path / f"film.{suffix}"
    good = film(path, codec)
    assert played(path) == 4

    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(mutated(good))
    def attack(data):
        path.write_bytes(data)
        played(path)

    attack()


def test_pictures_beyond_all_cameras_are_refused(tmp_path, monkeypatch):
    """The limit is lowered here, for a video that is really larger would take what it is to guard."""
    path = tmp_path / "film.mp4"
    film(path, "libx264")
    monkeypatch.setattr(video, "MOST_PIXELS", 1_000)
    with pytest.raises(UsageError, match="has pictures of 64x48, more than 0 million pixels: give another video file"):
        FileSource(path).open()


def test_a_size_that_grows_in_mid_stream_is_not_believed(tmp_path, monkeypatch):
    """Raw H.264 says its size anew at each key frame; what is too large then counts as damaged."""
    small, large = tmp_path / "small.h264", tmp_path / "large.h264"
    write_video(small, [plain(50, SIZE)] * 3)
    write_video(large, [plain(90, (320, 240))] * 3)
    both = tmp_path / "both.h264"
    both.write_bytes(small.read_bytes() + large.read_bytes())
    with FileSource(both) as source:
        source.open()
        assert sum(1 for _ in frames(source)) == 6
    # Not looking far ahead, as with a long file: else the larger size would be known at once.
    monkeypatch.setattr(video, "CAREFUL", {"max_pixels": str(SIZE[0] * SIZE[1]), "probesize": "600"})
    with FileSource(both) as source:
        source.open()
        assert sum(1 for _ in frames(source)) == 3
        assert source.corrupt > 0


def test_a_picture_that_claims_to_be_enormous_is_not_decoded(tmp_path):
    """By the limit as it is: 81 million pixels in a JPEG's header, for which FFmpeg by itself makes room."""
    path, rng = tmp_path / "film.avi", np.random.default_rng(1)
    write_video(path, [rng.integers(0, 256, (960, 1280, 3), np.uint8) for _ in range(3)], codec="mjpeg")
    data, size = bytearray(path.read_bytes()), struct.pack(">BHH", 8, 960, 1280)
    places = [found.start() for found in re.finditer(re.escape(size), bytes(data))]
    assert len(places) == 3
    for place in places[1:]:  # the first gives the size of the film
        data[place : place + len(size)] = struct.pack(">BHH", 8, 9_000, 9_000)
    path.write_bytes(data)
    before = peak_megabytes()
    with FileSource(path) as source:
        source.open()
        assert sum(1 for _ in frames(source)) == 1
        assert source.corrupt == 2
    assert peak_megabytes() - before < 150


def frames(source: FileSource):
    with suppress(EndOfStream):
        while True:
            yield source.read(1.0)


def test_a_shape_of_pixels_does_not_blow_the_picture_up(monkeypatch):
    import av

    frame = av.VideoFrame.from_ndarray(plain(90, SIZE), format="bgr24")
    monkeypatch.setattr(video, "MOST_PIXELS", 2 * SIZE[0] * SIZE[1])
    assert video.Painter().paint(frame, 0, 1.5).shape == (48, 96, 3)
    assert video.Painter().paint(frame, 0, 4.5).shape == (48, 64, 3)


PLAYLISTS = {
    "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{}\n#EXT-X-ENDLIST\n",
    "concat": "ffconcat version 1.0\nfile '{}'\nduration 5\n",
    "dash": '<?xml version="1.0"?><MPD type="static" xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet mimeType="video/mp4">'
    '<Representation id="1" bandwidth="1" width="64" height="48"><BaseURL>{}</BaseURL></Representation></AdaptationSet></Period></MPD>',
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\na=control:{}\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
}


@pytest.mark.parametrize("kind", PLAYLISTS)
@pytest.mark.parametrize("suffix", ["mp4", "m3u8"])
def test_a_file_calls_nobody(kind, suffix, tmp_path):
    """A playlist in a video's clothes may name an address: it is not asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/film.ts"
        path = tmp_path / f"film.{suffix}"
        path.write_text(PLAYLISTS[kind].format(address))
        assert played(path) == 0
        with pytest.raises(TimeoutError):
            server.accept()
