"""SFace: whose face it is (Zhong et al., "SFace: sigmoid-constrained hypersphere loss for robust face recognition", 2021)."""

from __future__ import annotations

import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.types import Floats, Image
from realtime.vision.align import ARCFACE_112, align
from realtime.vision.planes import fill_planes

_SIZE = 112
_SAME_PERSON = 0.363
"""OpenCV's recommended cosine threshold for this network, from its accuracy on LFW."""


class SFace:
    """128 numbers for a face, close together for one person. Input: planes of RGB 0..255."""

    def __init__(self, session: Session) -> None:
        spec = session.specs.inputs[0]
        if spec.shape != (1, 3, _SIZE, _SIZE):
            raise ModelError(f"SFace takes an aligned face: expected (1, 3, {_SIZE}, {_SIZE}), got {spec.shape}")
        self._session = session
        self._planes: Floats = session.inputs[spec.name][0]
        self._output = session.specs.outputs[0].name
        fill_planes(np.zeros((_SIZE, _SIZE, 3), np.uint8), self._planes, 1.0, True)  # compiled now, not when the first face is to be known

    @property
    def name(self) -> str:
        return "sface"

    @property
    def backend(self) -> str:
        return self._session.backend

    @property
    def same_person(self) -> float:
        return _SAME_PERSON

    def embed(self, image: Image, points: Floats) -> Floats:
        """Raises ValueError when the points coincide."""
        face, _ = align(image, points, ARCFACE_112, _SIZE)
        fill_planes(face, self._planes, 1.0, True)
        vector = self._session.run()[self._output].ravel()
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)
