"""Swapping in the latent space of a StyleGAN2 generator: the layers that draw a face's features come from the source.

In the manner of e4e (Tov et al., "Designing an encoder for StyleGAN image manipulation", 2021): an encoder gives one code of 512 numbers
for each of the generator's layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.backends.base import Session
from realtime.errors import ModelError, UsageError
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.planar import is_sound, levels_to_input, output_to_levels
from realtime.models.swappers.ports import FloatInput, FloatOutput, is_planes
from realtime.models.swappers.sources import Picture
from realtime.types import Array, Floats, Image, SourcePhoto
from realtime.vision.crops import write_levels
from realtime.vision.planes import fill_normalised

_LARGEST: Final = 512
"""Side of the crop in pixels, at most: what the generator gives beyond that is averaged, for no face in a frame shows it."""


class LatentNetwork:
    """Encoder: planes of RGB -1..1 (1, 3, n, n) to codes (1, layers, 512). Generator: codes to planes of RGB -1..1.

    The codes go from one to the other as they are: an encoder whose codes are meant to be added to an average must do so itself. `layers`
    come from the source, the others from the frame. Implements `CropNetwork`. Raises ModelError when a network is of another shape,
    UsageError for a layer that there is not.
    """

    def __init__(self, encoder: Session, generator: Session, layers: Sequence[int], name: str = "latent") -> None:
        picture, code = _only(encoder, "encoder", "inputs"), _only(encoder, "encoder", "outputs")
        codes, drawn = _only(generator, "generator", "inputs"), _only(generator, "generator", "outputs")
        if not is_planes(picture) or not is_planes(drawn) or len(codes.shape) != 3 or code.shape != codes.shape:
            raise ModelError(
                f"a latent swap goes from (1, 3, n, n) to codes and on to (1, 3, m, m): these networks go from {picture.shape} to "
                f"{code.shape} and from {codes.shape} to {drawn.shape}"
            )
        if not all(layer < codes.shape[1] for layer in layers):
            raise UsageError(f"this generator has the layers 0 to {codes.shape[1] - 1}: name no others with --swap-layers")
        self._encoder, self._generator, self._name, self._layers = encoder, generator, name, list(layers)
        self._picture, self._code = FloatInput(encoder, picture), FloatOutput(code)
        self._codes, self._drawn = FloatInput(generator, codes), FloatOutput(drawn)
        self._seen, self._full = picture.shape[2], np.empty((*drawn.shape[2:], 3), np.uint8)
        self._size = _crop_size(drawn.shape[2])
        self._small = np.empty((self._seen, self._seen, 3), np.uint8)
        contract = CONTRACTS["latent"]
        self._to, self._back = levels_to_input(contract.mean, contract.std), output_to_levels(contract.mean, contract.std)
        self._source: Array | None = None
        self._tally = np.zeros(2, np.int64)

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._generator.backend

    @property
    def size(self) -> int:
        return self._size

    @property
    def template(self) -> Floats:
        return CONTRACTS["latent"].template(self._size)

    def prepare(self, photos: Sequence[SourcePhoto]) -> Array:
        """(1, layers, 512): the source's code, of the first photo."""
        contract = CONTRACTS["latent"]
        mean, std = contract.mean[0], contract.std[0]
        self._picture.array[...] = Picture(contract.template(self._seen), self._seen, 1 / std, -mean / std).prepare(photos)
        return self._encoded().copy()

    def use(self, source: Array) -> None:
        self._source = source

    def swap(self, before: Image, swapped: Image, mask: NDArray[np.uint8]) -> bool:
        assert self._source is not None  # AlignedSwapper calls `use` first
        cv2.resize(before, (self._seen, self._seen), dst=self._small, interpolation=cv2.INTER_AREA)
        fill_normalised(self._small, self._picture.array[0], *self._to, True)
        np.copyto(self._codes.array, self._encoded())
        self._codes.array[:, self._layers] = self._source[:, self._layers]
        self._codes.send()
        planes = self._drawn.read(self._generator.run())[0]
        self._tally[:] = 0
        write_levels(planes, *self._back, self._full, self._tally)
        cv2.resize(self._full, (self._size, self._size), dst=swapped, interpolation=cv2.INTER_AREA)
        self._tally[0] *= before.size / self._full.size
        return is_sound(self._tally, before)

    def _encoded(self) -> Floats:
        self._picture.send()
        return self._code.read(self._encoder.run())


def _only(session: Session, role: str, side: str) -> Any:
    specs = getattr(session.specs, side)
    if len(specs) != 1:
        raise ModelError(f"the {role} of a latent swap has one input and one output, this network has {len(specs)} {side}: name another")
    return specs[0]


def _crop_size(side: int) -> int:
    while side > _LARGEST:
        side //= 2
    return side
