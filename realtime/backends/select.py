"""Choose a backend by name, or the best that this machine has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from realtime.backends.base import BUILD, FrameSession, Session, UnavailableError
from realtime.backends.gpus import gpus
from realtime.backends.place import ANYWHERE, Place, device, device_layer, gpu_of, numbered
from realtime.errors import BackendError, UsageError

AUTO = "auto"
ENGINES = ("tensorrt", "tensorrt-rtx")
"""Backends that run engines of the builder alone."""
_CPU = "cpu"
_FOR_GPUS = f"run `pip install 'realtime-faceswap[nvidia]'` and `{BUILD}` (`doctor` explains each backend)"


Say = Callable[[str], None]
"""Tells the user one sentence."""


def open_session(
    path: Path, backend: str = AUTO, *, threads: int = 1, cache: Path | None = None, place: Place = ANYWHERE, say: Say = lambda text: None
) -> Session:
    """Load the ONNX file at `path`. `auto` takes the first backend, in the order of BACKENDS, that loads it.

    `threads` is the number of compute threads; `cache` a folder where a backend may keep compiled networks. When a backend that is there
    fails and another one is taken in its place, `say` is told. Raises UsageError for an unknown backend name, BackendError when nothing
    could load the file.
    """
    if backend != AUTO:
        return _backend(backend).open(path, threads, cache, place)
    reasons: list[str] = []
    failures: list[str] = []
    for each in BACKENDS.values():
        if not place.allows(on_gpu=each.on_gpu):
            continue
        try:
            session = each.open(path, threads, cache, place)
        except UnavailableError as error:
            reasons.append(str(error))
        except BackendError as error:
            failures.append(str(error))
        else:
            if failures:
                say(f"{path.stem} runs on {session.backend}: {failures[0]}")
            return session
    if place.gpu is not None and not failures:
        raise BackendError(f"nothing here runs {path.stem} on GPU {place.gpu}, which --device asks for: {_FOR_GPUS}")
    raise BackendError("; ".join(failures or reasons))


def check(backend: str, device: str) -> None:
    """Find out, before anything is loaded, whether networks can run as `--backend` and `--device` ask for.

    Raises UsageError when the two contradict each other or a GPU has no such number, BackendError when the machine lacks what they ask for.
    """
    numbers = numbered(device)
    if backend == AUTO and not numbers:
        return
    place = Place(numbers[0] if numbers else None, processor_only=device == _CPU)
    statuses = describe(name for name, each in BACKENDS.items() if backend in (AUTO, name) and place.allows(on_gpu=each.on_gpu))
    if not statuses:
        where = "a GPU" if BACKENDS[backend].on_gpu else "the processor"
        raise UsageError(f"--backend {backend} runs on {where}, which --device {device} rules out: leave one of the two out")
    if any(status.usable for status in statuses):
        return
    if backend != AUTO:
        raise BackendError(f"--backend {backend} cannot be used here: {statuses[0].why}")
    why = f"nothing here runs networks on one: {_FOR_GPUS}" if gpus() else statuses[0].why
    raise BackendError(f"--device {device} asks for a GPU, and {why}")


def open_own(path: Path, cache: Path | None) -> Session | None:
    """On machine code of our own, which no other backend on a processor is faster than; None for a network that it does not know."""
    try:
        return _native(path, 1, cache, ANYWHERE)
    except UnavailableError:
        return None


def open_engine(
    path: Path, backend: str, precision: str, arithmetic: str, *, threads: int = 1, cache: Path | None = None, place: Place = ANYWHERE
) -> Session:
    """Load an engine that was built for this machine. Raises BackendError, also for a backend that runs no engines."""
    if backend == "openvino":
        from realtime.backends.openvino import OpenVinoSession

        # What is not quantised in an int8 network is computed in fp32.
        return OpenVinoSession(path, threads=threads, arithmetic="f32" if arithmetic == "int8" else arithmetic, label=precision)
    if backend == "onnxruntime":
        from realtime.backends.onnxruntime import OnnxRuntimeSession

        return OnnxRuntimeSession(path, threads=threads, label=precision)
    if backend in ENGINES:
        from realtime.backends.tensorrt import TensorRtSession

        return TensorRtSession(path, backend, device(place), label=precision, cache=cache)
    raise BackendError(f"engines for {backend} cannot be run by this version: choose another --backend")


def open_frames_engine(path: Path, backend: str, precision: str, *, cache: Path | None = None, place: Place = ANYWHERE) -> FrameSession:
    """Load an engine of a graph that takes whole frames. Raises BackendError."""
    from realtime.backends.tensorrt import TensorRtFrames

    return TensorRtFrames(path, backend, device(place), label=precision, cache=cache)


def open_frames(model: bytes, place: Place = ANYWHERE, *, on_gpu: bool = True, threads: int = 1) -> FrameSession:
    """Load an ONNX graph that takes whole frames on ONNX Runtime, with CUDA or on the processor. Raises BackendError."""
    from realtime.backends.onnxruntime import CPU, OnnxRuntimeFrames, gpu_provider

    if on_gpu:
        gpu_of(place)
    return OnnxRuntimeFrames(model, threads=threads, provider=gpu_provider("cuda", place.gpu or 0, place.share) if on_gpu else CPU)


@dataclass(frozen=True, slots=True)
class BackendStatus:
    name: str
    usable: bool
    version: str
    """Empty when not usable."""
    why: str
    """The reason when not usable, as a sentence with the cure; empty otherwise."""
    note: str = ""
    """What to know of one that is usable."""


def describe(names: Iterable[str] | None = None) -> list[BackendStatus]:
    """The named backends, else all, in order of preference; imports the library of each."""
    wanted = set(BACKENDS if names is None else names)
    return [_status(name) for name in BACKENDS if name in wanted]


def _status(name: str) -> BackendStatus:
    try:
        version, note = BACKENDS[name].status()
    except BackendError as error:
        return BackendStatus(name, usable=False, version="", why=str(error))
    return BackendStatus(name, usable=True, version=version, why="", note=note)


Opener = Callable[[Path, int, Path | None, Place], Session]


@dataclass(frozen=True, slots=True)
class Backend:
    open: Opener
    status: Callable[[], tuple[str, str]]
    """Version and a note, without opening anything. Raises BackendError when it cannot be used here."""
    on_gpu: bool
    limits_memory: bool
    """Whether it can keep to a share of the GPU's memory."""


