"""OpenVINO on the processor: the fastest of the CPU backends on x86-64. The library is imported when the first session opens."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec, UnavailableError
from realtime.backends.bound import BoundSession
from realtime.errors import BackendError

_CONVERTER = "openvino.tools.ovc"
"""OpenVINO's model converter: importing it sends a usage event over the network, and we have no use for it."""

BLOB = ".blob"
"""Ends the names of exported networks."""


def load() -> Any:
    """The `openvino` module, imported without its converter and so without telemetry. Raises BackendError when it is missing."""
    try:
        with _blocked(_CONVERTER, "openvino_telemetry"):
            import openvino
    except (ImportError, OSError) as error:
        raise UnavailableError(f"OpenVINO cannot be loaded ({error}): install it with `pip install openvino`") from error
    return openvino


def version() -> str:
    return str(load().__version__).split("-", 1)[0]


class OpenVinoSession(BoundSession):
    """One network in one infer request whose tensors are our arrays, so that a run neither allocates nor copies.

    `path` is an ONNX file, or a network that OpenVINO exported compiled (BLOB). `cache` is a folder for compiled networks: it halves the
    start-up time from the second run on. None: compile anew. `label` is the precision for reports.
    """

    def __init__(self, path: Path, *, threads: int = 1, cache: Path | None = None, arithmetic: str = "f32", label: str = "fp32") -> None:
        ov = load()
        options = cpu_options(threads, arithmetic)
        compiled = _import(ov, path, options) if path.suffix == BLOB else _compile(ov, path, options, cache)
        super().__init__(f"openvino cpu {label}", SessionSpecs(_specs(compiled.inputs), _specs(compiled.outputs)))
        self._request = compiled.create_infer_request()
        for index, array in enumerate(self._inputs.values()):
            self._request.set_input_tensor(index, ov.Tensor(array, shared_memory=True))
        for index, array in enumerate(self._outputs.values()):
            self._request.set_output_tensor(index, ov.Tensor(array, shared_memory=True))

    def _infer(self) -> None:
        try:
            # In this thread: handing over to the library's own and back costs 2 ms a frame when other threads are at work.
            self._request.infer(share_outputs=True)
        except RuntimeError as error:
            raise BackendError(f"OpenVINO could not run the network: {_first_line(error)}") from error

    def close(self) -> None:
        super().close()
        self._request = None


@contextmanager
def _blocked(*names: str) -> Iterator[None]:
    """Make `import name` fail inside the block, for names not imported yet."""
    blocked = [name for name in names if name not in sys.modules]
    for name in blocked:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in blocked:
            del sys.modules[name]


def cpu_options(threads: int, arithmetic: str = "f32") -> dict[str, object]:
    """How the networks run on a processor. `arithmetic`: f32, or bf16 or f16 where the processor has it."""
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        # Pinned to a core, the calling thread would have to wait whenever another stage's thread is at work there.
        "ENABLE_CPU_PINNING": False,
        # The default is bfloat16 where the processor has it: 8 significant bits, too few for coordinates of up to 192 pixels.
        "INFERENCE_PRECISION_HINT": arithmetic,
    }


def _import(ov: Any, path: Path, options: dict[str, object]) -> Any:
    try:
        return ov.Core().import_model(path.read_bytes(), "CPU", options)
    except (OSError, RuntimeError) as error:
        raise BackendError(f"OpenVINO cannot load {path.name}: {_first_line(error)}") from error


def _compile(ov: Any, path: Path, options: dict[str, object], cache: Path | None) -> Any:
    try:
        # Our own copy of the bytes: a memory-mapped file could not be replaced on Windows while it is in use.
        core = ov.Core()
        core.set_property({"ENABLE_MMAP": False})
        return _compile_cached(core, path, options, cache) or core.compile_model(fixed(core.read_model(path)), "CPU", options)
    except RuntimeError as error:
        raise BackendError(f"OpenVINO cannot load {path.name}: {_first_line(error)}") from error


def _compile_cached(core: Any, path: Path, options: dict[str, object], cache: Path | None) -> Any:
    """The compiled network by way of the cache folder, or None when the folder, or what lies in it, is of no use."""
    if cache is None or not _writable(cache):
        return None
    try:
        # Given the path instead of a parsed model, a network found in the cache is not even read.
        compiled = core.compile_model(str(path), "CPU", {**options, "CACHE_DIR": str(cache)})
    except RuntimeError:
        return None
    return None if any(port.partial_shape.is_dynamic for port in compiled.inputs) else compiled


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def fixed(model: Any) -> Any:
    """The model with an open batch size set to one; any other open size is the caller's to fix in the file."""
    if not model.is_dynamic():
        return model
    shapes = {}
    for port in model.inputs:
        shape = port.partial_shape
        if len(shape) and shape[0].is_dynamic:
            shape[0] = 1
        if shape.is_dynamic:
            raise BackendError(f"input {port.any_name} has an open shape {shape}: export the network with fixed sizes")
        shapes[port.any_name] = shape
    model.reshape(shapes)
    return model


def _specs(ports: Any) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(_name_of(port), tuple(port.shape), np.dtype(port.element_type.to_dtype())) for port in ports)


def _name_of(port: Any) -> str:
    """The network's own name of an input or output. Compiling merges tensors, after which `any_name` may be an inner tensor's name."""
    own = str(port.get_node().get_friendly_name()).removesuffix("/sink_port_0")
    return own if own in port.names else str(port.any_name)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__).rstrip(".")
