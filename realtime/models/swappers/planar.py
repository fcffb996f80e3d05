"""Swap networks that take planes of an aligned face and something of the source, and give planes: all but DFM and latent ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.models.swappers.contracts import Contract, Triple
from realtime.models.swappers.ports import FloatInput, FloatOutput, is_planes
from realtime.models.swappers.sources import SourceInput
from realtime.types import Array, Floats, Image, SourcePhoto
from realtime.vision.crops import put_every, take_every, write_levels
from realtime.vision.planes import fill_normalised

_DARK = 2.0
"""Mean level up to which a picture counts as black."""
_LIT = 16.0
"""Mean level from which a face before the camera is not black."""


class PlanarNetwork:
    """One network of a planar contract; implements `CropNetwork`.

    `passes`: the crop is so many times as large as what the network takes, and every passes-th pixel across and down goes through it in
    turn (facefusion calls that pixel boost): passes * passes runs a frame. Raises ModelError when the network is of another shape.
    """

    def __init__(self, session: Session, contract: Contract, source: SourceInput, passes: int = 1, name: str = "") -> None:
        target, person, output = swap_specs(session, contract)
        self._session, self._contract, self._preparer = session, contract, source
        self._name, self._passes, self._size = name or contract.name, passes, target.shape[2] * passes
        self._target, self._person = FloatInput(session, target), FloatInput(session, person)
        self._output = FloatOutput(output)
        self._to = levels_to_input(contract.mean, contract.std)
        self._back = output_to_levels(contract.mean, contract.std) if contract.denormalise else output_to_levels()
        self._tally = np.zeros(2, np.int64)
        self._parts = [(row, column) for row in range(passes) for column in range(passes)]
        side = target.shape[2] if passes > 1 else 0
        self._taken, self._given = np.empty((side, side, 3), np.uint8), np.empty((side, side, 3), np.uint8)

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
    def passes(self) -> int:
        return self._passes

    @property
    def template(self) -> Floats:
        return self._contract.template(self._size)

    def prepare(self, photos: Sequence[SourcePhoto]) -> Array:
        return self._preparer.prepare(photos)

    def use(self, source: Array) -> None:
        self._person.array[...] = source
        self._person.send()

    def swap(self, before: Image, swapped: Image, mask: NDArray[np.uint8]) -> bool:
        self._tally[:] = 0
        if self._passes == 1:
            self._pass(before, swapped)
        else:
            for part in self._parts:
                take_every(before, self._passes, *part, self._taken)
                self._pass(self._taken, self._given)
                put_every(self._given, self._passes, *part, swapped)
        return is_sound(self._tally, before)

    def _pass(self, before: Image, swapped: Image) -> None:
        fill_normalised(before, self._target.array[0], *self._to, True)
        self._target.send()
        write_levels(self._output.read(self._session.run())[0], *self._back, swapped, self._tally)


def swap_specs(session: Session, contract: Contract) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """The face's input, the source's input and the output. Raises ModelError when they are not what the contract says."""
    inputs, outputs = session.specs.inputs, [spec for spec in session.specs.outputs if is_planes(spec)]
    size = contract.size
    face, source = (1, 3, size, size), source_shape(contract)
    targets = [spec for spec in inputs if spec.shape == face and (spec.shape != source or spec.name == "target")]
    people = [spec for spec in inputs if spec.shape == source and spec not in targets]
    outputs = [spec for spec in outputs if spec.shape == face]
    if len(inputs) != 2 or len(targets) != 1 or len(people) != 1 or not outputs:
        got = ", ".join(f"{spec.name} {spec.shape}" for spec in inputs)
        raise ModelError(f"a network of the contract {contract.name} takes {face} and {source}, this one {got}: name its own contract")
    return targets[0], people[0], outputs[0]


def source_shape(contract: Contract) -> tuple[int, ...]:
    return (1, 512) if contract.takes_latent else (1, 3, contract.source_size, contract.source_size)


def levels_to_input(mean: Triple, std: Triple) -> tuple[Floats, Floats]:
    """Scale and shift from 0..255 to (x / 255 - mean) / std."""
    m, s = np.array(mean, np.float32), np.array(std, np.float32)
    return np.asarray(1 / (np.float32(255) * s), np.float32), np.asarray(-m / s, np.float32)


def output_to_levels(mean: Triple = (0.0, 0.0, 0.0), std: Triple = (1.0, 1.0, 1.0)) -> tuple[Floats, Floats]:
    """Scale and shift from what a network gives to 0..255."""
    return np.array(std, np.float32) * np.float32(255), np.array(mean, np.float32) * np.float32(255)


def is_sound(tally: Array, before: Image) -> bool:
    """Whether a network that wrote these levels (see `write_levels`) gave a picture: only numbers, and not black for a face in light."""
    return not tally[1] and is_lit(float(tally[0]) / before.size, before)


def is_lit(level: float, before: Image) -> bool:
    """Whether a picture of this mean level is not black, or was made of a face in the dark."""
    return level > _DARK or bool(before.mean() < _LIT)
