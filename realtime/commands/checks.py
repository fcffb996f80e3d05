"""What the doctor looks at. Each check is a function that gives findings, and looks without changing anything."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from realtime import __version__
from realtime.commands.output import megabytes, program
from realtime.errors import RealtimeError
from realtime.machine import cores, cpu_features, cpu_name

Status = Literal["ok", "note", "cure"]

TESTED_PYTHONS = ((3, 11), (3, 13))
NEEDED_DISK = 500e6
"""Bytes: the wheels being fetched, the converted models and the compiled kernels, with room to spare."""


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    status: Status
    """ok; note: the default swap runs without it; cure: the swap cannot run until it is mended."""
    detail: str
    """What was found and, unless it is ok, how to mend it."""


Check = Callable[[], Iterator[Finding]]


def examine(engines: Path | None = None) -> list[Finding]:
    """Every check in turn. One that breaks is a finding too: the doctor is for machines on which things break.

    `engines`: a folder of built engines that is looked at instead of the usual one.
    """
    findings: list[Finding] = []
    checks: dict[str, Check] = dict(CHECKS)
    if engines is not None:
        checks["engines"] = partial(_engines, engines)
    for name, check in checks.items():
        try:
            findings.extend(check())
        except RealtimeError as error:
            findings.append(Finding(name, "cure", str(error)))
        except Exception as error:
            findings.append(Finding(name, "cure", f"this check failed ({type(error).__name__}: {error}): please report it"))
    return findings


def healthy(findings: list[Finding]) -> bool:
    """Whether the default swap can run here."""
    return all(finding.status != "cure" for finding in findings)


def _python() -> Iterator[Finding]:
    version = f"{platform.python_implementation()} {platform.python_version()} in {sys.prefix}"
    low, high = TESTED_PYTHONS
    if low <= sys.version_info[:2] <= high:
        yield Finding("python", "ok", version)
    else:
        yield Finding("python", "note", f"{version}: tested with 3.{low[1]} to 3.{high[1]} only; use one of those if something fails")


def _system() -> Iterator[Finding]:
    import psutil

    memory = psutil.virtual_memory()
    found = f"realtime-faceswap {__version__} on {platform.platform()}, {memory.total / 2**30:.0f} GiB memory"
    low = memory.available < 600e6
    yield Finding("system", "note" if low else "ok", found + (", nearly all in use: close other programs" if low else ""))
    count = cores()
    few = "; the live swap wants two cores: expect dropped frames" if count < 2 else ""
    yield Finding("cpu", "note" if few else "ok", f"{cpu_name()}, {count} cores, {' '.join(cpu_features()) or 'no vector extensions'}{few}")


def _engines(folder: Path | None = None) -> Iterator[Finding]:
    """Engines that were built: which of them a run uses, and why it would refuse one."""
    from realtime.backends.gpus import first_gpu
    from realtime.backends.select import describe
    from realtime.builder import manifest
    from realtime.commands.firstrun import engined
    from realtime.errors import BackendError
    from realtime.storage import engines_folder, model_store

    folder, store = folder or engines_folder(), model_store().folder
    versions = {backend.name: backend.version for backend in describe() if backend.usable}
    found, gpu = list(engined(folder, store)), first_gpu()
    if not found:
        yield Finding("engines", "ok", f"none built: the models are used as they are (`{program()} engines` builds)")
    for network in found:
        made_of = (network.paths, versions, gpu)
        try:
            entry = manifest.find(folder, network.name, *made_of, graph=network.recipe.graph)
            waiting = manifest.pending(folder, network.name, *made_of, network.recipe.graph)
        except BackendError as error:
            yield Finding(f"engine {network.name}", "note", str(error))
            continue
        none = "built without this GPU: the next run judges it" if waiting else "none for a backend that runs here"
        detail = f"{entry.target} {entry.precision}, {entry.ms:.1f} ms" if entry else none
        yield Finding(f"engine {network.name}", "ok", detail)


def _backends() -> Iterator[Finding]:
    from realtime.backends.select import describe

    found = describe()
    any_usable = any(backend.usable for backend in found)
    for backend in found:
        detail = ", ".join(filter(None, (backend.version, backend.note))) if backend.usable else backend.why
        yield Finding(f"backend {backend.name}", "ok" if backend.usable else "note" if any_usable else "cure", detail)


def _gpus() -> Iterator[Finding]:
    """NVIDIA's, by the driver; those of others show among the backends."""
    from realtime.backends.gpus import gpus

    found = gpus()
    for number, gpu in enumerate(found):
        yield Finding(f"gpu {number}", "ok", str(gpu))
    if not found:
        yield Finding("gpu", "ok", "no NVIDIA GPU, or no driver for it: the swap runs on the processor")


