"""ONNX Runtime on the processor: runs everywhere, and any ONNX operator. The library is imported when the first session opens."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec
from realtime.backends.bound import BoundSession
from realtime.errors import BackendError

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
        raise BackendError(f"ONNX Runtime cannot be loaded ({error}): install it with `pip install onnxruntime`.") from error
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


def version() -> str:
    return str(load().__version__)


class OnnxRuntimeSession(BoundSession):
    """One network with our arrays bound as its inputs and outputs. `label` is the precision for reports."""

    def __init__(self, path: Path, *, threads: int = 1, label: str = "fp32") -> None:
        ort = load()
        self._session = _open(ort, path, threads)
        super().__init__(f"onnxruntime cpu {label}", _session_specs(self._session))
        self._binding = self._session.io_binding()
        for name, array in self._inputs.items():
            self._binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        for name, array in self._outputs.items():
            self._binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def _infer(self) -> None:
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:  # the runtime's exceptions share no base but Exception
            raise BackendError(f"ONNX Runtime could not run the network: {_first_line(error)}.") from error

    def close(self) -> None:
        super().close()
        self._binding = self._session = None


def _open(ort: Any, path: Path, threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Idle worker threads that spin for work would take a core away from the capture and blend threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's exceptions share no base but Exception
        raise BackendError(f"ONNX Runtime cannot load {path.name}: {_first_line(error)}.") from error


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
        raise BackendError(f"Input {port.name} has an open shape {port.shape}: export the network with fixed sizes.")
    return tuple(sizes)


def _dtype(port: Any) -> np.dtype[np.generic]:
    if port.type not in _DTYPES:
        raise BackendError(f"Tensor {port.name} has type {port.type}, which is not supported.")
    return np.dtype(_DTYPES[port.type])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
