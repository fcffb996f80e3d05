"""Detectors, landmark networks and recognisers: what the code around each costs; and how long they take at the published size."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import thread_time
from typing import Any

import cv2
import numpy as np
import onnx

from benchmarks import fullsize, harness
from benchmarks.harness import Row
from benchmarks.models import FACE, SIZE, Clocked, Scene
from realtime.backends.select import open_session
from realtime.models.detectors.select import face_finder
from realtime.models.landmarks.points import PointLandmarker
from realtime.models.recognisers.arcface import ArcFace
from realtime.types import Array, Image
from realtime.vision import geometry
from tests.twins import detectors, landmarks, recognisers

SUMMARY = "what the code around detectors, landmark networks and recognisers costs"
DETECTORS: Mapping[str, Callable[[], Any]] = {
    "YuNet 320": lambda: detectors.yunet_twin(),
    "SCRFD 640": lambda: detectors.scrfd_twin(size=640),
    "SCRFD 320": lambda: detectors.scrfd_twin(size=320),
    "RetinaFace 640": lambda: detectors.retinaface_twin(),
    "YOLOv8-face 640": lambda: detectors.yolo_twin(),
    "YOLOv8-face raw 640": lambda: detectors.yolo_raw_twin(),
}
WARM_UP, ROUNDS = 5, 6
"""Looks that do not count; spans of a measurement that the note tells the spread of."""
ROLES = ("detectors", "landmarks", "recognisers")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=60, metavar="N", help="looks measured around each network [60]")
    fullsize.arguments(parser, 0, ROLES)


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("finders")
    with tempfile.TemporaryDirectory() as folder:
        rows = around_detectors(Path(folder), options.frames, limits)
        rows += around_the_face(Path(folder), options.frames, limits)
        rows += fullsize.of_published_size(Path(folder), options.networks, options.runs)
    return harness.finish("finders", rows, {"frames": options.frames, "runs": options.runs, "size": SIZE, "face": FACE}, options.json)


class Counted(Clocked):
    """A clocked session that counts its runs: SCRFD and RetinaFace look at a picture twice."""

    runs = 0

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        self.runs += 1
        return super().run(feeds)


def around_detectors(folder: Path, frames: int, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """Shrink, normalise, decode and suppress, with three faces in view."""
    return [_around(name, _clocked(folder, build()), _looker, frames, limits) for name, build in DETECTORS.items()]


def _looker(session: Counted) -> Callable[[], object]:
    finder, picture = face_finder([session], "twin"), crowd(session.specs.inputs[0].shape[2])
    found = finder.detect(picture)
    assert len(found) == 3, found
    return lambda: finder.detect(picture)


def crowd(size: int) -> Image:
    """A picture in which the twins of this input size see three faces: SKIN in cells of the grid of 16 pixels."""
    image, side = np.full((SIZE[1], SIZE[0], 3), 60, np.uint8), 16 * SIZE[0] // size
    for x, y in ((128, 192), (640, 256), (1024, 448)):
        image[y : y + side, x : x + side] = detectors.SKIN[::-1]
    return image


def around_the_face(folder: Path, frames: int, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """Crop, normalise and decode."""
    image, face = Scene().frames[0]
    mesh = face.landmarks.points
    five = geometry.five_points(mesh)
    rows = [
        _around(f"{kind}", _clocked(folder, landmarks.landmark_twin(kind)), lambda s: _aligner(s, image, mesh), frames, limits)
        for kind in landmarks.SIZES
    ]
    arcface = _clocked(folder, recognisers.arcface_twin())
    return [*rows, _around("ArcFace", arcface, lambda session: _knower(session, image, five), frames, limits)]


def _aligner(session: Counted, image: Image, mesh: Any) -> Callable[[], object]:
    network = PointLandmarker(session, "twin")
    return lambda: network.five(image, mesh)


def _knower(session: Counted, image: Image, five: Any) -> Callable[[], object]:
    network = ArcFace(session)
    return lambda: network.embed(image, five)


def _clocked(folder: Path, model: Any) -> Counted:
    path = folder / "twin.onnx"
    onnx.save(model, path)
    return Counted(open_session(path))


def _around(
    name: str, session: Counted, prepare: Callable[[Counted], Callable[[], object]], frames: int, limits: Mapping[str, harness.Limit]
) -> Row:
    with session:
        look = prepare(session)
        for _ in range(WARM_UP):
            look()
        times = []
        for _ in range(frames):
            start, before, runs = thread_time(), session.seconds, session.runs
            look()
            times.append(1e3 * (thread_time() - start - (session.seconds - before)) / (session.runs - runs))
    each = max(frames // ROUNDS, 1)
    return harness.steady(name, "around", times, each, limits.get("around"), note="thread CPU time of the rest for each run")
