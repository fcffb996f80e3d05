"""The two sides of the benchmark `peers`, on one scene.

Real weights are not needed. The swap network is a small twin of inswapper_128, the same file for both. Their detector is a twin of
SCRFD whose answer is replaced by where the faces are, for a twin finds nobody; their recogniser is a twin of ArcFace. They are spared the
networks for landmarks, age and sex that `FaceAnalysis` runs as well with its usual models. We follow with the default models and backend.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import cv2
import numpy as np
import onnx

from benchmarks import harness
from benchmarks.cells import OURS, SIZES, THEIRS, Cell, Sides
from benchmarks.models import Clocked
from benchmarks.stages import LOOP, to_and_fro
from realtime import assets
from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.finders import MESH, finders
from realtime.following import infer_stage
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.select import Surroundings, SwapOptions, open_swapper
from realtime.networks import open_networks
from realtime.photos.source import load_source
from realtime.pipeline.controls import Controls
from realtime.settings import Settings
from realtime.sources.synthetic import bundled_person
from realtime.storage import engines_folder, model_store
from realtime.types import Floats, Frame, Image, State
from realtime.vision import geometry
from realtime.vision.blend import paste
from tests.twins import detectors, recognisers
from tests.twins.swappers import twin

SWAPPER, ARCFACE, DETECTOR = "inswapper_128.onnx", "w600k_r50.onnx", "det_10g.onnx"
FPS = 30.0
_LOOK = 640
"""Side of the detector's input, as in their documentation."""
_STRIDE, _SURE, _NEVER = 32, 0.9, 0.01

Taken = tuple[float, float]
"""Milliseconds of a frame: in all by the clock, and of this thread's processor time but for networks."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture, and the meshes of the faces in it."""

    image: Image
    meshes: tuple[Floats, ...]


def measure(cell: Cell) -> Sides:
    """Both sides by turns, or ours alone where insightface is not installed."""
    cv2.setNumThreads(1)
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        write_twins(folder)
        ours = Ours(cell, folder, cleanup)
        sides: dict[str, Callable[[], Taken]] = {OURS: ours.frame}
        if find_spec("insightface") is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                sides[THEIRS] = Theirs(cell, folder, ours.shots).frame
        taken = harness.by_turns(sides, cell.rounds, cell.each)
    return Sides(*({side: [each[part] for each in values] for side, values in taken.items()} for part in (0, 1)))


def write_twins(folder: Path) -> None:
    """Where both look for them."""
    models = folder / "models" / "twins"
    models.mkdir(parents=True)
    onnx.save(twin("inswapper_128"), folder / SWAPPER)
    onnx.save(recognisers.arcface_twin(), folder / ARCFACE)
    onnx.save(recognisers.arcface_twin(), models / ARCFACE)
    onnx.save(detectors.scrfd_twin(size=_LOOK), models / DETECTOR)


class Ours:
    """Our infer stage and the paste."""

    def __init__(self, cell: Cell, folder: Path, cleanup: ExitStack) -> None:
        self._cell, self._clocked = cell, list[Clocked]()
        settings = Settings(sources=((assets.SOURCE,),), faces="all" if cell.faces > 1 else "main")
        store = model_store()
        used = finders(settings, store)
        store.ensure(used.names)
        opened = open_networks(used.paths(store), settings.backend, engines_folder(), store.folder / "compiled", print)
        sessions = {name: self._clock(cleanup.enter_context(session)) for name, session in opened.items()}
        detector, patient = used.detectors(sessions, settings.score, settings.min_face)
        landmarker = MeshLandmarker(sessions[MESH])
        around = Surroundings(self._open(cleanup), self._open(cleanup), lambda name: None, Exact(folder, print))
        swapper = open_swapper(folder / SWAPPER, SwapOptions(), around)
        photos, _ = load_source((assets.SOURCE,), patient, landmarker)
        person = bundled_person()
        mesh = landmarker.landmarks(person, geometry.region_from_detection(detector.detect(person)[0])).points
        self.shots = [shot(person, mesh, cell, step) for step in np.linspace(-1, 1, LOOP)]
        recogniser = used.knows(sessions)
        self._infer = infer_stage(settings, detector, landmarker, recogniser, swapper, [swapper.fit(photos)], Controls())
        self._frames = played(self.shots)

    def _clock(self, session: Session) -> Clocked:
        self._clocked.append(Clocked(session))
        return self._clocked[-1]

    def _open(self, cleanup: ExitStack) -> Callable[[Path], Session]:
        return lambda path: self._clock(cleanup.enter_context(open_session(path)))

    def frame(self) -> Taken:
        number, current = next(self._frames)
        frame = Frame(number, number / FPS, current.image.copy())
        before = sum(session.seconds for session in self._clocked)
        start, used = perf_counter(), thread_time()
        verdict = self._infer(frame)
        for patch in verdict.patches:
            paste(frame.image, patch.x, patch.y, patch.colour, patch.alpha)
        total, busy = perf_counter() - start, thread_time() - used
        settled = number > 2 * self._cell.each or self._cell.faces == 1
        if settled and (verdict.state is not State.SWAPPED or len(verdict.patches) != self._cell.faces):
            raise RuntimeError(f"{len(verdict.patches)} of {self._cell.faces} faces were swapped: {verdict.state} {verdict.reason}")
        networks = sum(session.seconds for session in self._clocked) - before
        return total * 1e3, (busy - networks) * 1e3


