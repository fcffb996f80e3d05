"""ONNX Runtime on the processor, which runs everywhere and any ONNX operator, and on GPUs by its providers.

The library is imported when the first session opens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec, UnavailableError
from realtime.backends.bound import BoundSession, aligned_zeros
from realtime.errors import BackendError, first_line
from realtime.types import Array

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}
_ERRORS_ONLY = 3
_NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Read by the library when its native part starts (releases from 1.29 on; older ones send nothing and ignore it)."""


def load() -> Any:
    """The `onnxruntime` module, its telemetry off: everything of ours that needs the library, or a part of it, calls this first.

    Raises BackendError when it is missing.
    """
    try:
        with nullcontext() if "onnxruntime" in sys.modules else _set(_NO_TELEMETRY, "1"):
            import onnxruntime
    except (ImportError, OSError) as error:
        raise UnavailableError(f"ONNX Runtime cannot be loaded ({error}): install it with `pip install onnxruntime`") from error
    onnxruntime.disable_telemetry_events()  # the events of Windows, which the variable does not concern
    return onnxruntime


@contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    """An environment variable for the length of the block: the user's own environment is as before afterwards."""
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


@dataclass(frozen=True, slots=True)
class Provider:
    """Where ONNX Runtime runs a network."""

    option: str
    """As in --backend; empty for the processor."""
    library_name: str
    title: str
    package: str
    """What to install to have it."""
    ordinal: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    limits_memory: bool = False

    @property
    def name(self) -> str:
        return self.option or "cpu"


_CPU_NAME = "CPUExecutionProvider"
_FRAME = "frame"
CPU = Provider("", _CPU_NAME, "the processor", "onnxruntime")


def gpu_provider(option: str, ordinal: int = 0, memory: int | None = None) -> Provider:
    """`cuda`, `directml` or `coreml` on the GPU of this number; `memory`: the most bytes for a session there, where that can be said."""
    if option == "cuda":
        # The default doubles its arena when it is full, and times every algorithm of each convolution at the first run.
        options = {"device_id": str(ordinal), "arena_extend_strategy": "kSameAsRequested", "cudnn_conv_algo_search": "HEURISTIC"}
        options |= {} if memory is None else {"gpu_mem_limit": str(memory)}
        return Provider(option, "CUDAExecutionProvider", "CUDA", "onnxruntime-gpu", ordinal, options, limits_memory=True)
    if option == "directml":
        return Provider(option, "DmlExecutionProvider", "DirectML", "onnxruntime-directml", ordinal, {"device_id": str(ordinal)})
    return Provider("coreml", "CoreMLExecutionProvider", "CoreML", "onnxruntime", 0, {"ModelFormat": "MLProgram", "MLComputeUnits": "ALL"})


def require(ort: Any, provider: Provider) -> None:
    """Raises UnavailableError when this build of the library does not have the provider."""
    if provider.library_name in ort.get_available_providers():
        if provider.option == "cuda" and hasattr(ort, "preload_dlls"):
            ort.preload_dlls()  # CUDA's libraries that pip has installed beside it
        return
    if provider.option == "coreml":
        raise UnavailableError("CoreML is on Macs only: choose another --backend")
    if provider.option == "directml" and sys.platform != "win32":
        raise UnavailableError("DirectML is on Windows only: choose another --backend")
    cure = f"run `pip uninstall onnxruntime`, then `pip install {provider.package}`"
    raise UnavailableError(f"the installed ONNX Runtime is without {provider.title}: {cure}")


def version() -> str:
    return str(load().__version__)


class OnnxRuntimeSession(BoundSession):
    """One network with our arrays bound as its inputs and outputs; a provider of a GPU copies them there and back.

    `label` is the precision for reports. Raises UnavailableError where this build of the library lacks the provider.
    """

    def __init__(self, path: Path, *, threads: int = 1, label: str = "fp32", provider: Provider = CPU) -> None:
        ort = load()
        self._session = _open(ort, path, threads, provider)
        super().__init__(f"onnxruntime {provider.name} {label}", _session_specs(self._session))
        self._binding = self._session.io_binding()
        for name, array in self._inputs.items():
            self._binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        for name, array in self._outputs.items():
            self._binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def _infer(self) -> None:
        _run(self._session, self._binding)

    def close(self) -> None:
        super().close()
        self._binding = self._session = None


