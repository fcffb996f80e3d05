"""DFM: the networks that DeepFaceLive runs, exported by DeepFaceLab, each trained for one person, who is in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.planar import is_sound
from realtime.models.swappers.ports import FloatInput, FloatOutput
from realtime.models.tensors import sound
from realtime.types import Array, Floats, Image, SourcePhoto
from realtime.vision.crops import write_pixels

_ERODED: Final = 5
"""Pixels across of the erosion of the masks, which tend to reach over the face's edge: facefusion erodes twice by 3."""
_BLUR: Final = 0.055
"""Of the side, across: two box blurs that wide make about the Gaussian of 6.25 pixels that facefusion has at 256."""


class DfmNetwork:
    """Pixels of BGR 0..1 (1, s, s, 3) in; the same person's pixels out, with a mask of the face seen and one of the face drawn.

    Implements `CropNetwork`. `morph` (0..1) goes to networks that have such an input: how far to go towards the person. Raises ModelError
    when the network is of another shape.
    """

    def __init__(self, session: Session, morph: float = 0.75, name: str = "dfm") -> None:
        face, others, picture, masks = _specs(session)
        self._session, self._name, self._size = session, name, face.shape[1]
        self._face, self._picture = FloatInput(session, face), FloatOutput(picture)
        self._masks = [FloatOutput(spec) for spec in masks]
        for spec in others:
            amount = FloatInput(session, spec)
            amount.array[...] = morph
            amount.send()
        self._tally = np.zeros(2, np.int64)
        self._shown = np.empty((self._size, self._size), np.float32)
        self._levels = np.empty((self._size, self._size), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._session.backend

    @property
    def size(self) -> int:
        return self._size

    @property
    def template(self) -> Floats:
        return CONTRACTS["dfm"].template(self._size)

    def prepare(self, photos: Sequence[SourcePhoto]) -> Array:
        """Nothing: photos are not looked at."""
        return np.empty(0, np.float32)

    def use(self, source: Array) -> None:
        """The person cannot be changed."""

    def swap(self, before: Image, swapped: Image, mask: NDArray[np.uint8]) -> bool:
        np.multiply(before, np.float32(1 / 255), out=self._face.array[0], dtype=np.float32)
        self._face.send()
        outputs = self._session.run()
        self._tally[:] = 0
        write_pixels(self._picture.read(outputs)[0], swapped, self._tally)
        self._lower(mask, [sound(each.read(outputs), self.name).reshape(self._size, self._size) for each in self._masks])
        return is_sound(self._tally, before)

    def _lower(self, mask: NDArray[np.uint8], masks: Sequence[Floats]) -> None:
        """Show the face only where both masks say so, softly."""
        np.minimum.reduce(masks, out=self._shown)
        np.clip(self._shown, 0, 1, out=self._shown)
        np.multiply(self._shown, 255, out=self._levels, casting="unsafe")
        levels, width = self._levels, max(round(_BLUR * self._size), 1)
        cv2.erode(levels, np.ones((_ERODED, _ERODED), np.uint8), dst=levels)
        for _ in range(2):
            cv2.blur(levels, (width, width), dst=levels)
        np.minimum(mask, levels, out=mask)


def _specs(session: Session) -> tuple[TensorSpec, list[TensorSpec], TensorSpec, list[TensorSpec]]:
    """The face's input, the numbers' inputs, the picture's output and the masks' outputs."""
    inputs, outputs = session.specs.inputs, session.specs.outputs
    faces = [spec for spec in inputs if len(spec.shape) == 4 and spec.shape[1] == spec.shape[2] and spec.shape[::3] == (1, 3)]
    pictures = [spec for spec in outputs if faces and spec.shape == faces[0].shape]
    masks = [spec for spec in outputs if faces and spec.shape == (*faces[0].shape[:3], 1)]
    if len(faces) != 1 or len(pictures) != 1 or not masks:
        got = [", ".join(f"{spec.name} {spec.shape}" for spec in specs) for specs in (inputs, outputs)]
        raise ModelError(f"a DFM network takes (1, s, s, 3) and gives that and masks (1, s, s, 1): this one takes {got[0]} for {got[1]}")
    return faces[0], [spec for spec in inputs if spec is not faces[0]], pictures[0], masks
