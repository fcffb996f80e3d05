"""The roles a model can play. Each is a small interface; a model is preprocessing + `Session.run` + decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from realtime.types import Detection, Face, Floats, Image, Landmarks, Patch, Region, SourcePhoto


class Detector(Protocol):
    @property
    def name(self) -> str: ...

    def detect(self, image: Image) -> list[Detection]:
        """Every face in the image, the best score first; boxes may reach beyond the border."""


class Landmarker(Protocol):
    @property
    def name(self) -> str: ...

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        """The face mesh inside one square crop of the image. The points are the caller's own."""


class Recogniser(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def same_person(self) -> float:
        """Cosine from which two embeddings count as one person."""

    def embed(self, image: Image, points: Floats) -> Floats:
        """L2-normalised embedding (d,) float32 of the face with these five points, (5, 2) float32 as in `Detection`."""


class Identity(Protocol):
    """A source fitted by a swapper: opaque to everyone else, made once, shared by all frames."""

    @property
    def name(self) -> str: ...


class Swapper(Protocol):
    @property
    def name(self) -> str: ...

    def fit(self, photos: Sequence[SourcePhoto]) -> Identity:
        """Prepare a source from one or several photos of the same person. Slow (tenths of a second), called outside the frame path."""

    def use(self, identity: Identity) -> None:
        """Swap to this identity from the next frame on. Cheap; called from the infer thread."""

    def swap(self, image: Image, face: Face) -> Patch | None:
        """The patch that turns the face into the identity's, or None when the face is too small or lies outside the frame.

        The image is not written. Raises RuntimeError when no identity is in use.
        """

    def reset(self) -> None:
        """Forget per-face history (the face was lost)."""
