"""RetinaFace: a face detector with five points (Deng et al., "RetinaFace: single-shot multi-level face localisation in the wild", 2020),
as trained by biubug6/Pytorch_Retinaface with MobileNet 0.25 and ResNet-50, and in facexlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from realtime.backends.base import Session, SessionSpecs
from realtime.errors import ModelError
from realtime.models.detectors.finder import grids
from realtime.models.detectors.letterbox import Pixels
from realtime.models.detectors.rows import cells, rows
from realtime.models.tensors import described, sound
from realtime.types import Array, Floats

STRIDES = (8, 16, 32)
SIZES = ((16, 32), (64, 128), (256, 512))
"""Sides in pixels of the two prior boxes in each cell of each grid, and `_CENTRE`, `_SIZE` the variances: its `data/config.py`."""
_CENTRE, _SIZE = np.float32(0.1), np.float32(0.2)
_WIDTHS = (4, 2, 10)
"""Boxes, probabilities of nothing and of a face, points."""


class RetinaFaceDecoder:
    """Reads one list of boxes, probabilities and points for all priors; which output is which is told by width.

    An export without the closing softmax is noticed, and the softmax applied here. Raises ModelError for a network of another shape.
    """

    name = "retinaface"
    pixels = Pixels((104.0, 117.0, 123.0), 1.0, rgb=False)
    same_face = 0.4
    misses_large = True

    def __init__(self, session: Session) -> None:
        self._priors = priors(grids(session, STRIDES))
        wanted = {width: (len(self._priors), width) for width in _WIDTHS}
        named = {output.shape[-1]: output.name for output in session.specs.outputs if output.shape[-2:] == wanted.get(output.shape[-1])}
        if len(named) != len(_WIDTHS):
            got = described(session.specs)
            raise ModelError(f"RetinaFace gives 4, 2 and 10 numbers for each of {len(self._priors)} priors, this network: {got}")
        self._outputs = [named[width] for width in _WIDTHS]

    @staticmethod
    def fits(specs: SessionSpecs) -> bool:
        return sorted(output.shape[-1:] for output in specs.outputs) == sorted((width,) for width in _WIDTHS)

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        boxes, both, points = (outputs[name][0] for name in self._outputs)
        faces = _probability(sound(both, "RetinaFace"))
        keep = np.flatnonzero(faces >= score)
        prior, size = self._priors[keep, :2], self._priors[keep, 2:]
        centre = prior + boxes[keep, :2] * _CENTRE * size
        with np.errstate(over="ignore"):  # an infinite box is dropped with whatever else is not a number
            half = np.exp(boxes[keep, 2:] * _SIZE) * size / 2
        moved = np.tile(prior, 5) + points[keep] * _CENTRE * size
        return rows(centre - half, centre + half, faces[keep], moved)


def priors(shapes: Sequence[tuple[int, int]]) -> Floats:
    """(n, 3) float32: centre x, y and side in pixels of every prior box; cell by cell, the smaller of a cell's two first."""
    parts = []
    for grid, stride, sizes in zip(shapes, STRIDES, SIZES, strict=True):
        centres = np.repeat((cells(grid) + np.float32(0.5)) * np.float32(stride), len(sizes), axis=0)
        parts.append(np.column_stack([centres, np.tile(np.array(sizes, np.float32), grid[0] * grid[1])]))
    return np.concatenate(parts)


def _probability(both: Array) -> Array:
    """Of a face (n,), from the two probabilities or the two logits (n, 2)."""
    if abs(float(both[0].sum()) - 1) < 0.01 and abs(float(both[-1].sum()) - 1) < 0.01:
        return both[:, 1]
    return np.asarray(1 / (1 + np.exp(np.clip(both[:, 0] - both[:, 1], -80, 80))))
