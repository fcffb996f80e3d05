"""What engines depend on besides the library: the processor, the GPU, its driver."""

from __future__ import annotations

import ctypes
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first NVIDIA GPU."""

    sm: int
    """Compute capability without the dot: 86 is 8.6."""
    driver: int
    """As the driver counts it: 12040 is CUDA 12.4."""


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
    """Asked of the driver itself, so that no package is needed; None without a driver or a device."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    count, driver, major, minor = (ctypes.c_int() for _ in range(4))
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    cuda.cuDriverGetVersion(ctypes.byref(driver))
    cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, 0)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, 0)
    return Gpu(major.value * 10 + minor.value, driver.value)