def backend_of(described: str) -> str:
    """The key in `BACKENDS` of a session's backend, as the session describes it: "cuda" of "onnxruntime cuda fp16"."""
    return described.removeprefix("onnxruntime ").split()[0]


def _backend(name: str) -> Backend:
    if name not in BACKENDS:
        raise UsageError(f"there is no backend {name!r}: choose one of {', '.join((AUTO, *BACKENDS))}")
    return BACKENDS[name]


def _engines_only(name: str) -> Opener:
    def opener(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
        gpu_of(place)
        build = f"`{BUILD} --target {name}`"
        raise UnavailableError(f"{name} runs engines, and none was built of {path.name}: run {build}")

    return opener


def _engines_status(name: str) -> Callable[[], tuple[str, str]]:
    def status() -> tuple[str, str]:
        from realtime.backends import engine

        gpu_of()
        version = str(engine.load(name).__version__)
        layer, lack = device_layer()
        return version, f"driven by {layer}{f'; {lack}' if lack else ''}"

    return status


def _on_provider(option: str) -> Opener:
    def opener(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
        _its_system(option, place)
        from realtime.backends.onnxruntime import OnnxRuntimeSession, gpu_provider

        return OnnxRuntimeSession(path, threads=threads, provider=gpu_provider(option, place.gpu or 0, place.share))

    return opener


def _provider_status(option: str) -> Callable[[], tuple[str, str]]:
    def status() -> tuple[str, str]:
        _its_system(option, ANYWHERE)
        from realtime.backends import onnxruntime

        onnxruntime.require(onnxruntime.load(), onnxruntime.gpu_provider(option))
        return f"ONNX Runtime {onnxruntime.version()}", ""

    return status


def _its_system(option: str, place: Place) -> None:
    """Raises before anything is loaded where the provider cannot be: start-up must not pay for GPUs that are not there."""
    if option == "cuda":
        gpu_of(place)
    elif option == "directml" and sys.platform != "win32":
        raise UnavailableError("DirectML is on Windows only: choose another --backend")
    elif option == "coreml" and sys.platform != "darwin":
        raise UnavailableError("CoreML is on Macs only: choose another --backend")


def _native(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
    from realtime.backends.native.session import NativeSession

    return NativeSession(path, cache=cache)


def _native_status() -> tuple[str, str]:
    from realtime.backends import native

    return native.version(), "for the face mesh alone"


def _openvino(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
    from realtime.backends.openvino import OpenVinoSession

    return OpenVinoSession(path, threads=threads, cache=cache)


def _openvino_status() -> tuple[str, str]:
    from realtime.backends import openvino

    return openvino.version(), ""


def _onnxruntime(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
    from realtime.backends.onnxruntime import OnnxRuntimeSession

    return OnnxRuntimeSession(path, threads=threads)


def _onnxruntime_status() -> tuple[str, str]:
    from realtime.backends import onnxruntime

    return onnxruntime.version(), ""


BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        **{name: Backend(_engines_only(name), _engines_status(name), on_gpu=True, limits_memory=True) for name in ENGINES},
        "cuda": Backend(_on_provider("cuda"), _provider_status("cuda"), on_gpu=True, limits_memory=True),
        "directml": Backend(_on_provider("directml"), _provider_status("directml"), on_gpu=True, limits_memory=False),
        "coreml": Backend(_on_provider("coreml"), _provider_status("coreml"), on_gpu=True, limits_memory=False),
        "native": Backend(_native, _native_status, on_gpu=False, limits_memory=False),
        "openvino": Backend(_openvino, _openvino_status, on_gpu=False, limits_memory=False),
        "onnxruntime": Backend(_onnxruntime, _onnxruntime_status, on_gpu=False, limits_memory=False),
    }
)
"""By preference: GPUs first; then our own code, for the networks that it knows; on x86 OpenVINO runs the others two to three times as fast
as ONNX Runtime."""
