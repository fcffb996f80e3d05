"""The way of every swap network: an aligned crop of the face, the network, a soft mask, and back as a patch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.errors import ModelError, NumbersError
from realtime.models.base import Crop, Finish, Identity
from realtime.models.swappers.cut import cut
from realtime.models.swappers.planar import is_lit
from realtime.models.swappers.ring import SMALLEST, PatchRing
from realtime.types import Array, Box, Face, Floats, Image, Patch, SourcePhoto
from realtime.vision import geometry
from realtime.vision.blend import paste
from realtime.vision.crops import join, put_every, soft_box, take_every, write_levels, write_pixels
from realtime.vision.geometry import Transform
from realtime.vision.planes import fill_normalised
from realtime.vision.warp import cut_out, draw_patch

FADE: Final = 0.08
"""Share of the crop's side over which the swap fades out towards it."""
INSET: Final = 0.04
"""Share of the side along which nothing is shown: networks err most at the edge of what they see. insightface erodes 0.05."""
_SPARSE: Final = 2.0
"""Crop pixels per frame pixel from which the crop is halved before it is drawn: bilinear sampling would skip over pixels."""


@dataclass(frozen=True)
class SwapIdentity:
    """A person in the form that one network takes; see `Identity`."""

    name: str
    source: Array


class CropNetwork(Protocol):
    """A swap network as the crop sees it. One thread uses it."""

    @property
    def name(self) -> str: ...

    @property
    def backend(self) -> str:
        """For reports, as of a session."""

    @property
    def size(self) -> int:
        """Side of the crop in pixels."""

    @property
    def template(self) -> Floats:
        """(5, 2): where eyes, nose tip and mouth corners lie in that crop."""

    def prepare(self, photos: Sequence[SourcePhoto]) -> Array:
        """The source in the form that the network takes. Slow. Raises UsageError when there is no photo though one is needed."""

    def use(self, source: Array) -> None:
        """Swap to what `prepare` gave."""

    def swap(self, before: Image, swapped: Image, mask: NDArray[np.uint8]) -> bool:
        """Write the swapped form of the crop `before`, both (size, size, 3) uint8 BGR; lower the mask where the network has a say.

        False when the network gave something else than a picture: numbers that are none, or only black.
        """


class Ahead(Protocol):
    """What has swapped a face already when the swapper is asked to, as part of finding it."""

    def use(self, source: Array) -> None:
        """Swap to what `CropNetwork.prepare` gave, from the next frame on."""

    def swapped(self, image: Image, transform: Transform) -> tuple[Image, Transform] | None:
        """The swapped crop (size, size, 3) uint8 BGR of this very image with its transform, frame to crop, if that is next to `transform`.

        None: the network has to run. The picture is valid until the next look at a frame.
        """


@dataclass(slots=True)
class Shared:
    """A network that the swappers of several faces take turns with; it holds one source at a time."""

    network: CropNetwork
    fallback: Callable[[], CropNetwork] | None
    source: Array | None = None
    """The one it holds."""
    sound: bool = False
    """It has given a picture."""

    def hold(self, source: Array) -> CropNetwork:
        if self.source is not source:
            self.network.use(source)
            self.source = source
        return self.network

    def fall_back(self) -> bool:
        """Go over to the higher precision; False when there is none left."""
        if self.fallback is None:
            return False
        opened, self.fallback, self.source = self.fallback, None, None
        self.network = opened()
        return True


