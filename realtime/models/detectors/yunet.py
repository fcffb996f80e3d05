"""YuNet: a small face detector with five points (Wu et al., "YuNet: a tiny millisecond-level face detector", 2023)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from realtime.backends.base import Session, SessionSpecs
from realtime.models.detectors.finder import FaceFinder, grids
from realtime.models.detectors.letterbox import Pixels
from realtime.models.detectors.rows import cells
from realtime.models.tensors import sound
from realtime.types import Array, Floats

STRIDES = (8, 16, 32)


class YuNetDecoder:
    """Reads one grid of cells for each stride, one face a cell. Raises ModelError for a network of another shape."""

    name = "yunet"
    pixels = Pixels((0.0, 0.0, 0.0), 1.0, rgb=False)
    same_face = 0.3
    """As OpenCV's FaceDetectorYN has it."""
    misses_large = False

    def __init__(self, session: Session) -> None:
        self._cells = {stride: cells(grid) for stride, grid in zip(STRIDES, grids(session, STRIDES), strict=True)}

    @staticmethod
    def fits(specs: SessionSpecs) -> bool:
        wanted = {f"{head}_{stride}" for head in ("cls", "obj", "bbox", "kps") for stride in STRIDES}
        return wanted <= {output.name for output in specs.outputs}

    def decode(self, outputs: Mapping[str, Array], score: float) -> Floats:
        return np.concatenate([self._decode(outputs, stride, score) for stride in STRIDES])

    def _decode(self, outputs: Mapping[str, Array], stride: int, least: float) -> Floats:
        """One grid. Cell offsets and log sizes are in strides; the score is the geometric mean of class and objectness."""
        classes, objects = (sound(outputs[f"{head}_{stride}"], "YuNet").ravel() for head in ("cls", "obj"))
        score = np.sqrt(np.clip(classes, 0, 1) * np.clip(objects, 0, 1))
        keep = np.flatnonzero(score >= least)
        corners = self._cells[stride][keep]
        box = outputs[f"bbox_{stride}"].reshape(-1, 4)[keep]
        points = outputs[f"kps_{stride}"].reshape(-1, 5, 2)[keep]
        with np.errstate(over="ignore"):  # an infinite box is dropped with whatever else is not a number
            centre, sides = corners + box[:, :2], np.exp(box[:, 2:])
        found = np.concatenate([centre - sides / 2, sides, (points + corners[:, None]).reshape(-1, 10)], axis=1) * np.float32(stride)
        return np.insert(found, 4, score[keep], axis=1)


class YuNet(FaceFinder):
    """Finds every face of about 10 to 300 pixels in the network's input, to which the image is shrunk (or grown) to fit.

    `thorough`: look again at a smaller scale when nothing was found; for photos, where a face may fill the picture and time matters little.
    """

    def __init__(self, session: Session, *, score: float = 0.6, min_face: float = 0.0, thorough: bool = False) -> None:
        super().__init__([(session, YuNetDecoder(session))], score=score, min_face=min_face, thorough=thorough)
