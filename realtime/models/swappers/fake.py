"""A swapper for tests and for trying the pipeline without models: paints the face's region over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from realtime.models.base import Identity
from realtime.types import Face, Image, Patch, SourcePhoto


@dataclass(frozen=True)
class FakeIdentity:
    """A colour with a name; see `Identity`."""

    name: str
    colour: tuple[int, int, int]


class FakeSwapper:
    """Covers the face's box with an ellipse of one colour; implements `Swapper`."""

    def __init__(self, colour: tuple[int, int, int] = (0, 160, 0)) -> None:
        self._identity = FakeIdentity("fake", colour)
        self._ready = False
        self.swaps = 0
        """How often `swap` was called."""
        self.resets = 0
        """How often `reset` was called."""

    @property
    def name(self) -> str:
        return "fake"

    def fit(self, photos: Sequence[SourcePhoto]) -> FakeIdentity:
        """The colour stays the constructor's; only the name is taken from the first photo."""
        return FakeIdentity(photos[0].name if photos else "fake", self._identity.colour)

    def use(self, identity: Identity) -> None:
        if not isinstance(identity, FakeIdentity):
            raise TypeError(f"expected a FakeIdentity, got {type(identity).__name__}")
        self._identity, self._ready = identity, True

    def swap(self, image: Image, face: Face) -> Patch | None:
        """See `Swapper.swap`; the arrays are new each time."""
        if not self._ready:
            raise RuntimeError("no identity is in use: call use() with a fitted identity first")
        self.swaps += 1
        height, width = image.shape[:2]
        x0, y0 = max(int(face.box.x0), 0), max(int(face.box.y0), 0)
        x1, y1 = min(int(face.box.x1), width), min(int(face.box.y1), height)
        if x1 - x0 < 2 or y1 - y0 < 2:
            return None
        colour = np.empty((y1 - y0, x1 - x0, 3), np.uint8)
        colour[:] = self._identity.colour
        alpha = np.zeros((y1 - y0, x1 - x0), np.uint8)
        centre = ((x1 - x0) // 2, (y1 - y0) // 2)
        cv2.ellipse(alpha, centre, centre, 0, 0, 360, 255, cv2.FILLED)
        return Patch(x0, y0, colour, alpha)

    def reset(self) -> None:
        self.resets += 1

    def fork(self) -> FakeSwapper:
        return FakeSwapper(self._identity.colour)
