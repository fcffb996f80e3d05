"""Scenes that nobody thought of: people who cross, vanish and come back, cuts and a detector that misses, all by chance from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath

import cv2
import numpy as np

from realtime.following import infer_stage
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Pipeline
from realtime.pipeline.several import InferSeveral
from realtime.settings import Settings
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.sync import Managed
from realtime.tracking import Everyone, SeveralTracker, Tracker, TrackerSettings
from realtime.types import Box, Detection, Frame, Image, Landmarks, Region
from tests.pipeline.people import PaintingSwapper
from tests.pipeline.people import Person as Somebody
from tests.pipeline.test_pipeline import run
from tests.privacy.harness import Watch, paint, shows_checks
from tests.tracking.scene import HEIGHT, WIDTH, Path, Person, Run, Scene, SceneDetector, SceneLandmarker, SceneRecogniser

FPS = 30.0
OWN = 0.8
"""Share of the face's box that is painted: the smoothed mesh may lag by a few pixels."""
Place = tuple[float, float, float]


def paint_stranger(image: Image, box: Box, who: int) -> None:
    """Somebody else's face: flat, with eyes, and nothing of the mark's colours."""
    x0, y0, x1, y1 = (round(value) for value in box)
    colour = ((60, 60, 190), (190, 70, 90), (150, 40, 150), (40, 90, 200))[who % 4]
    cv2.rectangle(image, (x0, y0), (x1 - 1, y1 - 1), colour, cv2.FILLED)
    cv2.circle(image, ((3 * x0 + x1) // 4, (2 * y0 + y1) // 3), max((x1 - x0) // 10, 1), (20, 20, 20), cv2.FILLED)
    cv2.circle(image, ((x0 + 3 * x1) // 4, (2 * y0 + y1) // 3), max((x1 - x0) // 10, 1), (20, 20, 20), cv2.FILLED)


@dataclass(frozen=True)
class Play:
    """What happens: who is where, whom the detector misses, and what the room looks like."""

    people: list[Person]
    seconds: float
    room: Callable[[int], Image]
    misses: Callable[[int, int], bool]
    """By the frame's number and the person's index."""
    marked: int = 1
    """Of the people, the first so many have the mark on their faces."""

    @property
    def frames(self) -> int:
        return round(self.seconds * FPS)


class Film(Managed):
    """A file of the play: whoever is larger is nearer, and in front."""

    def __init__(self, play: Play) -> None:
        self._play, self._next = play, 0

    def open(self) -> SourceInfo:
        return SourceInfo("film", WIDTH, HEIGHT, FPS, live=False)

    def read(self, timeout: float) -> Frame:
        if self._next >= self._play.frames:
            raise EndOfStream
        seq, self._next = self._next, self._next + 1
        image = self._play.room(seq).copy()
        places = [(n, person.path(seq / FPS)) for n, person in enumerate(self._play.people)]
        for n, (x, y, size) in sorted(((n, place) for n, place in places if place is not None), key=lambda seen: seen[1][2]):
            half = OWN * size / 2
            box = Box(x - half, y - half, x + half, y + half)
            if n < self._play.marked:
                paint(image, box, fields=5)
            else:
                paint_stranger(image, box, n)
        return Frame(seq, seq / FPS, image)

    def close(self) -> None:
        pass


class Sight:
    """Networks that see what the camera does: a face behind another one is neither detected nor followed, the one in front is."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._detector, self._landmarker = scene, SceneDetector(scene), SceneLandmarker(scene)
        self.name = "sight"

    def detect(self, image: Image) -> list[Detection]:
        with self._front():
            return self._detector.detect(image)

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        with self._front():
            return self._landmarker.landmarks(image, region)

    @contextmanager
    def _front(self) -> Iterator[None]:
        people = self._scene.people
        places = [(person, place) for person in people if (place := person.path(self._scene.now)) is not None]
        hidden = [one for one, mine in places if any(_behind(mine, other) for _, other in places)]
        self._scene.people = [person for person in people if person not in hidden]
        yield
        self._scene.people = people


def _behind(one: Place, other: Place) -> bool:
    return one[2] < other[2] and float(np.hypot(one[0] - other[0], one[1] - other[1])) < 0.4 * other[2]


class Prompted:
    """A tracker, with the scene brought to the moment of each frame."""

    def __init__(self, scene: Run, play: Play, tracker: Tracker | SeveralTracker) -> None:
        self._scene, self._play, self._count, self._tracker = scene.scene, play, 0, tracker

    def track(self, image, at):
        self._scene.now = self._count / FPS
        for n, person in enumerate(self._scene.people):
            person.detectable = not self._play.misses(self._count, n)
        self._count += 1
        return self._tracker.track(image, at)


class Covering(PaintingSwapper):
    """As real swappers do: only the part of the face that lies in the frame."""

    def swap(self, image, face):
        x0, y0, x1, y1 = (round(value) for value in face.box)
        box = Box(max(x0, 0), max(y0, 0), min(x1, image.shape[1]), min(y1, image.shape[0]))
        return super().swap(image, type(face)(face.landmarks, box, face.track))


def watched(play: Play, on_lost: str = "hide", identity: bool = True, settings: TrackerSettings | None = None) -> Watch:
    """With `--faces main`."""
    scene = Run(*play.people)
    recogniser = SceneRecogniser(scene.scene) if identity else None
    sight = Sight(scene.scene)
    tracker = Tracker(sight, sight, recogniser, settings or TrackerSettings())
    return seen(Infer(Prompted(scene, play, tracker), Covering(), [Somebody("anna")], Controls()), play, on_lost)


def watched_all(play: Play, on_lost: str = "hide", behind: bool = False) -> Watch:
    """With `--faces all`. The detector sees those too who are half behind another, unless `behind`."""
    scene = Run(*play.people)
    sight = Sight(scene.scene)
    detector, landmarker = (sight, sight) if behind else (SceneDetector(scene.scene), SceneLandmarker(scene.scene))
    tracker = SeveralTracker(detector, landmarker, Everyone(8), TrackerSettings())
    return seen(InferSeveral(Prompted(scene, play, tracker), Covering(), [Somebody("anna")], Controls()), play, on_lost)


def watched_place(play: Play, rule: str, identity: bool = True) -> Watch:
    """With `--faces largest` and the like, as the program builds it."""
    scene = Run(*play.people)
    sight = Sight(scene.scene)
    settings = Settings(sources=((FilePath("me.jpg"),),), faces=rule, profile="fast" if identity else "light")
    recogniser = SceneRecogniser(scene.scene) if identity else None
    infer = infer_stage(settings, sight, sight, recogniser, Covering(), [Somebody("anna")], Controls())
    infer._tracker = Prompted(scene, play, infer._tracker)
    return seen(infer, play, "hide")


def seen(infer, play: Play, on_lost: str) -> Watch:
    watch = Watch(shows=shows_checks)
    pipeline = Pipeline(Film(play), infer, lambda w, h: Finisher(w, h, on_lost, None, None, True), [watch])
    assert run(pipeline) is None
    assert watch.count == play.frames
    return watch


# -- by chance --------------------------------------------------------------------------------------------------


def improvised(seed: int, people: int = 2, seconds: float = 4.0, marked: int = 1, still: float = 0.6) -> Play:
    """`still`: seconds at the start in which everybody who is there sits apart, for somebody to be the person."""
    rng = np.random.default_rng(seed)
    cuts = sorted(rng.uniform(still, seconds, rng.integers(0, 3)).tolist())
    ways = [_way(rng, n, people, seconds, cuts, still) for n in range(people)]
    missed = rng.random((round(seconds * FPS) + 1, people)) < 0.04
    missed[: round(still * FPS)] = False
    for _ in range(rng.integers(0, 4)):  # for a few frames on end
        start, who = rng.integers(round(still * FPS), len(missed)), rng.integers(people)
        missed[start : start + rng.integers(2, 5), who] = True
    for cut in cuts:  # the worst moment
        if rng.random() < 0.5:
            first = int(np.ceil(cut * FPS))
            missed[first : first + rng.integers(1, 4), rng.integers(people)] = True
    rooms = [rng.integers(40, 130, (12, 16, 3)).astype(np.uint8) for _ in range(len(cuts) + 1)]
    rooms = [cv2.resize(room, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC) for room in rooms]
    for room in rooms:
        np.clip(room, 0, 135, out=room)
    cast = [Person(way, who, score=0.95 if who == 1 else 0.7) for who, way in enumerate(ways, 1)]
    room = lambda seq: rooms[sum(seq / FPS >= cut for cut in cuts)]  # noqa: E731
    return Play(cast, seconds, room, lambda frame, n: bool(missed[min(frame, len(missed) - 1), n]), marked)


def _way(rng: np.random.Generator, n: int, people: int, seconds: float, cuts: list[float], still: float) -> Path:
    """From place to place at up to four face sizes a second; another place after a cut; out of view now and then."""
    size = float(rng.uniform(90, 130))
    home = (WIDTH * (n + 0.5) / people, float(rng.uniform(220, 260)))
    times, places = [0.0, still], [home, home]
    while times[-1] < seconds:
        here = places[-1]
        there = float(rng.uniform(-size, WIDTH + size)), float(rng.uniform(200, 280))
        if rng.random() < 0.3:
            there = here
        distance = float(np.hypot(there[0] - here[0], there[1] - here[1])) / size
        times.append(times[-1] + max(distance / float(rng.uniform(0.5, 4.0)), 0.2))
        places.append(there)
    shifts = [(0.0, 0.0)] + [(float(rng.uniform(-300, 300)), float(rng.uniform(-60, 60))) for _ in cuts]
    away = [(a, a + float(rng.uniform(0.1, 1.2))) for a in rng.uniform(still, seconds, rng.integers(0, 2))]

    def path(t: float) -> Place | None:
        if any(start <= t < end for start, end in away):
            return None
        x, y = (float(np.interp(t, times, [place[axis] for place in places])) for axis in (0, 1))
        dx, dy = shifts[sum(t >= cut for cut in cuts)]
        x, y = (x + dx + 2 * WIDTH) % (WIDTH + 2 * size) - size if dx else x, min(max(y + dy, 120.0), 360.0)
        return (x, y, size) if -size / 2 < x < WIDTH + size / 2 else None

    return path
