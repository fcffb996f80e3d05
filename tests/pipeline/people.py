"""Small stand-ins for tracker and swapper, driven by a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from realtime.models.base import Identity
from realtime.types import Box, Face, Frame, Image, Landmarks, Patch, SourcePhoto

Step = TypeVar("Step")
SIZE = (96, 64)
"""Width and height of the test pictures."""
FACE = Box(40, 20, 60, 44)
BESIDE = Box(4, 6, 14, 18)
RAW = (0, 255, 0)
"""The raw face: pure green, which no swapped, hidden or placeholder picture contains."""
SWAPPED = (200, 30, 180)


def picture() -> Image:
    """A grey room with a pure green face."""
    image = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
    image[int(FACE.y0) : int(FACE.y1), int(FACE.x0) : int(FACE.x1)] = RAW
    return image


def crowd() -> Image:
    """The same with a second face, at `BESIDE`."""
    image = picture()
    image[int(BESIDE.y0) : int(BESIDE.y1), int(BESIDE.x0) : int(BESIDE.x1)] = RAW
    return image


def frame(seq: int = 0, at: float | None = None) -> Frame:
    return Frame(seq, seq / 30 if at is None else at, picture())


def shows_raw_face(image: Image) -> bool:
    """Whether any pixel still has the raw face's colour, nearly: blending must not let it shine through."""
    blue, green, red = (image[..., channel].astype(int) for channel in range(3))
    return bool(((green > 170) & (blue < 90) & (red < 90)).any())


def face(track: int = 1, box: Box = FACE) -> Face:
    points = np.zeros((468, 3), np.float32)
    points[:, 0] = np.linspace(box.x0, box.x1, 468)
    points[:, 1] = np.linspace(box.y0, box.y1, 468)
    return Face(Landmarks(points, 0.99), box, track)


@dataclass(frozen=True)
class Told:
    """A scripted tracking result."""

    face: Face | None
    reason: str = ""
    last_box: Box | None = None
    times: dict[str, float] = field(default_factory=dict)
    hidden: tuple[Box, ...] = ()
    closed: bool = False
    anywhere: bool = False


@dataclass(frozen=True)
class Chosen:
    """A face to be swapped, see `SeveralTracked`."""

    face: Face
    person: int | None = None


@dataclass(frozen=True)
class Gone:
    """A face that was lost."""

    boxes: tuple[Box, ...]
    since: float


@dataclass(frozen=True)
class Seen:
    """A scripted result of a tracker of several faces."""

    faces: tuple[Chosen, ...] = ()
    lost: tuple[Gone, ...] = ()
    others: tuple[Box, ...] = ()
    reason: str = ""
    times: dict[str, float] = field(default_factory=dict)
    anywhere: bool = False


class _Script(Generic[Step]):
    """Gives one step a frame, the last for ever; an exception in the script is raised."""

    def __init__(self, steps: Iterable[Step | Exception]) -> None:
        self._steps = list(steps)
        self._next = 0

    def step(self) -> Step:
        step = self._steps[min(self._next, len(self._steps) - 1)]
        self._next += 1
        if isinstance(step, Exception):
            raise step
        return step


class ScriptedCrowd(_Script[Seen]):
    """A tracker of several faces by script."""

    def track(self, image: Image, at: float) -> Seen:
        return self.step()


class ScriptedTracker(_Script["Face | Told | None"]):
    """A tracker of one face by script."""

    def track(self, image: Image, at: float) -> Told:
        step = self.step()
        return step if isinstance(step, Told) else Told(step, "scripted")


@dataclass(frozen=True)
class Person:
    name: str


class PaintingSwapper:
    """Covers the face's box, with a little margin, in one colour; `on_swap` may raise or return None first."""

    name = "painting"

    def __init__(self, on_swap: Callable[[], object] = lambda: True) -> None:
        self._on_swap = on_swap
        self.used: list[str] = []
        self.resets = 0
        self.forks: list[PaintingSwapper] = []

    def fit(self, photos: Sequence[SourcePhoto]) -> Identity:
        return Person(photos[0].name)

    def use(self, identity: Identity) -> None:
        self.used.append(identity.name)

    def swap(self, image: Image, face: Face) -> Patch | None:
        if self._on_swap() is None:
            return None
        height, width = int(face.box.height), int(face.box.width)
        colour = np.full((height, width, 3), SWAPPED, np.uint8)
        return Patch(int(face.box.x0), int(face.box.y0), colour, np.full((height, width), 255, np.uint8))

    def reset(self) -> None:
        self.resets += 1

    def fork(self) -> PaintingSwapper:
        self.forks.append(PaintingSwapper(self._on_swap))
        return self.forks[-1]
