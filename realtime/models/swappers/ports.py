"""A session's inputs and outputs as float32 arrays, whatever the network's own type is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.types import Array, Floats

_KNOWN = (np.float32, np.float16)


class FloatInput:
    """Write to `array`, then `send`. For a float32 network that is its bound buffer itself and sending does nothing."""

    def __init__(self, session: Session, spec: TensorSpec) -> None:
        self._bound = session.inputs[check(spec).name]
        self.array: Floats = self._bound if spec.dtype == np.float32 else np.zeros(spec.shape, np.float32)

    def send(self) -> None:
        if self.array is not self._bound:
            np.copyto(self._bound, self.array, casting="same_kind")


class FloatOutput:
    """The named output as float32; of a float16 network a copy, overwritten by the next `read`."""

    def __init__(self, spec: TensorSpec) -> None:
        self._name = check(spec).name
        self._copy = None if spec.dtype == np.float32 else np.empty(spec.shape, np.float32)

    def read(self, outputs: Mapping[str, Array]) -> Floats:
        if self._copy is None:
            return outputs[self._name]
        np.copyto(self._copy, outputs[self._name])
        return self._copy


def check(spec: TensorSpec) -> TensorSpec:
    """The spec as it is. Raises ModelError for a type that is neither float32 nor float16."""
    if spec.dtype.type not in _KNOWN:
        raise ModelError(f"{spec.name} of this network is {spec.dtype}: only float32 and float16 networks can be used")
    return spec


def is_planes(spec: TensorSpec) -> bool:
    """One square picture in planes."""
    return len(spec.shape) == 4 and spec.shape[:2] == (1, 3) and spec.shape[2] == spec.shape[3]