class Theirs:
    """insightface, one thread."""

    def __init__(self, cell: Cell, folder: Path, shots: Sequence[Shot]) -> None:
        import onnxruntime
        from insightface.app import FaceAnalysis
        from insightface.model_zoo.inswapper import INSwapper

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        alone: dict[str, Any] = {"providers": ["CPUExecutionProvider"], "sess_options": options}
        self._cell, self._frames, self._planted = cell, played(shots), shots[0]
        self._analysis = FaceAnalysis("twins", str(folder), ["detection", "recognition"], **alone)
        self._analysis.prepare(ctx_id=-1, det_size=(_LOOK, _LOOK))
        self._clocked: list[TheirSession] = []
        for task, model in self._analysis.models.items():
            model.session = self._clock(model.session, self._plant if task == "detection" else None)
        swapped = onnxruntime.InferenceSession(str(folder / SWAPPER), options, providers=alone["providers"])
        self._swapper = INSwapper(str(folder / SWAPPER), self._clock(swapped))
        self._source = self._analysis.get(shots[0].image)[0]

    def _clock(self, session: Any, answer: Callable[[Any], Any] | None = None) -> TheirSession:
        clocked = TheirSession(session, answer)
        self._clocked.append(clocked)
        return clocked

    def frame(self) -> Taken:
        _, self._planted = next(self._frames)
        image = self._planted.image.copy()
        before = sum(session.seconds for session in self._clocked)
        start, used = perf_counter(), thread_time()
        faces = self._analysis.get(image)
        for face in faces:
            image = self._swapper.get(image, face, self._source, paste_back=True)
        total, busy = perf_counter() - start, thread_time() - used
        if len(faces) != self._cell.faces:
            raise RuntimeError(f"insightface found {len(faces)} faces of {self._cell.faces}")
        networks = sum(session.seconds for session in self._clocked) - before
        return total * 1e3, (busy - networks) * 1e3

    def _plant(self, outputs: list[Any]) -> list[Any]:
        """Say that the faces are where they are: one anchor each, of the coarsest grid (SCRFD's own coding: distances in strides)."""
        for scores in outputs[:3]:
            scores[...] = _NEVER
        scale = _LOOK / self._planted.image.shape[1]
        for mesh in self._planted.meshes:
            x0, y0, x1, y1 = (value * scale for value in geometry.bounds(mesh))
            across, down = int((x0 + x1) / 2 / _STRIDE), int((y0 + y1) / 2 / _STRIDE)
            anchor, place = 2 * (down * (_LOOK // _STRIDE) + across), np.array([across, down]) * _STRIDE
            outputs[2][anchor] = _SURE
            outputs[5][anchor] = np.array([place[0] - x0, place[1] - y0, x1 - place[0], y1 - place[1]]) / _STRIDE
            outputs[8][anchor] = ((geometry.five_points(mesh) * scale - place) / _STRIDE).ravel()
        return outputs


class TheirSession:
    """ONNX Runtime's session as insightface calls it, clocked by this thread's processor time; `answer` changes its outputs."""

    def __init__(self, session: Any, answer: Callable[[Any], Any] | None) -> None:
        self._session, self._answer = session, answer
        self.seconds = 0.0

    def run(self, names: Any, feeds: Any) -> Any:
        start = thread_time()
        outputs = self._session.run(names, feeds)
        if self._answer is not None:
            outputs = self._answer([np.array(each) for each in outputs])
        self.seconds += thread_time() - start
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def shot(person: Image, mesh: Floats, cell: Cell, step: float) -> Shot:
    """The person before a camera with faces `cell.width` pixels wide, side by side; `step` from -1 to 1 is where in the movement."""
    width, height = SIZES[cell.size][0] // cell.faces, SIZES[cell.size][1]
    box = geometry.bounds(mesh)
    matrix = cv2.getRotationMatrix2D(box.centre, 8 * step, cell.width / box.width)
    matrix[:, 2] += np.array([width, height]) / 2 - np.array(box.centre) + 0.04 * width * np.array([step, 0.4 * step * step])
    one = cv2.warpAffine(person, matrix, (width, height), borderMode=cv2.BORDER_REFLECT)
    image = np.zeros((height, SIZES[cell.size][0], 3), np.uint8)
    image[:, : width * cell.faces] = np.tile(one, (1, cell.faces, 1))
    moved = np.column_stack([geometry.apply(matrix, mesh[:, :2]), mesh[:, 2]]).astype(np.float32)
    return Shot(image, tuple(moved + np.array([number * width, 0, 0], np.float32) for number in range(cell.faces)))


def played(shots: Sequence[Shot]) -> Iterator[tuple[int, Shot]]:
    """To and fro without end."""
    return enumerate(to_and_fro(shots))


if __name__ == "__main__":
    sys.exit(harness.report_case(__doc__, lambda fields: measure(Cell(**fields))))
