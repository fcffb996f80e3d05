"""A GPU through NVIDIA's `cuda-bindings`: the driver's own functions, one Python call each. Imported when a GPU session opens.

The driver's functions have kept their names and meaning for a decade, while those of `cuda.core`, which is built on them, still move; they
take the raw pointers that TensorRT wants, and a stand-in for them is forty lines.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np

from realtime.backends.base import BUILD, UnavailableError
from realtime.backends.device import Budget, Event, Graph, Memory, Stream
from realtime.errors import BackendError
from realtime.types import Array

_NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING: does not wait for the stream that other libraries use by default."""
_NO_TIMING = 2
"""CU_EVENT_DISABLE_TIMING: such events cost least."""
_INSTALL = "install it with `pip install cuda-bindings`"

CURES = MappingProxyType(
    {
        "CUDA_ERROR_OUT_OF_MEMORY": "close other programs that use the GPU, or take a smaller --size",
        "CUDA_ERROR_NO_DEVICE": "see whether nvidia-smi shows a GPU",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "restart the machine, its driver was updated",
        "CUDA_ERROR_INVALID_DEVICE": "name another GPU with --device",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "update the NVIDIA driver",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "update the NVIDIA driver",
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "use --backend openvino, and report it",
    }
)
"""Errors of which one knows what to do."""
_OTHERWISE = f"start the program again; if it stays, update the NVIDIA driver and run `{BUILD} --force`"


def load() -> Any:
    """The driver's functions, ready. Raises BackendError without the package, the driver or a GPU."""
    try:
        from cuda.bindings import driver
    except (ImportError, OSError) as error:
        raise UnavailableError(f"cuda-bindings cannot be loaded ({error}): {_INSTALL}") from error
    try:
        (code,) = driver.cuInit(0)
    except RuntimeError as error:  # DynamicLibNotFoundError
        raise UnavailableError("there is no NVIDIA driver on this machine: install it from NVIDIA, or use --device cpu") from error
    _raise_for(code, "starting the NVIDIA driver")
    return driver


def version() -> str:
    from importlib.metadata import version as installed

    load()
    return installed("cuda-bindings")


def _raise_for(code: Any, doing: str) -> None:
    if int(code) == 0:
        return
    name = getattr(code, "name", str(code))
    raise BackendError(f"{name} while {doing}: {CURES.get(name, _OTHERWISE)}")


