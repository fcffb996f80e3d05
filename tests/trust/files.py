"""Small files to sign and to tamper with."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np

from realtime.types import Image


def scenery(width: int = 320, height: int = 180) -> Image:
    """Something between noise and nothing."""
    noise = np.random.default_rng(4).integers(0, 255, (height // 20, width // 20, 3), np.uint8)
    return np.asarray(cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC))


def write_picture(path: Path) -> Path:
    path.write_bytes(cv2.imencode(path.suffix, scenery())[1].tobytes())
    return path


def write_film(path: Path, frames: int = 5) -> Path:
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
        for number in range(frames):
            container.mux(video.encode(av.VideoFrame.from_ndarray(np.roll(scenery(), number, 1), format="bgr24")))
        container.mux(video.encode(None))
    return path


def write(path: Path) -> Path:
    return write_film(path) if path.suffix in (".mp4", ".mov", ".mkv") else write_picture(path)