class OnnxRuntimeFrames:
    """A `base.FrameSession` on a graph with an open input `frame`; CUDA gets each frame once, however often it is run on."""

    def __init__(self, model: bytes, *, threads: int = 1, label: str = "fp32", provider: Provider = CPU) -> None:
        self._ort = load()
        self._session = _open(self._ort, model, threads, provider)
        self.backend = f"onnxruntime {provider.name} {label}"
        self._device = provider
        self._binding = self._session.io_binding()
        ports = [port for port in self._session.get_inputs() if port.name != _FRAME]
        self._small = {port.name: aligned_zeros(TensorSpec(port.name, _fixed(port), _dtype(port))) for port in ports}
        self._given = {port.name: aligned_zeros(TensorSpec(port.name, _fixed(port), _dtype(port))) for port in self._session.get_outputs()}
        for name, array in self._small.items():
            self._binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        for name, array in self._given.items():
            self._binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        self._frame: Array | None = None
        self._kept: Array | None = None  # the same pixels, side by side
        self._there: Any = None

    @property
    def inputs(self) -> Mapping[str, Array]:
        return self._small

    def takes(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == 3 and shape[2] == 3

    def run(self, frame: Array) -> Mapping[str, Array]:
        if self._session is None:
            raise BackendError(f"this {self.backend} session was closed: open the model again")
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise BackendError(f"expected {_FRAME} (h, w, 3) uint8, got {frame.shape} {frame.dtype}")
        if frame is not self._frame:
            self._bring(frame)
        _run(self._session, self._binding)
        return self._given

    def _bring(self, given: Array) -> None:
        frame = np.ascontiguousarray(given)
        if self._device.option != "cuda":
            self._binding.bind_input(_FRAME, "cpu", 0, frame.dtype, frame.shape, frame.ctypes.data)
        elif self._there is not None and tuple(self._there.shape()) == frame.shape:
            self._there.update_inplace(frame)
        else:
            self._there = self._ort.OrtValue.ortvalue_from_numpy(frame, "cuda", self._device.ordinal)
            self._binding.bind_ortvalue_input(_FRAME, self._there)
        self._frame, self._kept = given, frame

    def watch(self, upcoming: Callable[[], Array | None]) -> None:
        """The library uploads when it runs."""

    def close(self) -> None:
        self._binding = self._session = self._there = self._frame = self._kept = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _run(session: Any, binding: Any) -> None:
    try:
        session.run_with_iobinding(binding)
    except Exception as error:  # the runtime's exceptions share no base but Exception
        raise BackendError(f"ONNX Runtime could not run the network: {first_line(error)}") from error


def _open(ort: Any, model: Path | bytes, threads: int, provider: Provider) -> Any:
    require(ort, provider)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Idle worker threads that spin for work would take a core away from the capture and blend threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if provider.option == "directml":
        options.enable_mem_pattern = False  # it takes no patterns of memory
    name = model.name if isinstance(model, Path) else "a graph"
    providers = [(provider.library_name, dict(provider.options)), *([_CPU_NAME] if provider is not CPU else [])]
    try:
        session = ort.InferenceSession(str(model) if isinstance(model, Path) else model, options, providers=providers)
    except Exception as error:  # the runtime's exceptions share no base but Exception
        raise BackendError(f"ONNX Runtime cannot load {name}: {first_line(error)}") from error
    if session.get_providers()[0] != provider.library_name:
        # It takes the processor when a provider fails, and goes on as if nothing had happened.
        raise BackendError(f"ONNX Runtime did not get {provider.title} to work: see whether its libraries fit the driver")
    return session


def _session_specs(session: Any) -> SessionSpecs:
    inputs = tuple(TensorSpec(port.name, _fixed(port), _dtype(port)) for port in session.get_inputs())
    outputs = session.get_outputs()
    if all(isinstance(size, int) for port in outputs for size in port.shape):
        return SessionSpecs(inputs, tuple(TensorSpec(port.name, tuple(port.shape), _dtype(port)) for port in outputs))
    # The file does not say how large its outputs are: one run tells.
    values = session.run(None, {spec.name: np.zeros(spec.shape, spec.dtype) for spec in inputs})
    return SessionSpecs(inputs, tuple(TensorSpec(p.name, v.shape, v.dtype) for p, v in zip(outputs, values, strict=True)))


def _fixed(port: Any) -> tuple[int, ...]:
    """The input's shape, an open batch size taken as one."""
    sizes = [1 if index == 0 and not isinstance(size, int) else size for index, size in enumerate(port.shape)]
    if not all(isinstance(size, int) for size in sizes):
        raise BackendError(f"input {port.name} has an open shape {port.shape}: export the network with fixed sizes")
    return tuple(sizes)


def _dtype(port: Any) -> np.dtype[np.generic]:
    if port.type not in _DTYPES:
        raise BackendError(f"tensor {port.name} has type {port.type}, which is not supported")
    return np.dtype(_DTYPES[port.type])
