"""Choose a backend by name, or the best that this machine has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from realtime.backends.base import Session
from realtime.errors import BackendError, UsageError

AUTO = "auto"


def open_session(path: Path, backend: str = AUTO, *, threads: int = 1, cache: Path | None = None) -> Session:
    """Load the ONNX file at `path`. `auto` takes the first backend, in the order of BACKENDS, that loads it.

    `threads` is the number of compute threads; `cache` a folder where a backend may keep compiled networks.
    Raises UsageError for an unknown backend name, BackendError when nothing could load the file.
    """
    if backend != AUTO:
        return _opener(backend)(path, threads, cache)
    reasons = []
    for opener in BACKENDS.values():
        try:
            return opener(path, threads, cache)
        except BackendError as error:
            reasons.append(str(error))
    raise BackendError(" ".join(reasons))


def open_engine(path: Path, backend: str, precision: str, arithmetic: str, *, threads: int = 1) -> Session:
    """Load an engine that was built for this machine. Raises BackendError, also for a backend that runs no engines on a processor."""
    if backend == "openvino":
        from realtime.backends.openvino import OpenVinoSession

        # What is not quantised in an int8 network is computed in fp32.
        return OpenVinoSession(path, threads=threads, arithmetic="f32" if arithmetic == "int8" else arithmetic, label=precision)
    if backend == "onnxruntime":
        from realtime.backends.onnxruntime import OnnxRuntimeSession

        return OnnxRuntimeSession(path, threads=threads, label=precision)
    raise BackendError(f"Engines for {backend} cannot be run by this version: choose another --backend.")


@dataclass(frozen=True, slots=True)
class BackendStatus:
    name: str
    usable: bool
    version: str
    """Empty when not usable."""
    why: str
    """The reason when not usable, as a sentence with the cure; empty otherwise."""


def describe() -> list[BackendStatus]:
    """Every backend in order of preference; imports each library."""
    return [_status(name) for name in BACKENDS]


def _status(name: str) -> BackendStatus:
    try:
        version: str = import_module(f"realtime.backends.{name}").version()
    except BackendError as error:
        return BackendStatus(name, usable=False, version="", why=str(error))
    return BackendStatus(name, usable=True, version=version, why="")


Opener = Callable[[Path, int, Path | None], Session]


def _opener(name: str) -> Opener:
    if name not in BACKENDS:
        raise UsageError(f"There is no backend {name!r}: choose one of {', '.join((AUTO, *BACKENDS))}.")
    return BACKENDS[name]


def _openvino(path: Path, threads: int, cache: Path | None) -> Session:
    from realtime.backends.openvino import OpenVinoSession

    return OpenVinoSession(path, threads=threads, cache=cache)


def _onnxruntime(path: Path, threads: int, cache: Path | None) -> Session:
    from realtime.backends.onnxruntime import OnnxRuntimeSession

    return OnnxRuntimeSession(path, threads=threads)


BACKENDS: Mapping[str, Opener] = MappingProxyType({"openvino": _openvino, "onnxruntime": _onnxruntime})
"""By preference: OpenVINO runs the default networks two to three times as fast as ONNX Runtime."""
