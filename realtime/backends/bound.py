"""What every session shares: buffers bound once, checked feeds, closing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Self

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec
from realtime.errors import BackendError
from realtime.types import Array

_ALIGNMENT = 64
"""Bytes: one cache line, the widest vector register; runtimes take such a buffer as it is instead of copying it."""


_MOST_BYTES = 1 << 30
"""Of one input or output: a hundred times the largest that any network here has. A model file can claim anything."""


def aligned_zeros(spec: TensorSpec) -> Array:
    """A zeroed C-contiguous array for `spec` whose memory starts on a cache line. Raises BackendError for an absurd size."""
    size = math.prod(spec.shape) * spec.dtype.itemsize
    if not 0 <= size <= _MOST_BYTES:
        raise BackendError(f"tensor {spec.name} of shape {spec.shape} would take {size} bytes: this is no network for pictures")
    raw = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size].view(spec.dtype).reshape(spec.shape)


class BoundSession(ABC):
    """Base of the sessions: a subclass binds `_inputs` and `_outputs`, or brings its own arrays for them, and writes `_infer`."""

    def __init__(
        self,
        backend: str,
        specs: SessionSpecs,
        inputs: Mapping[str, Array] | None = None,
        outputs: Mapping[str, Array] | None = None,
    ) -> None:
        self._backend = backend
        self._specs = specs
        self._inputs = dict(inputs) if inputs is not None else {spec.name: aligned_zeros(spec) for spec in specs.inputs}
        self._outputs = dict(outputs) if outputs is not None else {spec.name: aligned_zeros(spec) for spec in specs.outputs}
        self._views = MappingProxyType(self._inputs), MappingProxyType(self._outputs)
        self._closed = False

    @property
    def backend(self) -> str:
        return self._backend

    @property
    def specs(self) -> SessionSpecs:
        return self._specs

    @property
    def inputs(self) -> Mapping[str, Array]:
        return self._views[0]

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        if self._closed:
            raise BackendError(f"this {self._backend} session was closed: open the model again")
        for name, value in (feeds or {}).items():
            self._feed(name, value)
        self._infer()
        return self._views[1]

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def _infer(self) -> None:
        """Run the network from `_inputs` to `_outputs`."""

    def _feed(self, name: str, value: Array) -> None:
        bound = self._inputs.get(name)
        if bound is None:
            raise BackendError(f"the network has no input {name!r}: expected {', '.join(self._inputs)}")
        if value is bound:
            return
        if value.shape != bound.shape or value.dtype != bound.dtype:
            raise BackendError(f"expected {name} {bound.shape} {bound.dtype}, got {value.shape} {value.dtype}")
        np.copyto(bound, value)
