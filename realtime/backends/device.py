"""What a session on a GPU needs of the library that drives it: streams, buffers, events, graphs. `cuda` and `pycuda` provide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from realtime.backends.base import TensorSpec
from realtime.errors import BackendError
from realtime.types import Array

ALIGNMENT = 256
"""Bytes: what CUDA aligns allocations to and TensorRT expects of its tensors."""

Stream = Any
"""A stream of a device; its own to interpret."""
Event = Any
Graph = Any


@dataclass(slots=True)
class Memory:
    """A buffer on a device."""

    address: int
    nbytes: int
    handle: Any = None
    """What keeps it alive, for libraries that free a buffer with its object."""


@dataclass(slots=True)
class Budget:
    """Bytes of one GPU that all sessions on it together may take. None: as many as there are."""

    limit: int | None = None
    used: int = 0

    def take(self, nbytes: int, what: str) -> None:
        """Raises BackendError when that would be too many."""
        if self.limit is not None and self.used + nbytes > self.limit:
            have = f"{(self.limit - self.used) / 1e6:.0f} of {self.limit / 1e6:.0f} MB"
            raise BackendError(f"{what} needs {nbytes / 1e6:.0f} MB of GPU memory and {have} are left: raise --gpu-memory-fraction")
        self.used += nbytes

    def give(self, nbytes: int) -> None:
        self.used -= nbytes


class Device(Protocol):
    """One GPU as one session sees it: whatever is made here is freed by `close`, once. Its calls raise BackendError with CUDA's name.

    `with device:` makes the GPU the calling thread's; everything but `close` is called inside, in any thread, by one at a time.
    """

    @property
    def name(self) -> str: ...
    @property
    def graphs(self) -> bool:
        """Whether `capture` works."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def stream(self) -> Stream: ...
    def raw(self, stream: Stream) -> int:
        """The stream's handle, for other libraries."""

    def synchronise(self, stream: Stream) -> None: ...
    def event(self) -> Event: ...
    def record(self, event: Event, stream: Stream) -> None: ...
    def wait(self, stream: Stream, event: Event) -> None:
        """Hold what is put into `stream` from now on until the event has passed; one never recorded has."""

    def allocate(self, nbytes: int, what: str) -> Memory:
        """Device memory. `what` names it in errors."""

    def charge(self, nbytes: int, what: str) -> None:
        """Count memory that another library allocates for this session."""

    def pinned(self, nbytes: int) -> Array:
        """(nbytes,) uint8 of zeros in page-locked memory; gone with `close`, and every view of it."""

    def free(self, memory: Memory) -> None: ...
    def free_pinned(self, array: Array) -> None: ...
    def upload(self, memory: Memory, array: Array, stream: Stream) -> None:
        """Put a copy of all of a C-contiguous array into the stream; the array must be kept as it is until that has run."""

    def download(self, array: Array, memory: Memory, stream: Stream) -> None: ...
    def capture(self, stream: Stream, work: Callable[[], None]) -> Graph:
        """What `work` puts into the stream, as a graph; nothing of it runs."""

    def launch(self, graph: Graph, stream: Stream) -> None: ...
    def drop(self, graph: Graph) -> None: ...
    def close(self) -> None: ...


class Replay:
    """Work that is put into a stream again and again: call by call at first, as one graph from the second time on.

    A graph holds addresses and shapes, so there is one for each key; `forget` drops them all when addresses or shapes change. The first
    run of a key is a plain one: libraries load code and allocate in it, which a capture does not allow.
    """

    def __init__(self, device: Device, stream: Stream, *, graphs: bool) -> None:
        self._device = device
        self._stream = stream
        self._on = graphs and device.graphs
        self._graphs: dict[Hashable, Graph | None] = {}
        self.captures = 0
        """So far."""

    @property
    def on(self) -> bool:
        """Whether graphs are used."""
        return self._on

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        graph = self._graphs.get(key)
        if graph is not None:
            self._device.launch(graph, self._stream)
        elif self._on and key in self._graphs:
            self._graphs[key] = graph = self._device.capture(self._stream, work)
            self.captures += 1
            self._device.launch(graph, self._stream)
        else:
            self._graphs[key] = None
            work()

    def forget(self) -> None:
        for graph in self._graphs.values():
            if graph is not None:
                self._device.drop(graph)
        self._graphs.clear()


class Block:
    """Several tensors side by side in one device buffer and one pinned buffer, so that one copy moves them all."""

    def __init__(self, device: Device, specs: Sequence[TensorSpec], what: str) -> None:
        self.specs = tuple(specs)
        starts, end = _places(self.specs)
        self.memory = device.allocate(max(end, ALIGNMENT), what)
        self.host = device.pinned(max(end, ALIGNMENT))
        self.arrays = {spec.name: _view(self.host, start, spec) for start, spec in zip(starts, self.specs, strict=True)}
        self.addresses = {spec.name: self.memory.address + start for start, spec in zip(starts, self.specs, strict=True)}


def _places(specs: Sequence[TensorSpec]) -> tuple[list[int], int]:
    """Where each tensor starts, and where the last one ends, in bytes."""
    starts, end = [], 0
    for spec in specs:
        starts.append(end)
        end = -(-(end + _nbytes(spec)) // ALIGNMENT) * ALIGNMENT
    return starts, end


def _view(host: Array, start: int, spec: TensorSpec) -> Array:
    return host[start : start + _nbytes(spec)].view(spec.dtype).reshape(spec.shape)


def _nbytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * np.dtype(spec.dtype).itemsize
