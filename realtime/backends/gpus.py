"""Which NVIDIA GPUs there are, asked of the driver itself, so that no package is needed to answer."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h."""
_NAME_BYTES = 128


@dataclass(frozen=True, slots=True)
class Gpu:
    sm: int
    """Compute capability without the dot: 86 is 8.6."""
    driver: int
    """As the driver counts it: 12040 is CUDA 12.4."""
    name: str = ""
    memory: int = 0
    """Bytes in all."""

    def __str__(self) -> str:
        version = f"{self.driver // 1000}.{self.driver % 1000 // 10}"
        return f"{self.name} ({self.memory / 2**30:.0f} GiB, compute capability {self.sm // 10}.{self.sm % 10}, driver for CUDA {version})"


def gpus(driver: Any = None) -> list[Gpu]:
    """In the driver's order; none without a driver. `driver` stands in for the driver's library in tests."""
    try:
        cuda = driver or ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return list(_described(cuda, count.value))


def first_gpu() -> Gpu | None:
    """The one that is used unless another is named; None without a driver or a device."""
    return next(iter(gpus()), None)


def _described(cuda: Any, count: int) -> Iterator[Gpu]:
    driver = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(driver))
    for ordinal in range(count):
        device, major, minor = (ctypes.c_int() for _ in range(3))
        memory, name = ctypes.c_size_t(), ctypes.create_string_buffer(_NAME_BYTES)
        if cuda.cuDeviceGet(ctypes.byref(device), ordinal):
            return
        cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        cuda.cuDeviceGetName(name, _NAME_BYTES, device)
        yield Gpu(major.value * 10 + minor.value, driver.value, name.value.decode("utf-8", "replace"), memory.value)
