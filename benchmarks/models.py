"""Swap networks: what the code around each costs; and how long networks of the published size take, of all roles."""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import thread_time
from typing import Any

import cv2
import numpy as np
import onnx

from benchmarks import fullsize, harness
from benchmarks.harness import Row
from benchmarks.stages import to_and_fro
from realtime.backends.around import AroundSession
from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.select import Surroundings, SwapOptions, open_swapper
from realtime.types import Array, Box, Detection, Face, Floats, Image, Landmarks, SourcePhoto
from realtime.vision import geometry
from realtime.vision.blend import paste
from tests.twins import recognisers
from tests.twins.swappers import DISTINCT, TWINS, dfm_twin, twin

SUMMARY = "what the code around each swap network costs, beside insightface's, and how long all networks of the published size take"
DATA = Path(__file__).parents[1] / "tests" / "data"
SIZE, FACE = (1280, 720), 258
"""The frame, and how wide the face in it is, in pixels: as in the benchmark `stages`."""
INSIGHTFACE, BESIDE = "insightface INSwapper.get", "inswapper_128"
"""The peer, and the network that both run."""
STEPS = 24
"""Different pictures of the moving face, played to and fro."""


def arguments(parser: argparse.ArgumentParser) -> None:
    around = "frames measured around each network, in all rounds; 0: none [200]"
    parser.add_argument("--frames", type=int, default=200, metavar="N", help=around)
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="how often each network has its turn [10]")
    fullsize.arguments(parser, 3, fullsize.ROLES)


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("models")
    scene = Scene()
    with tempfile.TemporaryDirectory() as folder:
        rows = around_each(Path(folder), scene, options, limits) if options.frames else []
        rows += fullsize.of_published_size(Path(folder), options.networks, options.runs)
    settings = {name: getattr(options, name) for name in ("frames", "rounds", "runs", "networks")} | {"size": SIZE, "face": FACE}
    return harness.finish("models", rows, settings, options.json)


class Scene:
    """A synthetic person moving before the camera, with the landmarks that the mesh network gives for them."""

    def __init__(self) -> None:
        self.photo, points = _picture("p001_studio")
        self.source = SourcePhoto(self.photo, Detection(geometry.bounds(points), np.zeros((5, 2), np.float32), 1.0), Landmarks(points, 1.0))
        image, points = _picture("p006_studio")
        self.frames = [self._moved(image, points, step) for step in np.linspace(-1, 1, STEPS)]

    def _moved(self, image: Image, points: Floats, step: float) -> tuple[Image, Face]:
        box = geometry.bounds(points)
        matrix = cv2.getRotationMatrix2D(box.centre, 8 * step, FACE / box.width)
        matrix[:, 2] += np.array(SIZE) / 2 - np.array(box.centre) + np.array([60 * step, 15 * step * step])
        moved = np.column_stack([geometry.apply(matrix, points[:, :2]), points[:, 2]]).astype(np.float32)
        frame = cv2.warpAffine(image, matrix, SIZE, borderMode=cv2.BORDER_REFLECT)
        return np.asarray(frame, np.uint8), Face(Landmarks(moved, 1.0), Box(*geometry.bounds(moved)), 1)

    def played(self) -> Iterator[tuple[Image, Face]]:
        """Fresh copies of the frames, to and fro without end."""
        for image, face in to_and_fro(self.frames):
            yield image.copy(), face


def _picture(name: str) -> tuple[Image, Floats]:
    with np.load(DATA / "landmarks.npz", allow_pickle=False) as stored:
        image = cv2.imread(str(DATA / f"{name}.jpg"))
        assert image is not None, name
        return np.asarray(image, np.uint8), stored[name]


