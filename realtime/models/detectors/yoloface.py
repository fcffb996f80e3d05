"""YOLO-face: face detectors with five points of the YOLOv8 family (derronqi/yolov8-face), in the two layouts that its exports have, and
of YOLOv5-face (Qi et al., "YOLO5Face: why reinventing a face detector", 2021)."""

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
BINS = 16
"""A distance is the mean of a distribution over 0 to 15 strides ("distribution focal loss", Li et al., 2020)."""
_FIVE, _FIVE_SEEN = 10, 15
"""Numbers for five points: x, y each, or x, y and how visible."""
_RAW = 4 * BINS + 1 + _FIVE_SEEN
_V8, _V5 = 4 + 1 + _FIVE_SEEN, 4 + 1 + _FIVE + 1
_PIXELS = Pixels((0.0, 0.0, 0.0), 255.0, rgb=True)


class YoloFaceDecoder:
    """Reads one table of finished boxes: (1, 20, n) of yolov8-face, or (1, n, 16) of YOLOv5-face; which way it lies does not matter.

    Columns: centre, width and height in input pixels, the score, and the points; in version 5 the score of the class comes last.
    """

    name = "yoloface"
    pixels = _PIXELS
    same_face = 0.45
    misses_large = False

    def __init__(self, session: Session) -> None:
        grids(session, STRIDES)
        if not self.fits(session.specs):
            got = described(session.specs)
            raise ModelError(f"YOLO-face gives a table of {_V8} or {_V5} numbers for each candidate, this network: {got}")
        output = session.specs.outputs[0]
        self._output, self._upright = output.name, output.shape[2] in (_V8, _V5)

    @staticmethod
    def fits(specs: SessionSpecs) -> bool:
        return len(specs.outputs) == 1 and len(specs.outputs[0].shape) == 3 and bool({_V8, _V5} & set(specs.outputs[0].shape[1:]))

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        table = outputs[self._output][0]
        table = table if self._upright else table.T
        scores = sound(table[:, 4], "YOLO-face")
        if table.shape[1] == _V5:
            scores = scores * sound(table[:, -1], "YOLO-face")
        keep = np.flatnonzero(scores >= score)
        found = table[keep]
        points = found[:, 5:15] if table.shape[1] == _V5 else found[:, 5:].reshape(-1, 5, 3)[:, :, :2].reshape(-1, _FIVE)
        centre, half = found[:, :2], found[:, 2:4] / 2
        return rows(centre - half, centre + half, scores[keep], points)


class YoloFaceRawDecoder:
    """Reads the three grids (1, 80, h, w) as the network leaves them: distributions of the box's sides, logits, and points in cells.

    After the decoding in yolov8-face's examples for OpenCV. Raises ModelError for a network of another shape.
    """

    name = "yoloface"
    pixels = _PIXELS
    same_face = 0.45
    misses_large = False

    def __init__(self, session: Session) -> None:
        shapes = grids(session, STRIDES)
        named = {output.shape[-2:]: output.name for output in session.specs.outputs if output.shape[1:2] == (_RAW,)}
        if set(named) != set(shapes):
            raise ModelError(f"YOLO-face gives {_RAW} numbers for each cell of three grids, this network: {described(session.specs)}")
        self._grids = [(named[grid], stride, cells(grid)) for grid, stride in zip(shapes, STRIDES, strict=True)]

    @staticmethod
    def fits(specs: SessionSpecs) -> bool:
        return len(specs.outputs) == len(STRIDES) and all(len(each.shape) == 4 and each.shape[1] == _RAW for each in specs.outputs)

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        return np.concatenate([_decode(outputs[name][0], stride, corners, score) for name, stride, corners in self._grids])


def _decode(grid: Array, stride: int, corners: Floats, least: float) -> Floats:
    """One grid (80, h, w). Boxes are measured from the middle of the cell, points from its corner, in half strides."""
    columns = grid.reshape(_RAW, -1)
    scores = 1 / (1 + np.exp(-np.clip(sound(columns[4 * BINS], "YOLO-face"), -80, 80)))
    keep = np.flatnonzero(scores >= least)
    found, corners = columns[:, keep].T, corners[keep]
    sides = _means(found[:, : 4 * BINS].reshape(-1, 4, BINS))
    points = found[:, 4 * BINS + 1 :].reshape(-1, 5, 3)[:, :, :2] * 2 + corners[:, None]
    middle = corners + np.float32(0.5)
    step = np.float32(stride)
    return rows((middle - sides[:, :2]) * step, (middle + sides[:, 2:]) * step, scores[keep], points.reshape(-1, _FIVE) * step)


def _means(logits: Array) -> Array:
    """Of distributions given by logits (n, 4, 16): (n, 4)."""
    weights = np.exp(logits - logits.max(2, keepdims=True))
    return np.asarray((weights @ np.arange(BINS, dtype=np.float32)) / weights.sum(2))
