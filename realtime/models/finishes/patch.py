"""The steps of swap networks for swappers that know nothing of crops, such as the mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from realtime.models.base import Crop, Finish, Swapper
from realtime.models.swappers.aligned import to_patch
from realtime.models.swappers.around import AroundSwapper
from realtime.models.swappers.ring import PatchRing
from realtime.types import Array, Face, Image, Patch
from realtime.vision import geometry
from realtime.vision.align import FFHQ_512, crop

_SIZE = 512


class FinishedSwapper(AroundSwapper):
    """A swapper whose patch is taken into an aligned crop of 512 pixels, finished there and put back; implements `Swapper`.

    That samples the patch twice, so it is done only while one of the steps does something, which `worth` says.
    """

    def __init__(self, swapper: Swapper, finishes: Sequence[Finish], worth: Callable[[], bool] = lambda: True) -> None:
        super().__init__(swapper, finishes)
        self._finishes, self._worth = tuple(finishes), worth
        self._template = FFHQ_512 * np.float32(_SIZE / 512)
        self._before, self._swapped = (np.empty((_SIZE, _SIZE, 3), np.uint8) for _ in range(2))
        self._mask = np.empty((_SIZE, _SIZE), np.uint8)
        self._ring = PatchRing()

    def swap(self, image: Image, face: Face) -> Patch | None:
        patch = self._swapper.swap(image, face)
        if patch is None or not self._worth():
            return patch
        transform = geometry.similarity(geometry.five_points(face.landmarks.points), self._template)
        crop(image, transform, _SIZE, out=self._before)
        back = geometry.invert(transform) - np.array([[0, 0, patch.x], [0, 0, patch.y]])
        _draw(patch.colour, back, self._swapped, cv2.BORDER_REPLICATE)
        _draw(patch.alpha, back, self._mask, cv2.BORDER_CONSTANT)
        made = Crop(image, face, transform, self._before, self._swapped, self._mask)
        for step in self._finishes:
            step.finish(made)
        return to_patch(made, self._ring)

    def fork(self) -> FinishedSwapper:
        return FinishedSwapper(self._swapper.fork(), [step.fork() for step in self._finishes], self._worth)


def _draw(picture: Array, matrix: Array, out: Array, border: int) -> None:
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    cv2.warpAffine(picture, matrix, (out.shape[1], out.shape[0]), dst=out, flags=flags, borderMode=border)
