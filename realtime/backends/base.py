"""What a backend offers: a session that runs one network on fixed buffers. Knows tensors, not faces or images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np

from realtime.types import Array


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output of a network."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class SessionSpecs:
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@runtime_checkable
class Session(Protocol):
    """A network loaded on a device, with its buffers bound once.

    Not thread-safe: one thread uses a session at a time.
    """

    @property
    def backend(self) -> str:
        """For reports, e.g. "openvino cpu fp32"."""

    @property
    def specs(self) -> SessionSpecs: ...

    @property
    def inputs(self) -> Mapping[str, Array]:
        """The bound input buffers, writable. A caller that fills these and passes them to `run` costs no copy."""

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        """Run once; feeds that are not the bound buffers themselves are copied into them. None: the bound buffers are ready.

        The outputs belong to the session and may be overwritten by its next `run`: whoever keeps one copies it.
        Raises BackendError when a name, shape or dtype does not fit ("expected image (1, 3, 192, 192) float32, got ...").
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
