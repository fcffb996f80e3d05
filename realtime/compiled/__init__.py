"""Machine code for the loops that NumPy has no word for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from numba import njit
from numba.core.compiler_lock import global_compiler_lock

from realtime.compiled.helpers import forget_stale
from realtime.errors import RealtimeError

P = ParamSpec("P")
R = TypeVar("R")


def compiled(signature: str, **options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """numba's `njit` for one signature, with a cache on disk, that does its work at the first call instead of at the import.

    numba's own way with a signature compiles, or loads from the cache, while the module is imported: a quarter of a second for the
    first such function, which nothing can overlap with. Arguments are converted to the signature; TypeError when they do not fit.
    Raises RealtimeError when there is no folder to keep machine code in: without one every start would take a minute.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        dispatcher = kept(function, options)
        ready = False

        def make_ready() -> None:
            nonlocal ready
            with global_compiler_lock:  # numba's own: of two threads that come first, the later one finds it ready
                if not ready:
                    dispatcher.compile(signature)
                    dispatcher.disable_compile()  # from now on other types are converted or refused, never compiled for
                    ready = True

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not ready:
                make_ready()
            result: R = dispatcher(*args, **kwargs)
            return result

        call.make_ready = make_ready  # type: ignore[attr-defined]
        return call

    return wrap


def prepare(*functions: Callable[..., Any]) -> None:
    """Compile or load functions made by `compiled`, without calling them."""
    for function in functions:
        function.make_ready()  # type: ignore[attr-defined]


def inner(**options: Any) -> Any:
    """numba's `njit` for functions that only compiled ones call: without what a call from Python needs and without a cache of its own.

    That is a fifth of the time that such a function takes to compile; whoever calls it keeps it in its own cache. And as each function
    that has a cache is compiled for one kind of arguments, programs that compile at the same time cannot overwrite each other's.
    """
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function as numba's dispatcher, compiled on first use; its cache is beside the source, or else in the user's cache folder.

    It runs without the interpreter's lock. Raises as `compiled` does.
    """
    try:
        dispatcher = njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        places = "neither the program's own folder nor your cache folder can be written"
        raise RealtimeError(f"there is no place to keep compiled code: {places}; name one that can be in NUMBA_CACHE_DIR") from error
    forget_stale(dispatcher, Path(function.__code__.co_filename), f"{function.__module__}.{function.__qualname__}")
    return dispatcher
