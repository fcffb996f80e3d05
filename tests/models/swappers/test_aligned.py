"""A network shared by the swappers of several faces in one frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realtime.models.base import Crop, Finish
from realtime.models.swappers.aligned import AlignedSwapper, SwapIdentity
from realtime.types import Array, Floats, Image, SourcePhoto
from realtime.vision.align import ARCFACE_112
from tests.models.swappers import scene


class Flat:
    """Paints the crop in the source's colour; `black`: gives nothing usable."""

    name, size = "flat", 64
    template: Floats = np.asarray(ARCFACE_112 * 64 / 112, np.float32)

    def __init__(self, black: bool = False) -> None:
        self.black, self.uses = black, 0
        self._colour: Array = np.zeros(3)

    def prepare(self, photos: Sequence[SourcePhoto]) -> Array:
        return np.array([10 * len(photos)] * 3)

    def use(self, source: Array) -> None:
        self._colour, self.uses = source, self.uses + 1

    def swap(self, before: Image, swapped: Image, mask: NDArray[np.uint8]) -> bool:
        swapped[:] = self._colour
        mask[0] = 0
        return not self.black


class Counting:
    """A finish with a history: how many faces it has seen."""

    name = "counting"

    def __init__(self) -> None:
        self.seen = 0

    def finish(self, crop: Crop) -> None:
        self.seen += 1
        crop.swapped[..., 0] = self.seen

    def reset(self) -> None:
        self.seen = 0

    def fork(self) -> Finish:
        return Counting()


RED, BLUE = SwapIdentity("red", np.array([0, 0, 200])), SwapIdentity("blue", np.array([200, 0, 0]))


def centre(swapper: AlignedSwapper) -> list[int]:
    image, points = scene.picture("p006_studio")
    patch = swapper.swap(image, scene.face(points))
    assert patch is not None
    height, width = patch.alpha.shape
    return [int(value) for value in patch.colour[height // 2, width // 2]]


def test_two_faces_take_turns_with_two_people():
    network = Flat()
    first = AlignedSwapper(network)
    second = first.fork()
    first.use(RED)
    second.use(BLUE)
    for _ in range(3):
        assert centre(first) == [0, 0, 200]
        assert centre(second) == [200, 0, 0]


def test_one_person_on_two_faces_is_handed_to_the_network_once():
    network = Flat()
    first = AlignedSwapper(network)
    second = first.fork()
    first.use(RED)
    second.use(RED)
    for _ in range(3):
        centre(first), centre(second)
    assert network.uses == 1


def test_each_face_has_a_history_of_its_own():
    first = AlignedSwapper(Flat(), [Counting()])
    second = first.fork()
    first.use(RED)
    second.use(RED)
    assert [centre(first)[0], centre(first)[0], centre(second)[0]] == [1, 2, 1]


def test_what_one_face_fell_back_to_is_everyones():
    better, opened = Flat(), []

    def fallback() -> Flat:
        opened.append(better)
        return better

    first = AlignedSwapper(Flat(black=True), fallback=fallback)
    second = first.fork()
    first.use(RED)
    second.use(BLUE)
    assert centre(first) == [0, 0, 200] and centre(second) == [200, 0, 0]
    assert len(opened) == 1
