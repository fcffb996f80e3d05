"""A scripted scene for the tracker: people on paths, and a detector, mesh network and recogniser that see exactly that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from realtime.models.base import Recogniser
from realtime.tracking import Everyone, Gallery, People, SeveralTracked, SeveralTracker, Tracked, Tracker, TrackerSettings
from realtime.tracking.choice import Choice
from realtime.types import Box, Detection, Floats, Image, Landmarks, Region
from realtime.vision import geometry

HEIGHT, WIDTH = 480, 640
USER, STRANGER, PAINTING = 1, 2, 3
Path = Callable[[float], tuple[float, float, float] | None]
"""Centre x, y and size in pixels at a time, or None when out of view."""


def base_mesh() -> Floats:
    """(468, 3) float32: an upright face of width and height 1 around the origin."""
    rng = np.random.default_rng(7)
    around = rng.uniform(0, 2 * np.pi, 468)
    radius = np.sqrt(rng.uniform(0, 1, 468))
    points = np.stack([0.5 * radius * np.cos(around), 0.5 * radius * np.sin(around), -0.3 * (1 - radius)], axis=1)
    points[[10, 152, 234, 454], :2] = [(0, -0.5), (0, 0.5), (-0.5, 0), (0.5, 0)]
    places = {33: (-0.3, -0.15), 133: (-0.12, -0.15), 362: (0.12, -0.15), 263: (0.3, -0.15)}
    places |= {1: (0, 0.05), 61: (-0.15, 0.25), 291: (0.15, 0.25)}
    for index, place in places.items():
        points[index, :2] = place
    return points.astype(np.float32)


MESH = base_mesh()


def at(x: float, y: float, size: float) -> Path:
    return lambda t: (x, y, size)


def seated(x: float, y: float, size: float) -> Path:
    """A living person: sways by a fifth of the face."""
    return lambda t: (x + 0.2 * size * np.sin(1.3 * t), y, size)


def between(start: float, end: float, path: Path) -> Path:
    """In view from `start` to `end`."""
    return lambda t: path(t) if start <= t < end else None


def either(*paths: Path) -> Path:
    return lambda t: next((place for path in paths if (place := path(t)) is not None), None)


def walk(x0: float, x1: float, y: float, size: float, start: float, seconds: float) -> Path:
    """From x0 to x1, then gone."""
    return between(start, start + seconds, lambda t: (x0 + (x1 - x0) * (t - start) / seconds, y, size))


@dataclass
class Person:
    path: Path
    who: int = 0
    score: float = 0.9
    detectable: bool = True
    turned: float = 0.0
    yaw: float | Callable[[float], float] = 0.0
    """Degrees; the depth of the mesh only."""
    cosine: float | None = None
    """With the person's own reference; None: as all others of `who`."""
    embedding: Floats | None = None
    """In place of that."""


@dataclass
class Scene:
    people: list[Person]
    now: float = 0.0
    noise: float = 0.0
    presence: float | None = None
    """Overrides what the mesh network reports."""
    likeness: float = 0.0
    """Cosine between any two people."""
    stuck: tuple[float, float] | None = None
    """Where the mesh network sees the nearest face, whatever the crop, until the detector has run."""
    drag: float = 0.0
    """Share of the way from the face back to the crop's centre by which the mesh falls short, as the real network's does."""
    damage: Callable[[Landmarks], Landmarks] = lambda mesh: mesh
    detections: int = 0
    meshes: int = 0
    looks: int = 0
    regions: list[Region] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def visible(self) -> Iterator[tuple[Person, tuple[float, float, float]]]:
        for person in self.people:
            place = person.path(self.now)
            if place is not None:
                yield person, place

    def mesh_of(self, person: Person, place: tuple[float, float, float]) -> Floats:
        x, y, size = place
        points = MESH * np.float32(size) + np.float32((x, y, 0))
        points[1, 0] += np.float32(person.turned * 0.42 * size)
        yaw = person.yaw(self.now) if callable(person.yaw) else person.yaw
        points[:, 2] += np.float32(np.tan(np.radians(yaw))) * (points[:, 0] - np.float32(x))
        return points + self.rng.normal(0, self.noise * size, points.shape).astype(np.float32) if self.noise else points


class SceneDetector:
    name = "scene"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def detect(self, image: Image) -> list[Detection]:
        self.scene.detections += 1
        self.scene.stuck = None
        if image.shape[0] == image.shape[1] and self.scene.regions:
            return self._close_up(len(image))
        found = []
        for person, (x, y, size) in self.scene.visible():
            if person.detectable and -size / 2 < x < WIDTH + size / 2:
                box = Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)
                found.append(Detection(box, geometry.five_points(self.scene.mesh_of(person, (x, y, size))), person.score))
        return sorted(found, key=lambda face: -face.score)

    def _close_up(self, side: int) -> list[Detection]:
        """A square crop of the face that was looked at last, twice its size."""
        region = self.scene.regions[-1]
        person, place = min(self.scene.visible(), key=lambda seen: np.hypot(seen[1][0] - region.x, seen[1][1] - region.y))
        points = self.scene.mesh_of(person, place)
        box = geometry.bounds(points)
        scale = side / 2 / max(box.width, box.height)
        points[:, :2] = (points[:, :2] - np.float32(box.centre)) * np.float32(scale) + np.float32(side / 2)
        return [Detection(geometry.bounds(points), geometry.five_points(points), person.score)]


