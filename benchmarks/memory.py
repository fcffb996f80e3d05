"""What a process holds, now and then, and what that grows by."""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import psutil

MB = 1e6
FLOOR_SECONDS = 20.0
"""Of so many seconds, or a twelfth of what is left of a short run, the least counts: what is held for the length of a fault, or of a
frame, is no growth."""


def resident() -> float:
    """MB of memory that the process has of the system, with what its allocator keeps for later."""
    return float(psutil.Process().memory_info().rss / MB)


def in_use() -> float:
    """MB that were asked of the C library's allocator and not given back; not a number where it does not tell (glibc 2.33 and later do).

    mallinfo2(3): uordblks in its heaps, hblkhd in mappings of their own. What libraries map by themselves is not in it.
    """
    if not sys.platform.startswith("linux") or not hasattr(_libc := ctypes.CDLL(None), "mallinfo2"):
        return math.nan
    _libc.mallinfo2.restype = _MallInfo
    told = _libc.mallinfo2()
    return float((told.uordblks + told.hblkhd) / MB)


class _MallInfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    )


@dataclass(slots=True)
class Memory:
    """One of them every `interval` seconds."""

    interval: float
    look: Callable[[], float] = resident
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, MB."""
    _next: float = 0.0

    def tick(self) -> None:
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + self.interval
            self.samples.append((now, self.look()))

    def growth(self, warm_up: float) -> float:
        """MB an hour by the median of all slopes between the floors of two times (Theil 1950, Sen 1968), the warm-up left out."""
        floors = np.array(self._floors(warm_up))
        if len(floors) < 8:
            return math.nan
        first, second = np.triu_indices(len(floors), len(floors) // 3)  # near ones say more of noise than of growth
        return float(np.median((floors[second, 1] - floors[first, 1]) / (floors[second, 0] - floors[first, 0]))) * 3600

    def _floors(self, warm_up: float) -> list[tuple[float, float]]:
        """The least of each `FLOOR_SECONDS`, and when it was seen."""
        kept = [sample for sample in self.samples if sample[0] >= self.samples[0][0] + warm_up]
        if not kept:
            return []
        start, length = kept[0][0], min(FLOOR_SECONDS, (kept[-1][0] - kept[0][0]) / 12 or 1.0)
        parts: dict[int, list[tuple[float, float]]] = {}
        for at, value in kept:
            parts.setdefault(int((at - start) / length), []).append((at, value))
        return [min(part, key=lambda sample: sample[1]) for part in parts.values()]