def _models() -> Iterator[Finding]:
    from realtime.models.catalog import DEFAULTS
    from realtime.storage import model_store

    models = model_store()
    states = {name: models.checked(name).state for name in DEFAULTS}
    lacking = [name for name, state in states.items() if state != "ready"]
    for state, told in (("missing", "not fetched yet: the first run does it"), ("damaged", "damaged: the next run fetches it again")):
        names = ", ".join(name for name in lacking if states[name] == state)
        if names:
            yield Finding("models", "note", f"{names} {told}, or {program()} models fetch (into {models.folder})")
    if not lacking:
        yield Finding("models", "ok", f"{', '.join(DEFAULTS)} in {models.folder}, content as fetched")


def _disk() -> Iterator[Finding]:
    from realtime.models.catalog import DEFAULTS
    from realtime.storage import model_store

    models = model_store()
    folder = existing(models.folder)
    free = shutil.disk_usage(folder).free
    elsewhere = "or name another folder in REALTIME_MODELS"
    if not os.access(folder, os.W_OK):
        complete = all(models.checked(name).state == "ready" for name in DEFAULTS)  # then nothing need be written
        cure = f"{folder} cannot be written, so nothing can be fetched: make it writable, {elsewhere}"
        yield Finding("disk", "note" if complete else "cure", cure)
    elif free < NEEDED_DISK:
        yield Finding("disk", "cure", f"{megabytes(free)} free in {folder}: make it {megabytes(NEEDED_DISK)}, {elsewhere}")
    else:
        yield Finding("disk", "ok", f"{free / 1e9:.0f} GB free in {folder}")


def _kernels() -> Iterator[Finding]:
    import numba

    from realtime.starting import kernels_kept

    state = "compiled and cached" if kernels_kept("mesh") else "compiled on the first run (up to a minute), then cached"
    yield Finding("kernels", "ok", f"numba {numba.__version__}, {state}")


def _video() -> Iterator[Finding]:
    import av

    found = [name for name in ("libx264", "libopenh264", "mpeg4", "aac", "libvpx-vp9") if name in av.codecs_available]
    encoders = ", ".join(found)
    if {"libx264", "libopenh264"} & set(found):
        yield Finding("video files", "ok", f"PyAV {av.__version__} with {encoders}")
    else:
        cure = "run pip install --force-reinstall --only-binary av av"
        yield Finding("video files", "note", f"PyAV {av.__version__} has no H.264 encoder ({encoders}): {cure}")


def _credentials() -> Iterator[Finding]:
    from importlib.metadata import version

    from realtime.trust.credentials import available, complaint
    from realtime.trust.seal import INSTALL

    if available() and (why := complaint()):
        yield Finding("content credentials", "note", f"no file can be signed: {why}")
    elif available():
        yield Finding("content credentials", "ok", f"c2pa-python {version('c2pa-python')} signs the files that are written")
    else:
        yield Finding("content credentials", "note", f"files are written unsigned: {INSTALL}")


def _cameras() -> Iterator[Finding]:
    from realtime.sources.cameras import list_cameras

    found = list_cameras()
    for camera in found:
        yield Finding("camera", "ok", f"{camera}, {camera.path}" if camera.path else str(camera))
    if not found:
        otherwise = "without one use --input synthetic, a file or a stream"
        yield Finding("camera", "note", f"none found: plug one in{_also_try()}; {otherwise}")


def _also_try(system: str = sys.platform, devices: Path = Path("/dev")) -> str:
    """What else may hide a camera on this system."""
    if system == "darwin":
        return ", or allow this terminal in System Settings, Privacy & Security, Camera"
    if system == "win32":
        return ", or switch on Settings, Privacy, Camera, Let desktop apps access your camera"
    if any(not os.access(node, os.R_OK | os.W_OK) for node in devices.glob("video*")):
        return ", or get access to those there are (sudo usermod -aG video $USER, then log out and in again)"
    return ""


def _virtual_cameras() -> Iterator[Finding]:
    from realtime.sinks.virtualcam import diagnose

    usable, sentence = diagnose()
    yield Finding("virtual camera", "ok" if usable else "note", sentence)


def _window() -> Iterator[Finding]:
    headless = sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if headless:
        yield Finding("window", "note", "no display here: --output window works in a desktop session only; use virtualcam or a file")
    else:
        yield Finding("window", "ok", "there is a display for --output window")


def existing(path: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(each for each in (path, *path.absolute().parents) if each.exists())


CHECKS: dict[str, Check] = {
    "python": _python,
    "system": _system,
    "gpu": _gpus,
    "backends": _backends,
    "engines": _engines,
    "models": _models,
    "disk": _disk,
    "kernels": _kernels,
    "video files": _video,
    "content credentials": _credentials,
    "cameras": _cameras,
    "virtual camera": _virtual_cameras,
    "window": _window,
}
