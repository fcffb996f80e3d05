"""What engines depend on besides the library: the processor, the GPU, its driver."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from realtime.backends.gpus import Gpu, gpus

__all__ = ["Gpu", "gpu", "processor"]


def processor() -> str:
    """The processor's model, which decides what is fast."""
    if sys.platform.startswith("linux"):
        try:
            lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if found:
            return found[0]
    return platform.processor() or platform.machine()


def gpu() -> Gpu | None:
    """The first NVIDIA GPU; None without a driver or a device."""
    return next(iter(gpus()), None)
