"""Small compiled helpers shared by the kernels. Everything is float32: these run for every vertex of every frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np

from realtime.compiled import inner, kept
from realtime.types import Array

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS: Final[dict[str, Any]] = {"fastmath": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """Compiled on first use: see `kept`."""
    return cast(F, kept(function, OPTIONS))


def helper(function: F) -> F:
    """A part of kernels: see `inner`. It cannot be called from Python."""
    return cast(F, inner(**OPTIONS)(function))


@helper
def ramp(low: float, high: float, x: float) -> Any:
    """Smooth step: 0 up to `low`, 1 from `high` on (reversed when low > high)."""
    t = np.float32((x - low) / (high - low))
    t = min(max(t, np.float32(0.0)), np.float32(1.0))
    return t * t * (np.float32(3.0) - np.float32(2.0) * t)


@helper
def blank(rows: int, columns: int) -> Array:
    """(rows, columns) float32 zeros; numba compiles its own anew for each kind of array, which takes longer."""
    out = np.empty((rows, columns), np.float32)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.float32(0.0)
    return out


@helper
def neighbour_mean(links: Any, values: Array, out: Array) -> None:
    """out[v] = the mean of `values` over the neighbours of v; (V,) float32 both."""
    for v in range(len(values)):
        total = np.float32(0.0)
        for j in range(links.start[v], links.start[v + 1]):
            total += values[links.target[j]]
        out[v] = total / np.float32(links.start[v + 1] - links.start[v])


@helper
def spread(links: Any, values: Array, spare: Array, steps: int) -> None:
    """`steps` rounds of half own value, half the neighbours' mean, in place."""
    for _ in range(steps):
        neighbour_mean(links, values, spare)
        for v in range(len(values)):
            values[v] = np.float32(0.5) * (values[v] + spare[v])
