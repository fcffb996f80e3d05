"""What the watermark costs: time a frame, picture quality, and the size of a compressed video; and how long reading it takes."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import Row
from realtime.sources.synthetic import Sway, bundled_person
from realtime.trust.reading import read_mark
from realtime.trust.watermark import STRENGTHS, Marker
from realtime.types import Image

SUMMARY = "what the watermark costs in time, picture quality and video size"
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080)}
FPS = 30
WARM_UP, ROUNDS, LOOKS = 10, 6, 3
"""Frames that do not count; spans of the others that the note tells the spread of; looks for a mark that count, after one that does not."""
CODINGS = {"x264 CRF 23": {"crf": "23", "preset": "veryfast"}, "x264 CRF 28": {"crf": "28", "preset": "veryfast"}}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=300, metavar="N", help="frames marked for the times [300]")
    parser.add_argument("--film", type=int, default=48, metavar="N", help="frames of each video that is compressed [48]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("marking")
    person = bundled_person()
    rows = [cost(name, size, options.frames, limits.get(f"{name}_ms")) for name, size in SIZES.items()]
    rows += [quality(person, strength, limits.get("psnr_db") if strength == STRENGTHS[0] else None) for strength in STRENGTHS]
    rows += [wrapped(limits.get("wrapped"))]
    for name, frames in films(person, options.film):
        rows += growth(name, frames)
    rows += reading(person)
    return harness.finish("marking", rows, {"frames": options.frames, "film": options.film, "threads": 1}, options.json)


def cost(name: str, size: tuple[int, int], frames: int, limit: harness.Limit | None) -> Row:
    """Median thread CPU time of marking a frame's luma plane."""
    planes = to_i420(cv2.resize(bundled_person(), size))
    marker, times = Marker(*size), []
    for number in range(WARM_UP + frames):
        i420 = planes.copy()
        start = thread_time()
        marker.mark_i420(i420)
        if number >= WARM_UP:
            times.append((thread_time() - start) * 1e3)
    return harness.steady(name, "mark a frame", times, max(frames // ROUNDS, 1), limit)


def quality(image: Image, strength: int, limit: harness.Limit | None) -> Row:
    before, after = to_i420(image), to_i420(image)
    Marker(image.shape[1], image.shape[0], strength).mark_i420(after)
    lines = image.shape[0]
    return Row("picture", f"PSNR of the luma, strength {strength}", cv2.PSNR(before[:lines], after[:lines]), "dB", limit)


def wrapped(limit: harness.Limit | None) -> Row:
    """Levels by which black or white moved beyond the strength: a byte that wraps around moves by 254."""
    worst = 0
    for strength in STRENGTHS:
        for level in (0, 255):
            i420 = np.full((1080, 1280), level, np.uint8)
            Marker(1280, 720, strength).mark_i420(i420)
            worst = max(worst, int(np.abs(i420.astype(int) - level).max()) - strength)
    return Row("picture", "black and white beyond the strength", worst, "levels", limit)


def films(person: Image, count: int) -> Iterator[tuple[str, list[Image]]]:
    """The swaying person, and where the test media are (REALTIME_MEDIA) two clips of cameras."""
    sway = Sway(person, FPS, seed=0)
    yield "synthetic 1280x720", [sway.picture(number) for number in range(count)]
    folder = Path(os.environ.get("REALTIME_MEDIA", "shared/media")) / "videos"
    for name in ("asl_yes.mkv", "head-pose-face-detection-male.mp4"):
        if (folder / name).is_file():
            with av.open(str(folder / name)) as container:
                decoded = (frame.to_ndarray(format="bgr24") for frame in islice(container.decode(video=0), count))
                frames = [even(np.asarray(image, np.uint8)) for image in decoded]
            yield f"{Path(name).stem} {frames[0].shape[1]}x{frames[0].shape[0]}", frames


def even(image: Image) -> Image:
    return np.ascontiguousarray(image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2])


def growth(name: str, frames: list[Image]) -> list[Row]:
    """How much larger the compressed film gets, and whether the mark is read from it."""
    rows = []
    for coding, options in CODINGS.items():
        plain, _ = compressed(map(to_i420, frames), options)
        marked, decoded = compressed(mark_all(frames), options)
        found = read_mark(decoded[:8]).found
        rate = plain * 8 * FPS / len(frames) / 1e3
        note = f"{rate:.0f} kbit/s without it; the mark is {'read back' if found else 'NOT read back'}"
        rows.append(Row(name, f"{coding}: growth", (marked / plain - 1) * 100, "%", None, note))
    return rows


def mark_all(frames: list[Image]) -> Iterator[NDArray[np.uint8]]:
    marker = Marker(frames[0].shape[1], frames[0].shape[0])
    for frame in frames:
        i420 = to_i420(frame)
        marker.mark_i420(i420)
        yield i420


def compressed(planes: Iterable[NDArray[np.uint8]], options: dict[str, str]) -> tuple[int, list[Image]]:
    """Bytes of the H.264 packets, and the decoded frames."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        size = 0
        with av.open(str(path), "w") as container:
            video: Any = container.add_stream("libx264", rate=FPS, options=options)
            for number, i420 in enumerate(planes):
                if not number:
                    video.width, video.height, video.pix_fmt = i420.shape[1], i420.shape[0] * 2 // 3, "yuv420p"
                packets = video.encode(av.VideoFrame.from_ndarray(i420, format="yuv420p"))
                size += sum(packet.size for packet in packets)
                container.mux(packets)
            packets = video.encode(None)
            size += sum(packet.size for packet in packets)
            container.mux(packets)
        with av.open(str(path)) as container:
            return size, [np.asarray(frame.to_ndarray(format="bgr24"), np.uint8) for frame in container.decode(video=0)]


def reading(person: Image) -> list[Row]:
    """CPU time of one look at a picture, the median of some."""
    marked = person.copy()
    Marker(person.shape[1], person.shape[0]).mark_bgr(marked)
    cropped = marked[90:630, 150:1110]
    rows = []
    for name, image in (("marked", marked), ("marked, cropped", cropped), ("not marked", person)):
        found, times = False, []
        for _ in range(1 + LOOKS):
            start = thread_time()
            found = read_mark([image]).found
            times.append((thread_time() - start) * 1e3)
        rows.append(harness.steady("reading", name, times[1:], 1, note="found" if found else "not found"))
    return rows


def to_i420(image: Image) -> NDArray[np.uint8]:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8)
