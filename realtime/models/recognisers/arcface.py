"""ArcFace: whose face it is (Deng et al., "ArcFace: additive angular margin loss for deep face recognition", 2019)."""

from __future__ import annotations

import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.floats import in_floats
from realtime.models.tensors import only_output, sound, square_planes
from realtime.types import Floats, Image
from realtime.vision.align import ARCFACE_112, align
from realtime.vision.planes import fill_normalised

NUMBERS = 512
_SIZE = 112
_SCALE = np.full(3, 1 / 127.5, np.float32)
_SHIFT = np.full(3, -1.0, np.float32)
"""(x - 127.5) / 127.5: insightface `model_zoo/arcface_onnx.py`, for networks that do not normalise by themselves, as w600k_r50 and _mbf."""
SAME_PERSON = 0.4
"""A cosine *distance* (1 - cosine) of 0.6 is what the field's programs take for the same face with w600k_r50; insightface's own example
calls a cosine above 0.28 the same person, which lets relatives pass."""


class ArcFace:
    """512 numbers for a face, close together for one person: insightface's w600k_r50 (ResNet-50) and w600k_mbf (MobileFaceNet).

    Input: planes of RGB -1..1, the face on the ArcFace template; 0..255 when `normalises`, because the network does that by itself (old
    files from MXNet do). `name` is that of the weights: embeddings of two networks cannot be compared with each other. Raises ModelError
    for a network of another shape.
    """

    def __init__(self, session: Session, name: str = "arcface", *, normalises: bool = False) -> None:
        session = in_floats(session)
        self._planes = square_planes(session, "ArcFace", size=_SIZE)
        self._output = only_output(session, "ArcFace", NUMBERS)
        self._session, self._name = session, name
        self._scale, self._shift = (np.ones(3, np.float32), np.zeros(3, np.float32)) if normalises else (_SCALE, _SHIFT)

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._session.backend

    @property
    def same_person(self) -> float:
        return SAME_PERSON

    def embed(self, image: Image, points: Floats) -> Floats:
        """The direction only, (512,) float32 of length 1: for comparisons. Raises as `raw`."""
        vector = self.raw(image, points)
        return vector / np.linalg.norm(vector)

    def raw(self, image: Image, points: Floats) -> Floats:
        """The embedding (512,) float32 with the length that the network gives it, the caller's own: what converters take.

        Raises ValueError when the points coincide, ModelError when the network gives nothing usable.
        """
        face, _ = align(image, points, ARCFACE_112, _SIZE)
        fill_normalised(face, self._planes, self._scale, self._shift, True)
        vector = sound(self._session.run()[self._output], "ArcFace").reshape(NUMBERS).astype(np.float32)
        if not vector.any():
            raise ModelError("ArcFace gives nothing but zeros: its file is damaged or its precision too low, use its fp32 form")
        return vector
