"""What this machine is, for the doctor and the demo."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "amx-int8", "neon", "dotprod", "i8mm")
"""Instruction sets that the kernels or the networks run faster with, by LLVM's names."""


def cpu_name() -> str:
    """The processor's name as people know it, else its architecture."""
    found = _from_cpuinfo() if sys.platform.startswith("linux") else _from_sysctl() if sys.platform == "darwin" else platform.processor()
    return " ".join(found.replace("(R)", "").replace("(TM)", "").split()) or platform.machine()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_features() -> list[str]:
    """Which of FEATURES this processor has, as the compiler of our kernels sees it."""
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    return [name for name in FEATURES if has.get(name)]


def _from_cpuinfo() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")


def _from_sysctl() -> str:
    import subprocess

    asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5, check=False)
    return asked.stdout
