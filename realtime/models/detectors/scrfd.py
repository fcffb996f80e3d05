"""SCRFD: a face detector with five points in several sizes (Guo et al., "Sample and computation redistribution for efficient face
detection", 2021): insightface's det_500m, det_2.5g (or scrfd_2.5g_bnkps) and det_10g (also known as retinaface_10g)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from realtime.backends.base import Session, SessionSpecs
from realtime.errors import ModelError
from realtime.models.detectors.finder import grids
from realtime.models.detectors.letterbox import Pixels
from realtime.models.detectors.rows import cells, rows
from realtime.models.tensors import described, sound
from realtime.types import Array, Floats

STRIDES = (8, 16, 32)
ANCHORS = 2
"""For each cell, one after the other."""
_WIDTHS = (1, 4, 10)
"""Scores, distances to the box's sides, offsets of the points."""


class ScrfdDecoder:
    """Reads scores, boxes and points of three grids; outputs are told apart by their sizes, because each export names them otherwise.

    After insightface `model_zoo/scrfd.py`. Raises ModelError for a network of another shape, among them those without points.
    """

    name = "scrfd"
    pixels = Pixels((127.5, 127.5, 127.5), 128.0, rgb=True)
    same_face = 0.4
    misses_large = True

    def __init__(self, session: Session) -> None:
        shapes = grids(session, STRIDES)
        counts = {ANCHORS * rows * columns: stride for (rows, columns), stride in zip(shapes, STRIDES, strict=True)}
        self._outputs: dict[tuple[int, int], str] = {}
        for output in session.specs.outputs:
            width = output.shape[-1]
            count = int(np.prod(output.shape)) // max(width, 1)
            if count in counts and width in _WIDTHS:
                self._outputs[counts[count], width] = output.name
        if len(self._outputs) != len(STRIDES) * len(_WIDTHS):
            got = described(session.specs)
            raise ModelError(f"SCRFD gives scores, boxes and points of {ANCHORS} anchors for each of three grids, this network: {got}")
        self._centres = {
            stride: np.repeat(cells(grid) * np.float32(stride), ANCHORS, axis=0) for grid, stride in zip(shapes, STRIDES, strict=True)
        }

    @staticmethod
    def fits(specs: SessionSpecs) -> bool:
        return sorted(output.shape[-1:] for output in specs.outputs) == sorted((width,) for width in _WIDTHS * len(STRIDES))

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        return np.concatenate([self._decode(outputs, stride, score) for stride in STRIDES])

    def _decode(self, outputs: Mapping[str, Array], stride: int, least: float) -> Floats:
        """One grid: distances from the anchor's centre, which is the cell's top left corner, in strides."""
        scores, distances, offsets = (outputs[self._outputs[stride, width]].reshape(-1, width) for width in _WIDTHS)
        keep = np.flatnonzero(sound(scores, "SCRFD")[:, 0] >= least)
        centre, sides = self._centres[stride][keep], distances[keep] * np.float32(stride)
        points = offsets[keep] * np.float32(stride) + np.tile(centre, 5)
        return rows(centre - sides[:, :2], centre + sides[:, 2:], scores[keep, 0], points)
