"""Converters: from the embedding of one recogniser to that of another, which a swap network was trained with."""

from __future__ import annotations

import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.floats import in_floats
from realtime.models.recognisers.arcface import NUMBERS
from realtime.models.tensors import described, only_output, sound
from realtime.types import Floats


class Converter:
    """A small network from an ArcFace (w600k_r50) embedding (1, 512) to another one (1, 512).

    For ghost, simswap and hififace: facefusion's crossface_* files, arcface_converter_* in older releases. They take the embedding as
    ArcFace gives it, *not* normalised (`ArcFace.raw`). Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session) -> None:
        session = in_floats(session)
        spec = session.specs.inputs[0]
        if len(session.specs.inputs) != 1 or spec.shape != (1, NUMBERS) or spec.dtype != np.float32:
            got = described(session.specs)
            raise ModelError(f"an embedding converter takes one embedding: expected (1, {NUMBERS}) float32, got {got}")
        self._input: Floats = session.inputs[spec.name]
        self._output = only_output(session, "an embedding converter", NUMBERS)
        self._session = session

    @property
    def backend(self) -> str:
        return self._session.backend

    def convert(self, raw: Floats, *, normalise: bool) -> Floats:
        """The other embedding (512,) float32 of a raw one (512,), the caller's own. Not for the frame path: once for each source.

        `normalise`: brought to length 1, as simswap and hififace want it; ghost wants it as it comes. Raises ModelError when the network
        gives nothing usable.
        """
        self._input[0] = raw
        vector = sound(self._session.run()[self._output], "The embedding converter").reshape(NUMBERS).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if length == 0:
            raise ModelError("the embedding converter gives nothing but zeros: its file is damaged, fetch it again")
        return vector / np.float32(length) if normalise else vector
