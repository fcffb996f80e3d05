"""What a backend offers: a session that runs one network on fixed buffers. Knows tensors, not faces or images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np

from realtime.errors import BackendError
from realtime.types import Array

BUILD = "python -m realtime engines"
"""The command that builds engines, for sentences: wherever the package is, with the checkout's `build_engines.py` or without."""


class UnavailableError(BackendError):
    """The library or its device is not here, or it does not take this kind of file: nothing went wrong."""


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


@runtime_checkable
class FrameSession(Protocol):
    """A network one of whose inputs is a whole frame, of any size, that is brought to the device once and may be run on several times.

    The other inputs are small and bound like those of a `Session`. Not thread-safe.
    """

    @property
    def backend(self) -> str: ...

    @property
    def inputs(self) -> Mapping[str, Array]:
        """The bound small inputs, writable."""

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether frames of this shape can be run on."""

    def run(self, frame: Array) -> Mapping[str, Array]:
        """Run on a frame (h, w, 3) uint8; one that is the very array of the last run is not uploaded again.

        It is kept until another comes and must not change meanwhile. The outputs belong to the session, as those of `Session.run`.
        Raises BackendError.
        """

    def watch(self, upcoming: Callable[[], Array | None]) -> None:
        """Ask this after each launch for the frame that comes next, to upload it beside the launch. Ignored where that gains nothing."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
