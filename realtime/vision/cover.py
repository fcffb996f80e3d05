"""Hiding some faces in a picture beside others that are swapped."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from realtime.compiled import compiled, prepare
from realtime.types import Array, Box, Image, Patch
from realtime.vision.draw import hide
from realtime.vision.geometry import overlap

_SHOWN = 128
"""Alpha from which a pixel of a patch belongs to the swapped face."""


def warm_up() -> None:
    """Compile or load what is here, so that the first frame is not late."""
    prepare(reaches)


def hide_beside(image: Image, boxes: Sequence[Box], patches: Sequence[Patch]) -> None:
    """Hide the boxes, in place, all but what lies inside the outline of the patches, which will be laid over.

    A patch is open at the eyes and the mouth, where the live ones are to be seen, and in front of whoever is hidden. The rectangles of
    patches that a box reaches into are copied.
    """
    spared = [_spared(image, patch) for patch in patches if any(overlap(patch.box, box) > 0 for box in boxes)]
    for box in boxes:
        hide(image, box)
    for target, kept, inside in spared:
        np.copyto(target, kept, where=inside)


def _spared(image: Image, patch: Patch) -> tuple[Image, Image, Array]:
    """The patch's rectangle in the image, a copy of it, and (h, w, 1) where it lies inside the outline."""
    height, width = patch.alpha.shape
    target = image[patch.y : patch.y + height, patch.x : patch.x + width]
    inside = np.zeros((height, width), np.uint8)
    shown = cv2.findNonZero((patch.alpha >= _SHOWN).astype(np.uint8))
    if shown is not None:
        cv2.fillConvexPoly(inside, cv2.convexHull(shown), 1)
    kept = inside[: target.shape[0], : target.shape[1], None].astype(bool)
    return target, target.copy(), kept


@compiled("b1(u1[:,:], u1, f8)")
def reaches(alpha: Array, level: int, count: float) -> bool:
    """Whether `count` values of alpha (h, w) uint8 are at least `level`; looks no further than it must to find that they are."""
    found = 0
    for y in range(alpha.shape[0]):
        for x in range(alpha.shape[1]):
            found += alpha[y, x] >= level
        if found >= count:
            return True
    return False
