"""Detectors, landmark networks and recognisers: what the code around each costs, and how long networks of the published size take."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import cv2
import numpy as np
import onnx
from onnx import helper

from benchmarks import harness
from benchmarks.harness import Row
from benchmarks.models import FACE, SIZE, Clocked, Scene
from realtime.backends.select import open_session
from realtime.models.convert.fixed import fixed_copies
from realtime.models.detectors.select import face_finder
from realtime.models.landmarks.points import PointLandmarker
from realtime.models.recognisers.arcface import ArcFace
from realtime.types import Array, Image
from realtime.vision import geometry
from tests.twins import detectors, landmarks, recognisers
from tests.twins.full import Builder

SUMMARY = "what the code around detectors, landmark networks and recognisers costs, and how long networks of their published size take"
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
PUBLISHED = {"scrfd_10g": 1.0, "scrfd_2.5g": 0.5}
"""Widths over those of scrfd_10g: a quarter of the multiply-adds for half of the width."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=60, metavar="N", help="looks measured around each network [60]")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each network of the published size; 0: none [5]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("finders")
    with tempfile.TemporaryDirectory() as folder:
        rows = around_detectors(Path(folder), options.frames, limits)
        rows += around_the_face(Path(folder), options.frames, limits)
        if options.runs:
            rows += of_published_size(Path(folder), options.runs)
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


def of_published_size(folder: Path, runs: int) -> list[Row]:
    others = "retinaface, yoloface, landmark networks (no twin of their layout), yunet and mesh (`benchmarks engines` runs the real ones)"
    print(f"not measured at the published size: {others}")
    rows = []
    for name, share in PUBLISHED.items():
        path = folder / f"{name}.onnx"
        cost = scrfd(path, share)
        for copy, size in zip(fixed_copies(path, (640, 320), folder / "sized"), (640, 320), strict=True):
            note = f"about {cost * size * size / 640**2:.1f} G multiply-adds, random weights"
            rows.append(Row(f"{name} {size}", "network", _timed(copy, runs), "ms", note=note))
    path = folder / "w600k_r50.onnx"
    note = f"{iresnet(path):.1f} G multiply-adds, random weights"
    return [*rows, Row("w600k_r50", "network", _timed(path, runs), "ms", note=note)]


def _timed(path: Path, runs: int) -> float:
    with open_session(path) as session:
        session.run()
        times = []
        for _ in range(runs):
            start = perf_counter()
            session.run()
            times.append(perf_counter() - start)
    return 1e3 * median(times)


def scrfd(path: Path, share: float) -> float:
    """Backbone, neck and heads in the proportions of SCRFD-10g, of open size. Returns G multiply-adds at 640 pixels."""
    b = Builder()

    def width(channels: int) -> int:
        return max(round(channels * share), 4)

    x, side, before, features = "input.1", 320, 3, []
    for channels in (28, 28, 56):
        x, before = b.op("Relu", b.conv(x, before, width(channels), side, stride=2 if before == 3 else 1)), width(channels)
    x, side = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), side // 2
    for count, channels, stride in ((3, 56, 1), (4, 88, 2), (2, 88, 2), (3, 224, 2)):
        side //= stride
        for block in range(count):
            x, before = _block(b, x, before, width(channels), side, stride if block == 0 else 1), width(channels)
        features.append((x, before, side))
    outputs = [head for feature in features[1:] for head in _heads(b, *feature, width(56), width(80))]
    entry = helper.make_tensor_value_info("input.1", onnx.TensorProto.FLOAT, [1, 3, "?", "?"])
    _save(path, b, entry, outputs)
    return b.products / 1e9


def _block(b: Builder, x: str, before: int, after: int, side: int, stride: int) -> str:
    """Two convolutions with a short cut, as in ResNet."""
    y = b.conv(b.op("Relu", b.conv(x, before, after, side, stride=stride)), after, after, side)
    short = x if before == after and stride == 1 else b.conv(x, before, after, side, kernel=1, stride=stride)
    return b.op("Relu", b.op("Add", y, short))


def _heads(b: Builder, x: str, before: int, side: int, neck: int, head: int) -> list[str]:
    x = b.conv(b.conv(b.conv(x, before, neck, side, kernel=1), neck, neck, side), neck, neck, side)
    for index in range(3):
        x = b.op("Relu", b.conv(x, neck if index == 0 else head, head, side))
    planes = {n: b.op("Transpose", b.conv(x, head, 2 * n, side), perm=[0, 2, 3, 1]) for n in (1, 4, 10)}
    return [b.op("Reshape", plane, b.constant(np.array([-1, n], np.int64))) for n, plane in planes.items()]


def iresnet(path: Path) -> float:
    """ArcFace's residual network of 50 layers at 112 pixels. Returns G multiply-adds."""
    b = Builder()
    x, before, side = b.op("Relu", b.conv("input.1", 3, 64, 112)), 64, 112
    for count, channels in ((3, 64), (4, 128), (14, 256), (3, 512)):
        side //= 2
        for block in range(count):
            x, before = _block(b, x, before, channels, side, 2 if block == 0 else 1), channels
    b.products += 512 * side * side * 512
    out = b.op("Gemm", b.op("Flatten", x), b.weight(512 * side * side, 512), b.weight(512))
    _save(path, b, helper.make_tensor_value_info("input.1", onnx.TensorProto.FLOAT, [1, 3, 112, 112]), [out])
    return b.products / 1e9


def _save(path: Path, b: Builder, entry: Any, outputs: Sequence[str]) -> None:
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(b.nodes, path.stem, [entry], given, b.stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
