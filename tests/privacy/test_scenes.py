"""What people do before a camera: the real tracker, infer stage, finisher and pipeline; scripted networks see what is painted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Pipeline
from realtime.pipeline.several import InferSeveral
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.sync import Managed
from realtime.tracking import Everyone, SeveralTracker, Tracker, TrackerSettings
from realtime.types import Box, Frame, State
from tests.pipeline.people import PaintingSwapper
from tests.pipeline.people import Person as Somebody
from tests.pipeline.test_pipeline import run
from tests.privacy.harness import Watch, paint
from tests.tracking.scene import HEIGHT, WIDTH, Person, Run, SceneDetector, SceneLandmarker, at, between, either, seated, walk

FPS = 30.0
OWN = 0.8
"""Share of the face's box that is painted: the smoothed mesh may lag by a few pixels."""


class Stage(Managed):
    """A file whose frames show the scene: a grey room, and the mark on the faces of the first `marked` people."""

    def __init__(
        self,
        scene: Run,
        seconds: float,
        times: Callable[[float], float] = lambda t: t,
        shape: Callable[[int], tuple[int, int]] = lambda seq: (HEIGHT, WIDTH),
        marked: int = 1,
    ) -> None:
        self._people, self._count, self._times, self._shape, self._next = scene.scene.people[:marked], round(seconds * FPS), times, shape, 0

    def open(self) -> SourceInfo:
        return SourceInfo("stage", WIDTH, HEIGHT, FPS, live=False)

    def read(self, timeout: float) -> Frame:
        if self._next >= self._count:
            raise EndOfStream
        seq, self._next = self._next, self._next + 1
        image = np.full((*self._shape(seq), 3), 90, np.uint8)
        for place in filter(None, (person.path(seq / FPS) for person in self._people)):
            scale = image.shape[0] / HEIGHT
            x, y, half = place[0] * scale, place[1] * scale, OWN * place[2] * scale / 2
            paint(image, Box(x - half, y - half, x + half, y + half))
        return Frame(seq, self._times(seq / FPS), image)

    def close(self) -> None:
        pass


class Covering(PaintingSwapper):
    """As real swappers do: only the part of the face that lies in the frame."""

    def swap(self, image, face):
        x0, y0, x1, y1 = (round(value) for value in face.box)
        inside = Box(max(x0, 0), max(y0, 0), min(x1, image.shape[1]), min(y1, image.shape[0]))
        return super().swap(image, replace(face, box=inside))


class Clocked:
    """A tracker, with the scene brought to the moment of each frame; `script` may spoil the networks for it."""

    def __init__(self, scene: Run, script: Callable[[Run, int], object], tracker: Tracker | SeveralTracker) -> None:
        self._scene, self._script, self._count, self._tracker = scene, script, 0, tracker

    def track(self, image, at):
        scene = self._scene.scene
        scene.now, scene.presence, scene.damage = self._count / FPS, None, lambda mesh: mesh
        for person in scene.people:
            person.detectable = True
        self._script(self._scene, self._count)
        self._count += 1
        return self._tracker.track(image, at)


def undisturbed(scene, count):
    """A script in which nothing happens."""


def watched(people, seconds, on_lost, script=undisturbed, **options):
    scene = Run(*people)
    tracker = Tracker(SceneDetector(scene.scene), SceneLandmarker(scene.scene), None, TrackerSettings())
    infer = Infer(Clocked(scene, script, tracker), Covering(), [Somebody("anna")], Controls())
    return seen(infer, Stage(scene, seconds, **options), seconds, on_lost)


def watched_all(people, seconds, on_lost, script=undisturbed):
    """With `--faces all`, and the mark on everybody's face."""
    scene = Run(*people)
    tracker = SeveralTracker(SceneDetector(scene.scene), SceneLandmarker(scene.scene), Everyone(8), TrackerSettings())
    infer = InferSeveral(Clocked(scene, script, tracker), Covering(), [Somebody("anna")], Controls())
    return seen(infer, Stage(scene, seconds, marked=len(people)), seconds, on_lost)


def seen(infer, source, seconds, on_lost):
    watch = Watch()
    pipeline = Pipeline(source, infer, lambda w, h: Finisher(w, h, on_lost, None, None, True), [watch])
    assert run(pipeline) is None
    assert watch.count == round(seconds * FPS)
    return watch


def blind(scene, count):
    """Detector and mesh network miss the face now and then, for one frame or many."""
    if count % 20 in (7, 8, 15) or 60 <= count < 75:
        scene.scene.presence = 0.1
        scene.scene.people[0].detectable = False


