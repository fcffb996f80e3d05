"""What any program must pay for a frame of a size on this machine: the measure for whatever a benchmark says of ours."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import cv2
import numpy as np

from benchmarks.harness import Row
from realtime.sources.synthetic import bundled_person, cover

REGION = (258, 310)
"""Width and height of a face's region, as in the benchmark `stages`."""
_QUALITY = 90
"""Of the JPEG that is decoded; webcams send about that."""


def median(call: Callable[[], object], repeats: int) -> float:
    """Median thread CPU time of a call in milliseconds."""
    times = []
    for _ in range(repeats):
        start = thread_time()
        call()
        times.append(thread_time() - start)
    return float(np.median(times)) * 1e3


def floors(size: tuple[int, int], frames: int) -> list[Row]:
    """Median thread CPU time of a copy, what a webcam and a video program want converted, and laying a face in, for (width, height)."""
    image = cover(bundled_person(), size)
    other, i420 = np.empty_like(image), np.empty((size[1] * 3 // 2, size[0]), np.uint8)
    _, packed = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    width, height = REGION
    patch = image[:height, :width].copy()
    place = image[size[1] - height :, size[0] - width :]
    name = f"floor {size[0]}x{size[1]}"
    return [
        Row(name, "memory copy", median(lambda: np.copyto(other, image), frames), "ms"),
        Row(name, "JPEG decode", median(lambda: cv2.imdecode(packed, cv2.IMREAD_COLOR), frames), "ms", None, f"quality {_QUALITY}"),
        Row(name, "BGR to I420", median(lambda: cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420, dst=i420), frames), "ms"),
        Row(name, f"copy a {width}x{height} region in", median(lambda: np.copyto(place, patch), frames), "ms"),
    ]