class AlignedSwapper:
    """Swaps with a network; implements `Swapper`. Not thread-safe: one thread fits, uses and swaps.

    `fallback` gives the same network at a higher precision; it is asked for once, when the first one gives no picture.
    """

    def __init__(
        self, network: CropNetwork, finishes: Sequence[Finish] = (), fallback: Callable[[], CropNetwork] | None = None, fade: float = FADE
    ) -> None:
        self._set_up(Shared(network, fallback), tuple(finishes), fade)

    def _set_up(self, shared: Shared, finishes: tuple[Finish, ...], fade: float) -> None:
        network = shared.network
        self._shared, self._finishes, self._fade = shared, finishes, fade
        self._template = network.template
        size = network.size
        self._before, self._swapped = np.empty((size, size, 3), np.uint8), np.empty((size, size, 3), np.uint8)
        self._box, self._mask = soft_box(size, fade, INSET), np.empty((size, size), np.uint8)
        self._ring = PatchRing()
        self._source: Array | None = None
        self._ahead: Ahead | None = None

    @property
    def name(self) -> str:
        return self._shared.network.name

    @property
    def backend(self) -> str:
        return self._shared.network.backend

    @property
    def passes(self) -> int:
        """Across and down: 1 unless the crop is larger than what the network takes."""
        return int(getattr(self._shared.network, "passes", 1))

    def warm_up(self) -> None:
        """Compile or load every kernel, so that the first frame is not late: seconds the first time ever. Does not run the network."""
        image, tally = np.zeros((2, 2, 3), np.uint8), np.zeros(2, np.int64)
        planes, levels = np.zeros((3, 2, 2), np.float32), np.zeros(3, np.float32)
        fill_normalised(image, planes, levels, levels, True)
        write_levels(planes, levels, levels, image, tally)
        take_every(image, 1, 0, 0, image)
        put_every(image, 1, 0, 0, image)
        write_pixels(np.zeros((2, 2, 3), np.float32), image, tally)
        joined, alpha = np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2), np.uint8)
        join(image, alpha, 0, 0, joined)
        draw_patch(joined, np.eye(2, 3), image, alpha)
        cut_out(image, np.eye(2, 3), image.copy())
        paste(image, 0, 0, image, alpha)

    def fit(self, photos: Sequence[SourcePhoto]) -> SwapIdentity:
        return SwapIdentity(photos[0].name if photos else self.name, self._shared.network.prepare(photos))

    def use(self, identity: Identity) -> None:
        """Raises TypeError for an identity that another swapper has fitted."""
        if not isinstance(identity, SwapIdentity):
            raise TypeError(f"expected a SwapIdentity, got {type(identity).__name__}")
        self._source = identity.source
        self._shared.hold(identity.source)
        if self._ahead is not None:
            self._ahead.use(identity.source)
        self.reset()

    def reset(self) -> None:
        for step in self._finishes:
            step.reset()

    def take_from(self, ahead: Ahead) -> None:
        """Run the network only where `ahead` has not done so; from now on, for this swapper but not for its forks."""
        self._ahead = ahead

    def fork(self) -> AlignedSwapper:
        """See `Swapper.fork`."""
        other = object.__new__(type(self))
        other._set_up(self._shared, tuple(step.fork() for step in self._finishes), self._fade)
        return other

    def swap(self, image: Image, face: Face) -> Patch | None:
        """See `Swapper.swap`. Raises ModelError when the network gives no picture at its highest precision either, NumbersError when it
        gave one before.
        """
        if self._source is None:
            raise RuntimeError("no identity is in use: call use() with a fitted identity first")
        transform = geometry.similarity(geometry.alignment_points(face), self._template)
        taken = self._taken(image, transform)
        transform = self._made(image, transform) if taken is None else taken
        made = Crop(image, face, transform, self._before, self._swapped, self._mask)
        for step in self._finishes:
            step.finish(made)
        return to_patch(made, self._ring)

    def _made(self, image: Image, transform: Transform) -> Transform:
        cut(image, transform, self._before)
        self._run()
        return transform

    def _taken(self, image: Image, transform: Transform) -> Transform | None:
        """The transform of a crop that was swapped ahead; None when there is none, or when it is black: then never again."""
        ready = self._ahead.swapped(image, transform) if self._ahead is not None else None
        if ready is None:
            return None
        picture, transform = ready
        cut(image, transform, self._before)
        if not is_lit(float(picture.mean()), self._before):
            self._ahead = None
            return None
        np.copyto(self._swapped, picture)
        np.copyto(self._mask, self._box)
        return transform

    def _run(self) -> None:
        np.copyto(self._mask, self._box)
        if self._shared.hold(cast(Array, self._source)).swap(self._before, self._swapped, self._mask):
            self._shared.sound = True
            return
        if self._shared.fall_back():
            self._run()
            return
        what = f"{self.name} gives no picture but numbers that are none, or only black"
        if self._shared.sound:
            raise NumbersError(f"{what}: start again, and get its file anew if that comes again")
        raise ModelError(f"{what}: its file is damaged, get it anew")


def to_patch(made: Crop, ring: PatchRing) -> Patch | None:
    """The crop turned back into the frame: the rectangle in which its mask shows anything. None when too little of that is in the frame.

    Of a mask that shows nothing the patch is empty: whoever shows patches tells that from a face that is too small.
    """
    left, top, width, height = cv2.boundingRect(made.mask)
    if not width:
        return _empty(ring)
    box = geometry.moved(Box(left, top, left + width, top + height), geometry.invert(made.transform))
    rows, columns = made.frame.shape[:2]
    x0, y0 = max(int(box.x0), 0), max(int(box.y0), 0)
    x1, y1 = min(int(box.x1) + 2, columns), min(int(box.y1) + 2, rows)
    if x1 - x0 < SMALLEST or y1 - y0 < SMALLEST:
        return None
    patch = ring.take(x0, y0, x1 - x0, y1 - y0)
    window = Box(left, top, left + width, top + height)
    picture, back = _shown(made, window, geometry.compose(made.transform, np.array([[1, 0, x0], [0, 1, y0]], np.float64)), ring)
    draw_patch(picture, back, patch.colour, patch.alpha)
    return patch


def _shown(made: Crop, window: Box, back: Transform, ring: PatchRing) -> tuple[Any, Transform]:
    """Colour and mask of the part of the crop that is shown, with a border of nothing, and `back`, from patch to crop, as it leads there.

    Smaller by whole numbers where the frame is coarser than the crop.
    """
    less = 1
    while geometry.scale_of(back) / less >= _SPARSE and min(made.mask.shape) > less * SMALLEST:
        less *= 2
    x, y = int(window.x0) - less, int(window.y0) - less
    columns, rows = (-(-int(side) // less) + 2 for side in (window.width, window.height))
    picture = ring.room("crop", (rows * less, columns * less))
    join(made.swapped, made.mask, x, y, picture)
    if less > 1:
        small = ring.room("small", (rows, columns))
        picture = cast(Any, cv2.resize(picture, (columns, rows), dst=small, interpolation=cv2.INTER_AREA))
    there = np.array([[1 / less, 0, (0.5 - x) / less - 0.5], [0, 1 / less, (0.5 - y) / less - 0.5]])
    return picture, np.ascontiguousarray(geometry.compose(there, back))


def _empty(ring: PatchRing) -> Patch:
    patch = ring.take(0, 0, 1, 1)
    patch.colour.fill(0)
    patch.alpha.fill(0)
    return patch
