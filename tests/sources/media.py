"""Small media made by the tests themselves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from realtime.types import Image


def plain(level: int, size: tuple[int, int]) -> Image:
    return np.full((size[1], size[0], 3), level, np.uint8)


def corner(size: tuple[int, int]) -> Image:
    """Dark, with the top-left quarter bright."""
    image = plain(20, size)
    image[: size[1] // 2, : size[0] // 2] = 230
    return image


def write_video(
    path: Path,
    images: Sequence[Image],
    times: Sequence[Fraction] | None = None,
    codec: str = "libx264",
    rate: int = 25,
    sound: bool = False,
) -> Path:
    """A video of these pictures at these times (default: evenly at `rate`)."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=rate)
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        tick = Fraction(1, 1000) if times else Fraction(1, rate)
        stream.codec_context.time_base = tick
        if codec == "libx264":
            stream.options = {"preset": "ultrafast", "crf": "10"}
        track = out.add_stream("aac", rate=8000) if sound else None
        for index, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.time_base = tick
            frame.pts = round((times[index] if times else Fraction(index, rate)) / tick)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
        if track is not None:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            silence.sample_rate, silence.pts = 8000, 0
            out.mux(track.encode(silence))
            out.mux(track.encode(None))
    return path


def turn_header(path: Path, degrees: int) -> None:
    """Write a display matrix into an mp4: shown turned clockwise by `degrees` (ISO 14496-12, tkhd: 16.16 fixed point)."""
    a, b, c, d = {90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}[degrees]
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 4 + 20 + 8 + 8
    for place, value in zip((0, 4, 12, 16), (a, b, c, d), strict=True):
        data[at + place : at + place + 4] = (value * 65536).to_bytes(4, "big", signed=True)
    path.write_bytes(data)


def write_silence(path: Path, codec: str) -> None:
    """A file of sound alone."""
    with av.open(str(path), "w") as out:
        track = out.add_stream(codec, rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        out.mux([*track.encode(frame), *track.encode(None)])
