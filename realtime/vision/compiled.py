"""Machine code for the loops that NumPy has no word for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(signature: str, **options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """numba's `njit` for one signature, with a cache on disk, that does its work at the first call instead of at the import.

    numba's own way with a signature compiles, or loads from the cache, while the module is imported: a quarter of a second for the
    first such function, which nothing can overlap with. Arguments are converted to the signature; TypeError when they do not fit.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        dispatcher = njit(cache=True, nogil=True, **options)(function)
        ready = False

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal ready
            if not ready:
                dispatcher.compile(signature)
                dispatcher.disable_compile()  # from now on other types are converted or refused, never compiled for
                ready = True
            result: R = dispatcher(*args, **kwargs)
            return result

        return call

    return wrap
