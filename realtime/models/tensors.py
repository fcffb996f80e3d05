"""What a model asks of a network before it uses it, and of the answer afterwards."""

from __future__ import annotations

import math

import numpy as np

from realtime.backends.base import Session, SessionSpecs, TensorSpec
from realtime.errors import ModelError, NumbersError
from realtime.types import Array, Floats


def square_planes(session: Session, who: str, *, size: int | None = None) -> Floats:
    """The bound input (3, n, n) float32 of a network that takes one square picture and nothing else.

    `size` is the only n that will do. Raises ModelError, one sentence that begins with `who`, when the network takes anything else.
    """
    side = "n" if size is None else str(size)
    specs = session.specs.inputs
    spec = specs[0]
    square = len(spec.shape) == 4 and spec.shape[:2] == (1, 3) and spec.shape[2] == spec.shape[3]
    if len(specs) != 1 or not square or spec.dtype != np.float32 or spec.shape[2] not in (size, None if size else spec.shape[2]):
        raise ModelError(f"{who} takes one square picture: expected (1, 3, {side}, {side}) float32, got {described(session.specs)}")
    planes: Floats = session.inputs[spec.name][0]
    return planes


def only_output(session: Session, who: str, numbers: int) -> str:
    """The name of the one output, which must have so many numbers. Raises ModelError otherwise."""
    outputs = session.specs.outputs
    if len(outputs) != 1 or math.prod(outputs[0].shape) != numbers:
        raise ModelError(f"{who} gives {numbers} numbers and nothing else, this network gives {_listed(outputs)}: choose another file")
    return outputs[0].name


def sound(values: Array, who: str) -> Array:
    """The values as they are. Raises NumbersError when one is not a number: a network that overflows must not go unnoticed."""
    if not np.isfinite(values).all():
        raise NumbersError(f"{who} gives something else than numbers: its file is damaged or its precision too low, use its fp32 form")
    return values


def described(specs: SessionSpecs) -> str:
    """Inputs and outputs in one line, for sentences: "x (1, 3, 112, 112) float32, giving y (1, 512) float32"."""
    return f"{_listed(specs.inputs)}, giving {_listed(specs.outputs)}"


def _listed(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{spec.name} {spec.shape} {spec.dtype}" for spec in specs) or "nothing"
