from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from realtime.sources.torn import torn


def packets(count: int, length: int = 188, before: bytes = b"") -> bytes:
    """A transport stream of packets that hold nothing; those of 192 bytes begin with a time stamp."""
    stamp = bytes(4) if length == 192 else b""
    return before + (stamp + b"\x47" + bytes(length - 1 - len(stamp))) * count


@pytest.mark.parametrize("length", [188, 192, 204])
@pytest.mark.parametrize("before", [b"", b"\x01" * 50])
def test_a_last_packet_that_is_not_whole_is_seen(tmp_path: Path, length: int, before: bytes) -> None:
    path = tmp_path / "v.ts"
    path.write_bytes(packets(20, length, before))
    assert not torn(path, "mpegts")
    for missing in (1, 60, length - 1):
        path.write_bytes(packets(20, length, before)[:-missing])
        assert torn(path, "mpegts")


class _Pipe:
    """What a muxer cannot go back in: its lengths that are known only at the end stay unknown."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)


def film(container: str, codec: str, path: Path | None) -> bytes:
    """Twenty noisy pictures with the sound of silence, into a file or through a pipe."""
    rng, pipe = np.random.default_rng(0), _Pipe()
    with av.open(str(path) if path else pipe, "w", format=container) as out:
        video = out.add_stream(codec, rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = out.add_stream("libopus" if container == "webm" else "aac", rate=48_000)
        sound.codec_context.layout = "mono"
        for number in range(20):
            seen = av.VideoFrame.from_ndarray(rng.integers(0, 256, (48, 64, 3), np.uint8), format="bgr24")
            seen.pts = number
            out.mux(video.encode(seen))
            heard = av.AudioFrame.from_ndarray(np.zeros((1, 960), np.float32), format="fltp", layout="mono")
            heard.sample_rate, heard.pts = 48_000, number * 960
            out.mux(sound.encode(heard))
        out.mux([*video.encode(None), *sound.encode(None)])
    return path.read_bytes() if path else bytes(pipe.data)


@pytest.mark.parametrize(
    ("container", "codec", "name"),
    [("matroska", "mpeg4", "matroska,webm"), ("webm", "libvpx", "matroska,webm"), ("flv", "flv1", "flv")],
)
@pytest.mark.parametrize("piped", [False, True])
def test_a_film_that_lacks_its_end_is_seen(tmp_path: Path, container: str, codec: str, name: str, piped: bool) -> None:
    path = tmp_path / "v"
    whole = film(container, codec, None if piped else path)
    path.write_bytes(whole)
    with av.open(str(path)) as opened:
        assert opened.format.name == name, "what the source will ask for"
    assert not torn(path, name)
    for kept in (len(whole) - 5, len(whole) * 9 // 10, len(whole) // 2):
        path.write_bytes(whole[:kept])
        assert torn(path, name)


@pytest.mark.parametrize("container", ["mpegts", "matroska,webm", "flv", "avi"])
@pytest.mark.parametrize("data", [b"", b"\x47", packets(4), bytes(5000), b"\x1a\x45\xdf\xa3", b"\x1a\x45\xdf\xa3\xff\xff", b"FLV"])
def test_of_what_is_no_such_file_nothing_is_said(tmp_path: Path, container: str, data: bytes) -> None:
    path = tmp_path / "v"
    path.write_bytes(data)
    assert not torn(path, container)
    path.unlink()
    assert not torn(path, container)
