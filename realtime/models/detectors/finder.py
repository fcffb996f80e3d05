"""What all face detectors share: fit the picture in, run, decode, suppress, and back to the picture's pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.detectors.letterbox import Letterbox, Pixels, Size, scale_to
from realtime.models.detectors.rows import best, detection, merged, suppress
from realtime.models.tensors import described
from realtime.types import Array, Detection, Floats, Image

LARGEST = 256
"""Pixels of the input that a face may measure before a smaller look at it is tried first: 40% of the usual 640, above which SCRFD, whose
anchors end there, begins to miss faces. One for all: a large face needs no fine look."""
_SHAPES = 8
"""Of pictures that one finder is given: frames, and crops of the face."""
SMALLER = (0.5, 0.25)
"""Shares of the full input size to look at a picture with as well."""


class Decoder(Protocol):
    """How one kind of network is fed and read. Made for one input size."""

    @property
    def name(self) -> str: ...

    @property
    def pixels(self) -> Pixels: ...

    @property
    def same_face(self) -> float:
        """Overlap from which two boxes are one face."""

    @property
    def misses_large(self) -> bool:
        """Whether faces that fill much of the input are missed though nothing else is wrong with them."""

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        """Rows (see `rows`) of all candidates with at least this score, in any order. Raises ModelError when scores are not numbers."""


class _View:
    """One network as it is used at one size: all of its input, or the top left part of it."""

    def __init__(self, session: Session, box: Letterbox, decoder: Decoder, size: Size) -> None:
        self.session, self.box, self.decoder, self.size = session, box, decoder, size

    def span(self, image: Image) -> float:
        """Pixels that the longer side of the image takes of the input."""
        return scale_to(image, self.size) * float(max(image.shape[:2]))

    def look(self, image: Image, score: float) -> list[Detection]:
        scale = self.box.fill(image, self.size)
        candidates = best(self.decoder.decode(self.session.run(), score))
        return [detection(row, scale) for row in suppress(candidates, self.decoder.same_face)]


class FaceFinder:
    """Finds faces from about 10 pixels of the network's input, to which the picture is fitted.

    `networks`: sessions of one network at different input sizes, with their decoders; the smaller ones save time where a face is large.
    `score`: 0..1, below it a face is not reported. `min_face`: shorter box side in image pixels below which a face is not reported.
    Networks that miss large faces look twice, at full and at half scale, and what both found is put together: else a face in the background
    would be taken for the only one. Where they found nothing they look at a quarter. `thorough`: every network looks at all three, until it
    finds something. `adaptive`: begin with a smaller look, and with that only, where the last picture of the same size showed a large face,
    and look no finer than the picture is; for one stream.
    """

    def __init__(
        self,
        networks: Sequence[tuple[Session, Decoder]],
        *,
        score: float = 0.6,
        min_face: float = 0.0,
        thorough: bool = False,
        adaptive: bool = False,
    ) -> None:
        misses = networks[0][1].misses_large
        self._views = _views(networks, SMALLER if thorough or misses else ())
        self._together = (len(self._views) if thorough else 2) if misses else 1
        self._score, self._min_face, self._adaptive = score, min_face, adaptive
        self._shares: dict[tuple[int, ...], float] = {}
        """Of pictures of this shape: what the largest face in the last one took of its longer side."""

    @property
    def name(self) -> str:
        return self._views[0].decoder.name

    @property
    def backend(self) -> str:
        return self._views[0].session.backend

    def detect(self, image: Image) -> list[Detection]:
        """See `models.base.Detector`. Raises ModelError when the network gives something else than numbers."""
        found: list[Detection] = []
        for views in self._plan(image):
            found = merged([face for view in views for face in view.look(image, self._score)], views[0].decoder.same_face)
            if found:
                break
        self._remember(image, found)
        return [face for face in found if min(face.box.width, face.box.height) >= self._min_face]

    def _remember(self, image: Image, found: Sequence[Detection]) -> None:
        if len(self._shares) >= _SHAPES:
            self._shares.clear()
        self._shares[image.shape] = max((max(face.box.width, face.box.height) for face in found), default=0.0) / max(image.shape[:2])

    def _plan(self, image: Image) -> list[list[_View]]:
        """The looks to take until a face is found, those of a group together: the likeliest, the smaller ones, then the larger ones."""
        views, first = self._views, 0
        if self._adaptive:
            enough = sum(view.span(image) >= max(image.shape[:2]) for view in views)
            views = views[max(enough - 1, 0) :]
            share = self._shares.get(image.shape, 0.0)
            first = min(sum(share * view.span(image) > LARGEST for view in views), len(views) - 1)
        after = first + (self._together if first == 0 else 1)
        return [views[first:after], *([view] for view in views[after:]), *([view] for view in views[:first][::-1])]


def _views(networks: Sequence[tuple[Session, Decoder]], shares: Sequence[float]) -> list[_View]:
    """All looks, the largest first, each with the smallest network that is large enough for it."""
    boxes = [(session, Letterbox(_planes(session), decoder.pixels), decoder) for session, decoder in networks]
    boxes.sort(key=lambda each: each[1].size, reverse=True)
    height, width = boxes[0][1].size
    sizes = {box.size for _, box, _ in boxes} | {(round(height * share), round(width * share)) for share in shares}
    holding = {size: [each for each in boxes if all(np.greater_equal(each[1].size, size))] for size in sizes}
    return [_View(*holding[size][-1], size) for size in sorted(sizes, reverse=True)]


def _planes(session: Session) -> Floats:
    planes: Floats = session.inputs[session.specs.inputs[0].name][0]
    return planes


def grids(session: Session, strides: Sequence[int]) -> list[tuple[int, int]]:
    """Rows and columns of the grid of each stride. Raises ModelError when the input is no one picture of floats that the grids fill."""
    specs = session.specs.inputs
    shape, coarsest = specs[0].shape, strides[-1]
    if len(specs) != 1 or len(shape) != 4 or shape[:2] != (1, 3) or specs[0].dtype != np.float32:
        raise ModelError(f"a face detector takes one picture: expected (1, 3, height, width) of floats, got {described(session.specs)}")
    if shape[2] % coarsest or shape[3] % coarsest or not shape[2] * shape[3]:
        sides = f"height and width a multiple of {coarsest} pixels, which its coarsest grid needs"
        raise ModelError(f"a face detector takes a picture with {sides}, got {shape[2]} x {shape[3]}: export it at such a size")
    return [(shape[2] // stride, shape[3] // stride) for stride in strides]