class Clocked(AroundSession):
    """A session that keeps how long its runs took, in seconds of this thread."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.seconds = 0.0

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        start = thread_time()
        outputs = self.session.run(feeds)
        self.seconds += thread_time() - start
        return outputs


def around_each(folder: Path, scene: Scene, options: argparse.Namespace, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """Align, normalise, tensor to pixels, mask, warp back and paste, of every kind of network, on its small twin; and insightface's own
    `INSwapper.get(paste_back=True)` on that of inswapper_128. All by turns."""
    ways = {name: _way(path, chosen, scene) for name, (path, chosen) in _twins(folder).items()}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            ways[INSIGHTFACE] = _played(_insightface(folder / f"{BESIDE}.onnx"), scene)
    except ImportError as error:
        print(f"insightface is not installed ({error}): pip install insightface, or pip install '.[peers]'")
    each = max(options.frames // options.rounds, 1)
    taken = harness.by_turns(ways, options.rounds, each)
    bounds = {name: limits.get(f"around_{TWINS[name].size}") for name in DISTINCT}
    rows = [harness.steady(name, "around the network", values, each, bounds.get(name)) for name, values in taken.items()]
    if INSIGHTFACE in taken:
        both, limit = (taken[INSIGHTFACE], taken[BESIDE]), limits.get("insightface_over_ours")
        rows.append(harness.ratio(BESIDE, "insightface over ours", *both, each, limit))
    return rows


def _twins(folder: Path) -> dict[str, tuple[Path, SwapOptions]]:
    """Files of all kinds of swap networks, and what goes with them, by the name of what is measured."""
    onnx.save(recognisers.arcface_twin(), folder / "w600k_r50.onnx")
    for kind in ("ghost", "simswap", "hififace"):
        onnx.save(recognisers.converter_twin(), folder / f"crossface_{kind}.onnx")
    for name in DISTINCT:
        onnx.save(twin(name), folder / f"{name}.onnx")
    onnx.save(dfm_twin(), folder / "twin.dfm")
    files = {name: (folder / f"{name}.onnx", SwapOptions()) for name in DISTINCT}
    files["dfm, 160 pixels"] = folder / "twin.dfm", SwapOptions()
    files[f"{BESIDE} in 4 passes"] = folder / f"{BESIDE}.onnx", SwapOptions(size=256)
    return files


def _way(path: Path, options: SwapOptions, scene: Scene) -> Callable[[], float]:
    """Milliseconds of the next frame."""
    sessions: list[Clocked] = []

    def open_network(path: Path) -> Session:
        sessions.append(Clocked(open_session(path)))
        return sessions[-1]

    around = Surroundings(open_network, open_network, lambda name: None, Exact(path.parent, print))
    swapper = open_swapper(path, options, around)
    swapper.use(swapper.fit([scene.source]))

    def one(image: Image, face: Face) -> float:
        before = sum(session.seconds for session in sessions)
        start = thread_time()
        patch = swapper.swap(image, face)
        assert patch is not None
        paste(image, patch.x, patch.y, patch.colour, patch.alpha)
        return thread_time() - start - (sum(session.seconds for session in sessions) - before)

    return _played(one, scene)


def _played(one: Callable[[Image, Face], float], scene: Scene) -> Callable[[], float]:
    """Milliseconds of the next frame of the scene."""
    frames = scene.played()
    return lambda: one(*next(frames)) * 1e3


def _insightface(path: Path) -> Callable[[Image, Face], float]:
    from insightface.model_zoo.inswapper import INSwapper

    class Person:
        """What it reads of a face."""

        kps: Floats
        normed_embedding = np.full(512, 512**-0.5, np.float32)

    session = _TheirSession(path)
    swapper, person = INSwapper(str(path), session), Person()

    def one(image: Image, face: Face) -> float:
        person.kps = geometry.five_points(face.landmarks.points)
        session.seconds = 0.0
        start = thread_time()
        swapper.get(image, person, person, paste_back=True)
        return thread_time() - start - session.seconds

    return one


class _TheirSession:
    """ONNX Runtime's session as insightface calls it, on one thread like ours; clocked."""

    def __init__(self, path: Path) -> None:
        from realtime.backends.onnxruntime import load

        options = load().SessionOptions()
        options.intra_op_num_threads = 1
        self._session = load().InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.seconds = 0.0

    def run(self, names: Any, feeds: Any) -> Any:
        start = thread_time()
        outputs = self._session.run(names, feeds)
        self.seconds += thread_time() - start
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
