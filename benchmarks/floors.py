"""What any program must pay for a frame of a size on this machine: the measure for whatever a benchmark says of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import thread_time

import cv2
import numpy as np

from benchmarks import harness
from benchmarks.harness import Row
from realtime.sources.synthetic import bundled_person, cover

REGION = (258, 310)
"""Width and height of a face's region, as in the benchmark `stages`."""
_QUALITY = 90
"""Of the JPEG that is decoded; webcams send about that."""
DECODE = "JPEG decode"


def timed(call: Callable[[], object]) -> float:
    """Thread CPU time of a call in milliseconds."""
    start = thread_time()
    call()
    return (thread_time() - start) * 1e3


def floors(size: tuple[int, int]) -> dict[tuple[str, str], Callable[[], float]]:
    """For (width, height) and by a row's name and metric, what to call for the milliseconds (`timed`) of a copy, of what a webcam and a
    video program want converted, and of laying a face in."""
    image = cover(bundled_person(), size)
    other, i420 = np.empty_like(image), np.empty((size[1] * 3 // 2, size[0]), np.uint8)
    _, packed = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    width, height = REGION
    patch = image[:height, :width].copy()
    place = image[size[1] - height :, size[0] - width :]
    calls: dict[str, Callable[[], object]] = {
        "memory copy": lambda: np.copyto(other, image),
        DECODE: lambda: cv2.imdecode(packed, cv2.IMREAD_COLOR),
        "BGR to I420": lambda: cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420, dst=i420),
        f"copy a {width}x{height} region in": lambda: np.copyto(place, patch),
    }
    return {(floor(size), metric): partial(timed, call) for metric, call in calls.items()}


def floor(size: tuple[int, int]) -> str:
    """Name of the rows."""
    return f"floor {size[0]}x{size[1]}"


def rows(taken: Mapping[tuple[str, str], Sequence[float]], each: int) -> list[Row]:
    """Of what `harness.by_turns` took, `each` in a row."""
    notes = {DECODE: f"quality {_QUALITY}"}
    return [harness.steady(name, metric, values, each, note=notes.get(metric, "")) for (name, metric), values in taken.items()]
