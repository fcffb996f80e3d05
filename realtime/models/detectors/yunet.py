"""YuNet: a small face detector with five points (Wu et al., "YuNet: a tiny millisecond-level face detector", 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import cv2
import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.types import Array, Box, Detection, Floats, Image
from realtime.vision import geometry
from realtime.vision.planes import fill_planes

STRIDES = (8, 16, 32)
_SAME_FACE = 0.3
"""Overlap from which two boxes are one face; as OpenCV's FaceDetectorYN has it."""
_MOST = 64
"""Candidates looked at, best first: far more than faces that are of interest."""
_SMALLER = (0.5, 0.25)
"""Shares of the input to try when nothing is found: the network misses faces that fill the whole input."""


class YuNet:
    """Finds every face of about 10 to 300 pixels in the network's square input, to which the image is shrunk (or grown) to fit.

    `score`: 0..1, below it a face is not reported. `min_face`: shorter box side in image pixels below which a face is not reported.
    `thorough`: look again at a smaller scale when nothing was found; for photos, where a face may fill the picture and time matters little.
    """

    def __init__(self, session: Session, *, score: float = 0.6, min_face: float = 0.0, thorough: bool = False) -> None:
        spec = session.specs.inputs[0]
        if len(spec.shape) != 4 or spec.shape[1] != 3 or spec.shape[2] != spec.shape[3] or spec.shape[2] % STRIDES[-1]:
            raise ModelError(f"YuNet takes a square of a multiple of 32 pixels: expected (1, 3, n, n), got {spec.shape}.")
        self._session = session
        self._size = spec.shape[2]
        self._planes: Floats = session.inputs[spec.name][0]
        self._score, self._min_face, self._thorough = score, min_face, thorough
        self._cells = {stride: _cells(self._size // stride) for stride in STRIDES}

    @property
    def name(self) -> str:
        return "yunet"

    @property
    def backend(self) -> str:
        return self._session.backend

    def detect(self, image: Image) -> list[Detection]:
        found = self._detect(image, self._size)
        for share in _SMALLER if self._thorough else ():
            found = found or self._detect(image, round(self._size * share))
        return found

    def _detect(self, image: Image, size: int) -> list[Detection]:
        """Faces with the image shrunk into the top-left `size` x `size` pixels of the network's input."""
        small = _fit(image, size)
        height, width = small.shape[:2]
        self._planes[:, height:] = 0
        self._planes[:, :height, width:] = 0
        fill_planes(small, self._planes, 1.0, False)
        faces = suppress(self._candidates(self._session.run()))
        scale = np.array([image.shape[1] / width, image.shape[0] / height], np.float32)
        found = [_detection(face, scale) for face in faces]
        return [face for face in found if min(face.box.width, face.box.height) >= self._min_face]

    def _candidates(self, outputs: Mapping[str, Array]) -> Floats:
        """Every cell whose score suffices: (n, 15) float32, x, y, width, height, score and five points in input pixels, the best first."""
        rows: Floats = np.concatenate([self._decode(outputs, stride) for stride in STRIDES])
        rows = rows[np.isfinite(rows).all(axis=1)]
        return rows[np.argsort(-rows[:, 4], kind="stable")[:_MOST]]

    def _decode(self, outputs: Mapping[str, Array], stride: int) -> Floats:
        """One grid. Cell offsets and log sizes are in strides; the score is the geometric mean of class and objectness."""
        score = np.sqrt(np.clip(outputs[f"cls_{stride}"].ravel(), 0, 1) * np.clip(outputs[f"obj_{stride}"].ravel(), 0, 1))
        keep = np.flatnonzero(score >= self._score)
        cells = self._cells[stride][keep]
        box = outputs[f"bbox_{stride}"].reshape(-1, 4)[keep]
        points = outputs[f"kps_{stride}"].reshape(-1, 5, 2)[keep]
        with np.errstate(over="ignore"):  # an infinite box is dropped with whatever else is not a number
            centre, sides = cells + box[:, :2], np.exp(box[:, 2:])
        rows = np.concatenate([centre - sides / 2, sides, (points + cells[:, None]).reshape(-1, 10)], axis=1) * np.float32(stride)
        return np.insert(rows, 4, score[keep], axis=1)


def suppress(candidates: Floats) -> list[Floats]:
    """The rows that no better row overlaps: greedy non-maximum suppression on rows sorted by score."""
    kept: list[tuple[Box, Floats]] = []
    for row in candidates:
        x, y, width, height = (float(v) for v in row[:4])
        box = Box(x, y, x + width, y + height)
        if all(geometry.overlap(box, other) <= _SAME_FACE for other, _ in kept):
            kept.append((box, row))
    return [row for _, row in kept]


def _cells(side: int) -> Floats:
    """(side * side, 2) float32: column and row of each cell."""
    rows, columns = np.divmod(np.arange(side * side), side)
    return np.stack([columns, rows], axis=1).astype(np.float32)


def _detection(row: Floats, scale: Floats) -> Detection:
    """From input to image pixels; half a pixel because sizes scale about the corner and coordinates count pixel centres."""
    low = (row[:2] + 0.5) * scale - 0.5
    high = (row[:2] + row[2:4] + 0.5) * scale - 0.5
    points = (row[5:].reshape(5, 2) + 0.5) * scale - 0.5
    return Detection(Box(float(low[0]), float(low[1]), float(high[0]), float(high[1])), points.astype(np.float32), float(row[4]))


def _fit(image: Image, size: int) -> Image:
    """The image with its longer side brought to `size` pixels.

    By halves, each an exact average of four pixels, and a last step below two: as free of aliasing as cv2.INTER_AREA in one step, which
    takes 1.2 ms instead of 0.36 for 1280x720.
    """
    scale = size / max(image.shape[:2])
    height, width = (max(round(side * scale), 1) for side in image.shape[:2])
    while image.shape[0] >= 2 * height and image.shape[1] >= 2 * width:
        image = cast(Image, cv2.resize(image, (image.shape[1] // 2, image.shape[0] // 2), interpolation=cv2.INTER_AREA))
    return cast(Image, cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR))
