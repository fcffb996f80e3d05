"""The roles a model can play. Each is a small interface; a model is preprocessing + `Session.run` + decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from realtime.types import Detection, Face, Floats, Image, Landmarks, Patch, Region, SourcePhoto
from realtime.vision.geometry import Transform


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
        """The patch that turns the face into the identity's, or None when it is too small, outside the frame or turned too far.

        The image is not written. Raises RuntimeError when no identity is in use.
        """

    def reset(self) -> None:
        """Forget per-face history (the face was lost)."""

    def fork(self) -> Swapper:
        """Another one for a second face in the same frame: with a history and patches of its own, no identity in use yet.

        Networks and what else is heavy are shared, so the two belong to one thread. Cheap (milliseconds): called between two frames.
        """


@dataclass(slots=True)
class Crop:
    """An aligned face and what a swap network made of it, on its way to a patch. Its arrays are used again for the next frame."""

    frame: Image
    """The picture it was taken from; not to be written."""
    face: Face
    transform: Transform
    """(2, 3) float64, from frame to crop pixels."""
    before: Image
    """(s, s, 3) uint8 BGR: the frame's own pixels, black where the crop reaches beyond it; not to be written."""
    swapped: Image
    """(s, s, 3) uint8 BGR: what the network made of them."""
    mask: NDArray[np.uint8]
    """(s, s) uint8: how far `swapped` is shown; 0 along the sides."""


class Finish(Protocol):
    """A step between the swap network and the patch: a mask, a colour match, sharpening, a restoring network.

    Steps run in order, each on what the one before left.
    """

    @property
    def name(self) -> str: ...

    def finish(self, crop: Crop) -> None:
        """Change `crop.swapped` and lower `crop.mask`, in place.

        A step that works at another size puts arrays of its own in place of `before`, `swapped` and `mask`, all of that size, with the
        `transform` that belongs to them; those stay valid until its next call.
        """

    def reset(self) -> None:
        """Forget per-face history (the face was lost)."""

    def fork(self) -> Finish:
        """Another one for a second face in the same frame, with a history of its own; itself when it has none. See `Swapper.fork`."""
