"""How a start went: when it began, and whether the compiled kernels were kept from an earlier one."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from contextlib import suppress
from pathlib import Path

from realtime import __version__

_WITH_KERNELS = ("vision", "backends/native", "compiled", "models")
"""Folders whose compiled functions a start warms up."""


def kernels_kept(kind: str) -> bool:
    """Whether a start of this kind ("mesh" or "network": what swaps) has once compiled all that it warms up, for these sources, this
    processor and this Numba, into the folder that Numba keeps its results in now."""
    return _mark(kind).is_file()


def remember_kernels(kind: str) -> None:
    """Note that such a start has warmed up to the end. Where that cannot be written, the next start says once more that it compiles."""
    mark = _mark(kind)
    if mark.is_file():
        return
    with suppress(OSError):
        for old in mark.parent.glob(f"warm-{kind}-*"):
            old.unlink()
        mark.touch()


def _mark(kind: str) -> Path:
    """An empty file beside the kept kernels, so that it goes when they go."""
    import numba
    from llvmlite import binding

    package = Path(__file__).parents[1]
    sources = [path for folder in _WITH_KERNELS for path in (package / folder).rglob("*.py")]
    newest = max(path.stat().st_mtime_ns for path in sources)
    facts = (__version__, numba.__version__, platform.python_version(), binding.get_host_cpu_name(), newest)
    return kernels_folder() / f"warm-{kind}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


def kernels_folder() -> Path:
    """Where Numba keeps what it compiles: beside the source, else in the user's cache folder, or what NUMBA_CACHE_DIR names. Raises
    RealtimeError when there is no such place."""
    from numba import njit

    from realtime.vision.planes import fill_planes  # raises the sentence that says what to do when compiled code cannot be kept

    # Numba says it of a dispatcher only; making one compiles nothing.
    return Path(njit(cache=True)(fill_planes.__wrapped__).stats.cache_path)  # type: ignore[attr-defined]


def process_start() -> float:
    """When this process was started, on the clock of `time.perf_counter`: start-up time is what the user waits for."""
    if sys.platform == "linux":
        # Clock ticks from boot to the start, field 22 of proc(5); psutil adds them to a time of boot that is rounded to seconds.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.perf_counter() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    import psutil  # here: on Linux it would be 20 ms for nothing

    return time.perf_counter() - (time.time() - float(psutil.Process().create_time()))