class CudaDevice:
    """`device.Device` on the driver. `driver` is what `load` gives, or a stand-in with the same functions."""

    graphs = True

    def __init__(self, driver: Any, ordinal: int = 0, budget: Budget | None = None) -> None:
        self._cuda = driver
        self._budget = budget or Budget()
        self._undo: dict[int, Callable[[], None]] = {}
        self._serial = 0
        count = self._call("counting GPUs", driver.cuDeviceGetCount())
        if not 0 <= ordinal < count:
            raise BackendError(f"there is no GPU {ordinal}: this machine has {count or 'none'}, counted from 0; name one with --device")
        self._device = self._call("opening the GPU", driver.cuDeviceGet(ordinal))
        self.name = self._call("opening the GPU", driver.cuDeviceGetName(128, self._device)).decode("utf-8", "replace").strip("\0")
        self._context = self._call("opening the GPU", driver.cuDevicePrimaryCtxRetain(self._device))

    def __enter__(self) -> Self:
        self._call("taking the GPU", self._cuda.cuCtxSetCurrent(self._context))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """It may stay the thread's: taking another replaces it."""

    # -- streams and events ----------------------------------------------------------------------------------

    def stream(self) -> Stream:
        stream = self._call("making a stream", self._cuda.cuStreamCreate(_NON_BLOCKING))
        self._keep(lambda: self._call("ending a stream", self._cuda.cuStreamDestroy(stream)))
        return stream

    def raw(self, stream: Stream) -> int:
        return int(stream)

    def synchronise(self, stream: Stream) -> None:
        self._call("running a network", self._cuda.cuStreamSynchronize(stream))

    def event(self) -> Event:
        event = self._call("making an event", self._cuda.cuEventCreate(_NO_TIMING))
        self._keep(lambda: self._call("ending an event", self._cuda.cuEventDestroy(event)))
        return event

    def record(self, event: Event, stream: Stream) -> None:
        self._call("recording an event", self._cuda.cuEventRecord(event, stream))

    def wait(self, stream: Stream, event: Event) -> None:
        self._call("waiting for an event", self._cuda.cuStreamWaitEvent(stream, event, 0))

    # -- memory ----------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int, what: str) -> Memory:
        self._budget.take(nbytes, what)
        try:
            pointer = self._call(f"allocating {nbytes / 1e6:.1f} MB for {what}", self._cuda.cuMemAlloc(nbytes))
        except BackendError:
            self._budget.give(nbytes)
            raise
        memory = Memory(int(pointer), nbytes)

        def undo() -> None:
            self._budget.give(nbytes)
            self._call("freeing memory", self._cuda.cuMemFree(memory.address))

        memory.handle = self._keep(undo)
        return memory

    def charge(self, nbytes: int, what: str) -> None:
        self._budget.take(nbytes, what)
        self._keep(lambda: self._budget.give(nbytes))

    def free(self, memory: Memory) -> None:
        self._undo.pop(memory.handle)()

    def pinned(self, nbytes: int) -> Array:
        pointer = int(self._call(f"locking {nbytes / 1e6:.1f} MB of memory", self._cuda.cuMemHostAlloc(nbytes, 0)))
        array: Array = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))
        array.fill(0)
        self._undo[-pointer] = lambda: self._call("unlocking memory", self._cuda.cuMemFreeHost(pointer))
        return array

    def free_pinned(self, array: Array) -> None:
        self._undo.pop(-array.ctypes.data)()

    def upload(self, memory: Memory, array: Array, stream: Stream) -> None:
        self._call("copying to the GPU", self._cuda.cuMemcpyHtoDAsync(memory.address, array.ctypes.data, array.nbytes, stream))

    def download(self, array: Array, memory: Memory, stream: Stream) -> None:
        self._call("copying from the GPU", self._cuda.cuMemcpyDtoHAsync(array.ctypes.data, memory.address, array.nbytes, stream))

    # -- graphs ----------------------------------------------------------------------------------------------

    def capture(self, stream: Stream, work: Callable[[], None]) -> Graph:
        # Other threads of the program may allocate meanwhile, this one may not.
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._call("beginning a graph", self._cuda.cuStreamBeginCapture(stream, mode))
        try:
            work()
        except BaseException:
            self._cuda.cuStreamEndCapture(stream)  # the stream must not stay in capture; what went wrong comes first
            raise
        graph = self._call("capturing a graph", self._cuda.cuStreamEndCapture(stream))
        try:
            executable = self._call("making a graph", self._cuda.cuGraphInstantiate(graph, 0))
        finally:
            self._call("ending a graph", self._cuda.cuGraphDestroy(graph))
        return executable, self._keep(lambda: self._call("ending a graph", self._cuda.cuGraphExecDestroy(executable)))

    def launch(self, graph: Graph, stream: Stream) -> None:
        self._call("launching a graph", self._cuda.cuGraphLaunch(graph[0], stream))

    def drop(self, graph: Graph) -> None:
        self._undo.pop(graph[1])()

    def close(self) -> None:
        """Free everything, the youngest first; a GPU that has failed does not free, and need not."""
        if self._context is None:
            return
        self._cuda.cuCtxSetCurrent(self._context)
        while self._undo:
            _, undo = self._undo.popitem()
            _despite_errors(undo)
        self._cuda.cuDevicePrimaryCtxRelease(self._device)
        self._context = None

    def _keep(self, undo: Callable[[], None]) -> int:
        """Remember how to free something until `close`, under a number."""
        self._serial += 1
        self._undo[self._serial] = undo
        return self._serial

    def _call(self, doing: str, result: Any) -> Any:
        """The value of a call to the driver; raises BackendError for its error."""
        code, *values = result
        _raise_for(code, f"{doing}{f' on {self.name}' if hasattr(self, 'name') else ''}")
        return values[0] if values else None


def _despite_errors(undo: Callable[[], None]) -> None:
    with suppress(BackendError):
        undo()
