"""Masks that any swapper can use: what of a face is to be shown, found in the frame and laid over a crop or a patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np

from realtime.models.base import Crop, Swapper
from realtime.models.swappers.around import AroundSwapper
from realtime.types import Face, Image, Patch
from realtime.vision import geometry
from realtime.vision.geometry import Transform
from realtime.vision.masks import Mask, lower


@dataclass(frozen=True, slots=True)
class View:
    """What a mask has seen. The array belongs to the mask and is overwritten by its next look."""

    shown: Mask
    """(h, w) uint8: 255 where the swap is to be shown, 0 where the frame is to stay."""
    transform: Transform
    """(2, 3) float64, from the frame's pixels to those of `shown`."""
    beyond: int
    """What holds outside of `shown`."""


class FaceMask(Protocol):
    @property
    def name(self) -> str: ...

    def look(self, frame: Image, face: Face) -> View | None:
        """What of the face is to be swapped; None: all of it. The frame is not written."""

    def reset(self) -> None:
        """Forget per-face history (the face was lost)."""

    def fork(self) -> FaceMask:
        """Another one for a second face in the same frame, with a history of its own; itself when it has none. See `Swapper.fork`."""


class MaskStep:
    """Lowers the mask of an aligned crop by a `FaceMask`; implements `Finish`."""

    def __init__(self, mask: FaceMask) -> None:
        self._mask = mask
        self._scratch = np.empty((0, 0), np.uint8)

    @property
    def name(self) -> str:
        return self._mask.name

    def finish(self, crop: Crop) -> None:
        view = self._mask.look(crop.frame, crop.face)
        if view is None:
            return
        if self._scratch.shape != crop.mask.shape:
            self._scratch = np.empty(crop.mask.shape, np.uint8)
        lay(view, geometry.invert(crop.transform), self._scratch)
        lower(crop.mask, self._scratch)

    def reset(self) -> None:
        self._mask.reset()

    def fork(self) -> MaskStep:
        return MaskStep(self._mask.fork())


class MaskedSwapper(AroundSwapper):
    """A swapper that knows nothing of masks, and masks that lower its patches; implements `Swapper`."""

    def __init__(self, swapper: Swapper, masks: Sequence[FaceMask]) -> None:
        super().__init__(swapper, masks)
        self._masks = tuple(masks)
        self._buffer = np.empty(0, np.uint8)

    def swap(self, image: Image, face: Face) -> Patch | None:
        """See `Swapper.swap`. The masks see the face even in frames without a patch: some of them follow what they see."""
        patch = self._swapper.swap(image, face)
        for mask in self._masks:
            view = mask.look(image, face)
            if view is not None and patch is not None:
                self._lower(patch, view)
        return patch

    def fork(self) -> MaskedSwapper:
        return MaskedSwapper(self._swapper.fork(), [mask.fork() for mask in self._masks])

    def _lower(self, patch: Patch, view: View) -> None:
        pixels = patch.alpha.size
        if self._buffer.size < pixels:
            self._buffer = np.empty(2 * pixels, np.uint8)
        scratch = self._buffer[:pixels].reshape(patch.alpha.shape)
        lay(view, np.array([[1, 0, patch.x], [0, 1, patch.y]], np.float64), scratch)
        lower(patch.alpha, scratch)


def lay(view: View, to_frame: Transform, out: Mask) -> None:
    """Draw what a mask has seen where `to_frame` says that the pixels of `out` lie in the frame."""
    transform = geometry.compose(view.transform, to_frame)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = (out.shape[1], out.shape[0])
    cv2.warpAffine(view.shown, transform, size, dst=out, flags=flags, borderMode=cv2.BORDER_CONSTANT, borderValue=(view.beyond,))