class SceneLandmarker:
    """The mesh of the face nearest to the crop's centre; none when that is further than its margin or of another size."""

    name = "scene"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        self.scene.meshes += 1
        self.scene.regions.append(region)
        best = min(self.scene.visible(), key=lambda seen: np.hypot(seen[1][0] - region.x, seen[1][1] - region.y), default=None)
        noise = (MESH * np.float32(region.size / 3) + np.float32((region.x, region.y, 0))).astype(np.float32)
        if best is None:
            return Landmarks(noise, 0.02)
        person, (x, y, size) = best
        if self.scene.stuck is not None:
            return Landmarks(self.scene.mesh_of(person, (*self.scene.stuck, size)), 0.9)
        off = float(np.hypot(x - region.x, y - region.y)) / size
        if off > 0.45 or not 0.5 < region.size / 1.5 / size < 2:
            return Landmarks(noise, 0.05)
        presence = self.scene.presence if self.scene.presence is not None else 0.99
        short = self.scene.drag
        place = (x + short * (region.x - x), y + short * (region.y - y), size)
        return self.scene.damage(Landmarks(self.scene.mesh_of(person, place), presence))


class SceneRecogniser:
    name = "scene"
    same_person = 0.363

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def embed(self, image: Image, points: Floats) -> Floats:
        self.scene.looks += 1
        x, y = points.mean(0)
        person, _ = min(self.scene.visible(), key=lambda seen: np.hypot(seen[1][0] - x, seen[1][1] - y))
        if person.embedding is not None:
            return person.embedding
        own = reference(person.who, self.scene.likeness)
        if person.cosine is not None:
            own *= np.float32(person.cosine)
            own[7] = np.sqrt(1 - person.cosine**2)
        return own


def reference(who: int, likeness: float = 0.0) -> Floats:
    """What all people share, and what each has alone."""
    own = np.eye(8, dtype=np.float32)[who] * np.float32(np.sqrt(1 - likeness))
    own[0] = np.sqrt(likeness)
    return own


class Run:
    """A tracker watching a scene."""

    def __init__(self, *people: Person, identity: bool = True, settings: TrackerSettings | None = None, noise: float = 0.0) -> None:
        self.scene = Scene(list(people), noise=noise)
        recogniser: Recogniser | None = SceneRecogniser(self.scene) if identity else None
        self.tracker = Tracker(SceneDetector(self.scene), SceneLandmarker(self.scene), recogniser, settings or TrackerSettings())
        self.image: Image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)

    def step(self, t: float) -> Tracked:
        self.scene.now = t
        return self.tracker.track(self.image, t)

    def until(self, end: float, start: float = 0.0, fps: float = 30.0) -> list[Tracked]:
        """Every frame from `start` up to `end`."""
        return [self.step(start + i / fps) for i in range(round((end - start) * fps))]

    def on(self, tracked: Tracked) -> int | None:
        """Who is followed."""
        if tracked.face is None:
            return None
        x, y = tracked.face.box.centre
        person, place = min(self.scene.visible(), key=lambda seen: np.hypot(seen[1][0] - x, seen[1][1] - y))
        return person.who if np.hypot(place[0] - x, place[1] - y) < 0.4 * place[2] else None


class Crowd:
    """A tracker of several faces watching a scene."""

    def __init__(self, choice: Choice, *people: Person, settings: TrackerSettings | None = None, noise: float = 0.0) -> None:
        self.scene = Scene(list(people), noise=noise)
        self.settings = settings or TrackerSettings()
        self.tracker = SeveralTracker(SceneDetector(self.scene), SceneLandmarker(self.scene), choice, self.settings)
        self.image: Image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)

    @classmethod
    def looking_for(cls, *who: int, people: Sequence[Person], similarity: float | None = None) -> Crowd:
        """For these people, known by a photo each."""
        made = cls(Everyone(1), *people)
        gallery = Gallery(SceneRecogniser(made.scene), [reference(each) for each in who], similarity)
        choice = People(gallery, made.settings)
        made.tracker = SeveralTracker(SceneDetector(made.scene), SceneLandmarker(made.scene), choice, made.settings)
        return made

    def step(self, t: float) -> SeveralTracked:
        self.scene.now = t
        return self.tracker.track(self.image, t)

    def until(self, end: float, start: float = 0.0, fps: float = 30.0) -> list[SeveralTracked]:
        return [self.step(start + i / fps) for i in range(round((end - start) * fps))]

    def ids(self, tracked: SeveralTracked) -> dict[int, int]:
        """Track number of everybody who is followed, by who they are at the time now."""
        return {who: chosen.face.track for chosen in tracked.faces if (who := self.at(chosen.face.box)) is not None}

    def at(self, box: Box) -> int | None:
        x, y = box.centre
        near = [(np.hypot(place[0] - x, place[1] - y) / place[2], person.who) for person, place in self.scene.visible()]
        off, who = min(near, default=(1.0, None))
        return who if off < 0.4 else None

    def raw(self, tracked: SeveralTracked) -> set[int]:
        """Who can be seen as they are: neither followed nor under a box to hide."""
        covers = [*tracked.others, *(box for lost in tracked.lost for box in lost.boxes)]
        swapped = set(self.ids(tracked))
        seen = set()
        for person, (x, y, _) in self.scene.visible():
            covered = any(box.x0 <= x < box.x1 and box.y0 <= y < box.y1 for box in covers)
            if person.who not in swapped and not covered and 0 <= x < WIDTH:
                seen.add(person.who)
        return seen
