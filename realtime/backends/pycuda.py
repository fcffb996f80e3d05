"""A GPU through PyCUDA, for those who have it: optional, and without graphs, which it does not offer.

Everything is launched call by call, so a frame costs some tens of launches more than with `cuda-bindings`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from realtime.backends.base import UnavailableError
from realtime.backends.device import Budget, Event, Graph, Memory, Stream
from realtime.errors import BackendError, first_line
from realtime.types import Array

NO_GRAPHS = "PyCUDA has no CUDA graphs: every frame is launched call by call; `pip install cuda-bindings` is faster"


def load() -> Any:
    """The `pycuda.driver` module, ready. Raises BackendError without the package or a driver."""
    try:
        import pycuda.driver as driver
    except (ImportError, OSError) as error:  # it cannot be imported without a driver
        raise UnavailableError(f"PyCUDA cannot be loaded ({error}): install a driver, and pycuda or cuda-bindings") from error
    try:
        driver.init()
    except driver.Error as error:
        raise BackendError(f"PyCUDA cannot start ({first_line(error)}): see whether nvidia-smi shows a GPU") from error
    return driver


def version() -> str:
    from importlib.metadata import version as installed

    load()
    return installed("pycuda")


class PyCudaDevice:
    """`device.Device` on PyCUDA: the primary context, so that TensorRT works in the same one, and its streams and buffers."""

    graphs = False

    def __init__(self, driver: Any, ordinal: int = 0, budget: Budget | None = None) -> None:
        self._cuda = driver
        self._budget = budget or Budget()
        self._charged = 0
        self._memories: dict[int, Memory] = {}
        self._locked: dict[int, Any] = {}
        count = self._call(driver.Device.count)
        if not 0 <= ordinal < count:
            raise BackendError(f"there is no GPU {ordinal}: this machine has {count or 'none'}, counted from 0; name one with --device")
        device = self._call(driver.Device, ordinal)
        self.name = str(self._call(device.name))
        self._context: Any = self._call(device.retain_primary_context)
        self._streams: list[Any] = []

    def __enter__(self) -> Self:
        """PyCUDA keeps a stack of contexts for each thread, and ends the program when one is not empty at the end of its thread."""
        self._call(self._context.push)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._cuda.Context.pop()

    def stream(self) -> Stream:
        stream = self._call(self._cuda.Stream)
        self._streams.append(stream)
        return stream

    def raw(self, stream: Stream) -> int:
        return int(stream.handle)

    def synchronise(self, stream: Stream) -> None:
        self._call(stream.synchronize)

    def event(self) -> Event:
        return self._call(self._cuda.Event, self._cuda.event_flags.DISABLE_TIMING)

    def record(self, event: Event, stream: Stream) -> None:
        self._call(event.record, stream)

    def wait(self, stream: Stream, event: Event) -> None:
        self._call(stream.wait_for_event, event)

    def allocate(self, nbytes: int, what: str) -> Memory:
        self._budget.take(nbytes, what)
        try:
            handle = self._call(self._cuda.mem_alloc, nbytes)
        except BackendError:
            self._budget.give(nbytes)
            raise
        memory = Memory(int(handle), nbytes, handle)
        self._memories[memory.address] = memory
        return memory

    def charge(self, nbytes: int, what: str) -> None:
        self._budget.take(nbytes, what)
        self._charged += nbytes

    def free(self, memory: Memory) -> None:
        del self._memories[memory.address]
        self._budget.give(memory.nbytes)
        self._call(memory.handle.free)

    def pinned(self, nbytes: int) -> Array:
        array: Array = self._call(self._cuda.pagelocked_zeros, nbytes, np.uint8)
        self._locked[array.ctypes.data] = array
        return array

    def free_pinned(self, array: Array) -> None:
        del self._locked[array.ctypes.data]  # unlocked with its last view

    def upload(self, memory: Memory, array: Array, stream: Stream) -> None:
        self._call(self._cuda.memcpy_htod_async, memory.address, array, stream)

    def download(self, array: Array, memory: Memory, stream: Stream) -> None:
        self._call(self._cuda.memcpy_dtoh_async, array, memory.address, stream)

    def capture(self, stream: Stream, work: Callable[[], None]) -> NoReturn:
        raise BackendError(NO_GRAPHS)

    def launch(self, graph: Graph, stream: Stream) -> NoReturn:
        raise BackendError(NO_GRAPHS)

    def drop(self, graph: Graph) -> None:
        """There is none."""

    def close(self) -> None:
        """Free everything; a GPU that has failed does not free, and need not."""
        if self._context is None:
            return
        with suppress(BackendError), self:
            for memory in list(self._memories.values()):
                self._freed(memory)
            self._locked.clear()
            self._streams.clear()
        self._budget.give(self._charged)
        self._context = None  # PyCUDA releases it with its last reference

    def _freed(self, memory: Memory) -> None:
        with suppress(BackendError):
            self.free(memory)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except self._cuda.Error as error:
            raise BackendError(f"PyCUDA failed on the GPU ({first_line(error)}): start the program again, or update the driver") from error
