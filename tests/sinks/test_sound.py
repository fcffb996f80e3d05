"""Sound and picture that do not begin together: what was heard with a picture is heard with it in the file that is written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from realtime.sinks.video import VideoSink
from tests.sinks.frames import frame, stream

RATE, FPS, SECONDS, BEEP = 48_000, 25, 3, 0.1


def film(path: Path, codec: str, picture_at: float, sound_at: float) -> None:
    """A film whose sound beeps at each whole second of its clock."""
    moments = np.arange(round(sound_at * RATE), SECONDS * RATE) / RATE
    wave = np.where(moments % 1 < BEEP, 0.8 * np.sin(2 * np.pi * 880 * moments), 0).astype(np.float32)
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=FPS)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream(codec, rate=RATE)
        sound.codec_context.layout = "mono"
        size = sound.codec_context.frame_size or 1024
        resampler = av.AudioResampler(format=sound.codec_context.format, layout="mono", rate=RATE, frame_size=size)
        heard = av.AudioFrame.from_ndarray(wave[None], format="fltp", layout="mono")
        heard.sample_rate, heard.pts, heard.time_base = RATE, round(sound_at * RATE), Fraction(1, RATE)
        packets = [packet for part in [*resampler.resample(heard), *resampler.resample(None), None] for packet in sound.encode(part)]
        for number in range(round(picture_at * FPS), SECONDS * FPS):
            seen = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="bgr24")
            seen.pts, seen.time_base = number, Fraction(1, FPS)
            packets += video.encode(seen)
        packets += video.encode(None)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)


def beeps(path: Path) -> tuple[float, list[float]]:
    """When the sound begins, and the moments at which it gets loud."""
    with av.open(str(path)) as container:
        parts = list(container.decode(audio=0))
    loud = [
        float(part.time) for part in parts if np.abs(np.frombuffer(part.to_ndarray(), _type(part)).astype(float)).max() > 0.3 * _full(part)
    ]
    return float(parts[0].time), [moment for n, moment in enumerate(loud) if n == 0 or moment - loud[n - 1] > 0.5]


def _type(part: av.AudioFrame) -> type:
    return np.int16 if part.format.name.startswith("s16") else np.float32


def _full(part: av.AudioFrame) -> float:
    return 32_768 if _type(part) is np.int16 else 1.0


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
@pytest.mark.parametrize(("name", "codec"), [("in.mp4", "aac"), ("in.mkv", "pcm_s16le"), ("in.mkv", "libopus")])
@pytest.mark.parametrize(("picture_at", "sound_at"), [(0.0, 0.0), (0.0, 0.7), (0.6, 0.0)])
def test_sound_stays_with_its_picture(tmp_path: Path, suffix: str, name: str, codec: str, picture_at: float, sound_at: float) -> None:
    film(tmp_path / name, codec, picture_at, sound_at)
    with VideoSink(tmp_path / f"out{suffix}", str(tmp_path / name)) as sink:
        sink.open(stream(fps=FPS))
        for number in range(round(picture_at * FPS), SECONDS * FPS):
            sink.write(frame(number, media_time=number / FPS))
    with av.open(str(tmp_path / f"out{suffix}")) as container:
        assert float(next(container.decode(video=0)).time) == pytest.approx(0, abs=0.002)
    begins, heard = beeps(tmp_path / f"out{suffix}")
    assert begins == pytest.approx(max(sound_at - picture_at, 0), abs=0.04), "the sound is not stretched over the gap before it"
    assert heard == pytest.approx([moment - picture_at for moment in (0, 1, 2) if moment >= max(picture_at, sound_at)], abs=0.04)
