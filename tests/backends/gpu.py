"""A GPU that is not there: a driver that records every call and works lazily, stream by stream; `library` has a TensorRT for it.

Copies and executions happen when somebody waits for their stream, as late as a real GPU might: whoever overwrites a buffer too early, or
reads one too early, gets wrong numbers. What was captured runs at the launch, with the addresses of the capture. Fresh memory holds
anything, and what is copied from or to memory that is gone by then is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import IntEnum
from threading import get_ident
from types import SimpleNamespace
from typing import Any

Operation = Callable[[], None]


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_LAUNCH_FAILED = 719


OK = Result.CUDA_SUCCESS


class FakeDriver:
    """Has the functions of `cuda.bindings.driver` that `CudaDevice` calls. `fail` maps a function to the error that it gives."""

    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread local")

    def __init__(self, gpus: int = 1) -> None:
        self.gpus = gpus
        self.calls: list[tuple[str, Any]] = []
        self.fail: dict[str, Result] = {}
        self.alive: dict[tuple[str, int], Any] = {}
        self.contexts = 0
        self.current: dict[int, str] = {}
        """Thread -> the context that is its own."""
        self._next = 100
        self._queues: dict[int, list[Operation]] = {}
        self._capturing: dict[int, list[Operation]] = {}
        self._passed: dict[int, tuple[int, int]] = {}

    def count(self, name: str) -> int:
        return sum(called == name for called, _ in self.calls)

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def _note(self, name: str, value: Any = None) -> Result:
        assert get_ident() in self.current or name.startswith(("cuInit", "cuDevice")), f"{name} in a thread that has not taken the GPU"
        self.calls.append((name, value))
        return self.fail.get(name, OK)

    def _made(self, kind: str, name: str, value: Any = None) -> tuple[Result, int]:
        code = self._note(name, value)
        if code:
            return code, 0
        self._next += 1
        self.alive[kind, self._next] = value
        return OK, self._next

    def _gone(self, kind: str, name: str, handle: int) -> tuple[Result]:
        code = self._note(name, handle)
        if not code and (kind, handle) not in self.alive:
            raise AssertionError(f"{name}: {kind} {handle} is not alive: freed twice?")
        self.alive.pop((kind, handle), None)
        return (code,)

    # -- devices and contexts --------------------------------------------------------------------------------

    def cuInit(self, flags: int) -> tuple[Result]:  # noqa: N802 - CUDA's names
        return (self._note("cuInit"),)

    def cuDeviceGetCount(self) -> tuple[Result, int]:  # noqa: N802
        return OK, self.gpus

    def cuDeviceGet(self, ordinal: int) -> tuple[Result, int]:  # noqa: N802
        return OK, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> tuple[Result, bytes]:  # noqa: N802
        return OK, f"Fake GPU {device}".encode() + b"\0" * 20

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Result, str]:  # noqa: N802
        self.contexts += 1
        return self._note("cuDevicePrimaryCtxRetain", device), f"context {device}"

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[Result]:  # noqa: N802
        self.contexts -= 1
        return (self._note("cuDevicePrimaryCtxRelease", device),)

    def cuCtxSetCurrent(self, context: str) -> tuple[Result]:  # noqa: N802
        self.current[get_ident()] = context
        return (self.fail.get("cuCtxSetCurrent", OK),)

    # -- streams and events ----------------------------------------------------------------------------------

    def cuStreamCreate(self, flags: int) -> tuple[Result, int]:  # noqa: N802
        code, stream = self._made("stream", "cuStreamCreate", flags)
        self._queues[stream] = []
        return code, stream

    def cuStreamDestroy(self, stream: int) -> tuple[Result]:  # noqa: N802
        return self._gone("stream", "cuStreamDestroy", stream)

    def cuStreamSynchronize(self, stream: int) -> tuple[Result]:  # noqa: N802
        code = self._note("cuStreamSynchronize", stream)
        if not code:
            self._drain(stream)
        return (code,)

    def cuEventCreate(self, flags: int) -> tuple[Result, int]:  # noqa: N802
        code, event = self._made("event", "cuEventCreate", flags)
        if not code:
            self.alive["event", event] = 0  # how often it has passed
        return code, event

    def cuEventDestroy(self, event: int) -> tuple[Result]:  # noqa: N802
        return self._gone("event", "cuEventDestroy", event)

    def cuEventRecord(self, event: int, stream: int) -> tuple[Result]:  # noqa: N802
        self._passed[event] = (stream, self._passed.get(event, (0, 0))[1] + 1)
        serial = self._passed[event][1]
        self._queues[stream].append(lambda: self.alive.__setitem__(("event", event), serial))
        return (self._note("cuEventRecord", (event, stream)),)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[Result]:  # noqa: N802
        if event in self._passed:
            recorder, serial = self._passed[event]
            self._queues[stream].append(lambda: self._await(event, recorder, serial))
        return (self._note("cuStreamWaitEvent", (stream, event)),)

    def _await(self, event: int, recorder: int, serial: int) -> None:
        while self.alive.get(("event", event), serial) < serial:
            self._queues[recorder].pop(0)()

    def _drain(self, stream: int) -> None:
        while self._queues[stream]:
            self._queues[stream].pop(0)()

    def put(self, stream: int, operation: Operation) -> None:
        """Work for a stream, or for the graph that it is captured into."""
        (self._capturing[stream] if stream in self._capturing else self._queues[stream]).append(operation)

    # -- memory ----------------------------------------------------------------------------------------------

    def _buffer(self, kind: str, name: str, nbytes: int) -> tuple[Result, int]:
        code = self._note(name, nbytes)
        if code:
            return code, 0
        buffer = (ctypes.c_uint8 * (nbytes + 256)).from_buffer(bytearray(b"\xcd") * (nbytes + 256))
        address = -(-ctypes.addressof(buffer) // 256) * 256
        self.alive[kind, address] = buffer
        return OK, address

    def cuMemAlloc(self, nbytes: int) -> tuple[Result, int]:  # noqa: N802
        assert not self._capturing, "a capture may not allocate"
        return self._buffer("memory", "cuMemAlloc", nbytes)

    def cuMemFree(self, address: int) -> tuple[Result]:  # noqa: N802
        return self._gone("memory", "cuMemFree", address)

    def cuMemHostAlloc(self, nbytes: int, flags: int) -> tuple[Result, int]:  # noqa: N802
        return self._buffer("pinned", "cuMemHostAlloc", nbytes)

    def cuMemFreeHost(self, address: int) -> tuple[Result]:  # noqa: N802
        return self._gone("pinned", "cuMemFreeHost", address)

    def cuMemcpyHtoDAsync(self, to: int, source: int, nbytes: int, stream: int) -> tuple[Result]:  # noqa: N802
        self.put(stream, lambda: self._copy("upload", to, source, nbytes))
        return (self._note("cuMemcpyHtoDAsync", (nbytes, stream)),)

    def cuMemcpyDtoHAsync(self, to: int, source: int, nbytes: int, stream: int) -> tuple[Result]:  # noqa: N802
        self.put(stream, lambda: self._copy("download", to, source, nbytes))
        return (self._note("cuMemcpyDtoHAsync", (nbytes, stream)),)

    def cuMemcpyDtoDAsync(self, to: int, source: int, nbytes: int, stream: int) -> tuple[Result]:  # noqa: N802
        self.put(stream, lambda: self._copy("move", to, source, nbytes))
        return (self._note("cuMemcpyDtoDAsync", (nbytes, stream)),)

    def _copy(self, name: str, to: int, source: int, nbytes: int) -> None:
        self._note(name, nbytes)
        self.check(to, nbytes, "pinned" if name == "download" else "memory")
        self.check(source, nbytes, "pinned" if name == "upload" else "memory")
        ctypes.memmove(to, source, nbytes)

    def check(self, address: int, nbytes: int, kind: str) -> None:
        """That this is within what was allocated and is not freed yet."""
        for (found, start), buffer in self.alive.items():
            if found == kind and start <= address and address + nbytes <= start + ctypes.sizeof(buffer) - 256:
                return
        raise AssertionError(f"{nbytes} bytes at {address} are no {kind}, or no more")

    # -- graphs ----------------------------------------------------------------------------------------------

    def cuStreamBeginCapture(self, stream: int, mode: str) -> tuple[Result]:  # noqa: N802
        assert mode == "thread local"
        code = self._note("cuStreamBeginCapture", stream)
        assert stream not in self._capturing, "it is in capture already"
        if not code:
            self._capturing[stream] = []
        return (code,)

    def cuStreamEndCapture(self, stream: int) -> tuple[Result, int]:  # noqa: N802
        return self._made("graph", "cuStreamEndCapture", self._capturing.pop(stream))

    def cuGraphInstantiate(self, graph: int, flags: int) -> tuple[Result, int]:  # noqa: N802
        return self._made("executable", "cuGraphInstantiate", self.alive["graph", graph])

    def cuGraphDestroy(self, graph: int) -> tuple[Result]:  # noqa: N802
        return self._gone("graph", "cuGraphDestroy", graph)

    def cuGraphExecDestroy(self, executable: int) -> tuple[Result]:  # noqa: N802
        return self._gone("executable", "cuGraphExecDestroy", executable)

    def cuGraphLaunch(self, executable: int, stream: int) -> tuple[Result]:  # noqa: N802
        code = self._note("cuGraphLaunch", executable)
        if not code:
            self._queues[stream].extend(self.alive["executable", executable])
        return (code,)
