"""What this machine is: its processor, and how much of it this process may use."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "amx-int8", "neon", "dotprod", "i8mm")
"""Instruction sets that the kernels or the networks run faster with, by LLVM's names."""


def processor() -> str:
    """The processor's model as the system names it, which decides what is fast; else its architecture."""
    named = _from_cpuinfo() if sys.platform.startswith("linux") else _from_sysctl() if sys.platform == "darwin" else ""
    return named or platform.processor() or platform.machine()


def cpu_name() -> str:
    """The same as people know it, without the marks of trade."""
    return " ".join(processor().replace("(R)", "").replace("(TM)", "").split())


def cores() -> int:
    """Cores this process may use: fewer than there are in a container or under `taskset`."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_features() -> list[str]:
    """Which of FEATURES this processor has, as the compiler of our kernels sees it."""
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    return [name for name in FEATURES if has.get(name)]


@contextmanager
def fine_waits(platform: str = sys.platform, multimedia: Any = None) -> Iterator[None]:
    """Meanwhile waits end within a millisecond of their limit on Windows, where it is up to 16 otherwise; nothing elsewhere.

    `timeBeginPeriod` and its counterpart, of winmm (`multimedia`); since Windows 10 version 2004 they mean this process alone.
    """
    library = _winmm() if platform == "win32" and multimedia is None else multimedia
    if platform != "win32" or library is None or library.timeBeginPeriod(1) != 0:
        yield
        return
    try:
        yield
    finally:
        library.timeEndPeriod(1)


def _winmm() -> Any:
    """None on a Windows without it, as in containers."""
    import ctypes

    try:
        return ctypes.CDLL("winmm")
    except OSError:
        return None


def _from_cpuinfo() -> str:
    """Empty where the kernel names no model, as on most ARM boards."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _from_sysctl() -> str:
    """ "Apple M2"; macOS itself calls every one of them "arm"."""
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5, check=False)
        return asked.stdout.strip()
    return ""
