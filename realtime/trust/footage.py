"""Frames from several places of a video file, for the watermark to be looked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np

from realtime.errors import UsageError, reason
from realtime.types import Image

PLACES, FRAMES, EVERY = 6, 8, 2
"""Places spread over the film, frames taken at each, and of so many one: neighbours share their errors of compression."""
_MOST_PIXELS = 8192 * 8192


def batches(path: Path) -> Iterator[list[Image]]:
    """Up to FRAMES frames (h, w, 3) BGR, upright, from each of PLACES places.

    Raises UsageError when the file is no video that can be read; one that breaks off later just ends.
    """
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise UsageError(f"there is no picture in {path.name}: give a picture, or a video that is more than sound")
            video = container.streams.video[0]
            video.thread_type = "AUTO"
            if video.width * video.height > _MOST_PIXELS:
                raise UsageError(f"{path.name} is too large to be read: {video.width}x{video.height}")
            video.codec_context.options = {"max_pixels": str(_MOST_PIXELS)}  # and FFmpeg refuses what grows in mid-stream
            for place in range(PLACES if container.duration else 1):
                yield _taken(container, video, place)
    except (OSError, IndexError, av.FFmpegError) as error:
        raise UsageError(f"{path.name} cannot be read as a picture or a video ({reason(error)}): copy it again") from None


def _taken(container: Any, video: Any, place: int) -> list[Image]:
    images: list[Image] = []
    try:
        if place:
            container.seek(container.duration * place // PLACES)
        for frame in islice(container.decode(video), 0, FRAMES * EVERY, EVERY):
            image = frame.to_ndarray(format="bgr24")
            images.append(np.ascontiguousarray(np.rot90(image, round(frame.rotation / 90) % 4)))
    except av.FFmpegError:  # damaged from here on: what was read counts
        if not place and not images:
            raise
    return images