def late(scene, count):
    """The detector misses the first frames after each of the jumps, which come every 15 frames."""
    if count % 15 < 3 and count >= 15:
        for person in scene.scene.people:
            person.detectable = False


def mesh_only(scene, count):
    if count % 10 < 3:
        scene.scene.presence = 0.2


def spoilt(scene, count):
    if count % 9 in (4, 5):
        scene.scene.damage = lambda mesh: replace(mesh, points=mesh.points * np.float32(np.nan))
    if count % 9 == 7:
        scene.scene.damage = lambda mesh: replace(mesh, presence=float("nan"))


def failing(scene, count):
    """The networks raise in the first frames after each jump."""
    if count % 15 < 3 and count >= 15:
        raise RuntimeError("device lost")


ME = seated(320, 240, 120)
JUMPS = lambda t: (150 + 340 * (int(t * 2) % 2), 240, 120)  # noqa: E731 - a cut twice a second
MIRRORED = lambda t: (seated(180, 240, 120), seated(460, 240, 120))[int(t * 2) % 2](t)  # noqa: E731 - the key m twice a second
SCENES = {
    "sits there": ([ME], {}),
    "comes in later": ([between(0.5, 9, ME)], {}),
    "walks in and out": ([walk(-60, 700, 240, 120, 0.3, 2.0)], {}),
    "leaves and comes back": ([either(between(0, 1, ME), between(2, 9, at(150, 200, 110)))], {}),
    "somebody else arrives": ([ME, between(1, 9, seated(560, 240, 100))], {}),
    "somebody larger arrives": ([ME, between(1, 1.8, seated(560, 240, 150))], {}),
    "leaves while another stays": ([between(0, 1.2, ME), seated(560, 240, 100)], {}),
    "jumps": ([JUMPS], {}),
    "jumps and is not seen at once": ([JUMPS], {"script": late}),
    "mirrored and not seen at once": ([MIRRORED], {"script": late}),
    "jumps while the networks fail": ([JUMPS], {"script": failing}),
    "networks miss": ([ME], {"script": blind}),
    "mesh network unsure": ([ME], {"script": mesh_only}),
    "networks give no numbers": ([ME], {"script": spoilt}),
    "clock jumps ahead": ([ME], {"times": lambda t: t + 3600 * (t > 1)}),
    "clock jumps back": ([ME], {"times": lambda t: t - 50 * (t > 1)}),
    "clock stands still": ([ME], {"times": lambda t: min(t, 1.0), "script": blind}),
    "picture changes its size": ([ME], {"shape": lambda seq: (HEIGHT, WIDTH) if seq < 30 else (HEIGHT * 3 // 2, WIDTH * 3 // 2)}),
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("name", SCENES)
def test_the_raw_face_never_comes_out(name, on_lost):
    paths, options = SCENES[name]
    watch = watched([Person(path, who) for who, path in enumerate(paths, 1)], 2.6, on_lost, **options)
    assert watch.leaks == []
    assert State.SWAPPED in watch.states, "a scene in which nothing is swapped proves nothing"


PLACES = lambda t: (490 - 340 * (int(t * 2) % 2), 240, 110)  # noqa: E731 - where JUMPS is not
CROWDS = {
    "cross": ([walk(60, 580, 240, 120, 0.0, 2.7), walk(580, 60, 240, 110, 0.0, 2.7)], undisturbed),
    "jump": ([JUMPS, at(320, 400, 90)], undisturbed),
    "change places": ([JUMPS, PLACES], undisturbed),
    "change places and are not seen at once": ([JUMPS, PLACES], late),
    "jumps alone and is not seen at once": ([JUMPS], late),
    "one by one": ([ME, between(0.5, 9, seated(120, 240, 90)), between(1.0, 9, seated(540, 240, 100))], undisturbed),
    "networks miss one of them": ([ME, seated(120, 240, 90)], blind),
    "networks fail": ([ME, seated(120, 240, 90)], failing),
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("name", CROWDS)
def test_no_raw_face_comes_out_where_all_are_swapped(name, on_lost):
    paths, script = CROWDS[name]
    watch = watched_all([Person(path, who) for who, path in enumerate(paths, 1)], 2.6, on_lost, script)
    assert watch.leaks == []
    assert State.SWAPPED in watch.states, "a scene in which nothing is swapped proves nothing"


@pytest.mark.parametrize("name", ["networks miss", "mesh network unsure"])
def test_pass_shows_it(name):
    paths, options = SCENES[name]
    watch = watched([Person(path, who) for who, path in enumerate(paths, 1)], 2.6, "pass", **options)
    assert watch.leaks
    assert all(state is not State.SWAPPED for _, state in watch.leaks)
