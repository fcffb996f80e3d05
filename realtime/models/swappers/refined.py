"""A swapper whose crops are aligned by a landmark network of its own instead of the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from realtime.models.base import Identity, Swapper
from realtime.models.swappers.around import AroundSwapper
from realtime.types import Face, Floats, Image, Patch, SourcePhoto


class FivePoints(Protocol):
    def five(self, image: Image, mesh: Floats) -> Floats:
        """Eyes, nose tip and mouth corners (5, 2) of the face with this mesh."""


class RefinedSwapper(AroundSwapper):
    """Hands faces and photos on with `refined` points. Implements `Swapper`; its thread is that of the landmark network too."""

    def __init__(self, swapper: Swapper, points: FivePoints) -> None:
        super().__init__(swapper)
        self._points = points

    def fit(self, photos: Sequence[SourcePhoto]) -> Identity:
        return self._swapper.fit([replace(each, refined=self._points.five(each.image, each.landmarks.points)) for each in photos])

    def swap(self, image: Image, face: Face) -> Patch | None:
        return self._swapper.swap(image, replace(face, refined=self._points.five(image, face.landmarks.points)))

    def fork(self) -> RefinedSwapper:
        return RefinedSwapper(self._swapper.fork(), self._points)
