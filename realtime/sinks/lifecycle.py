"""What every sink shares: the context manager, and what is seen of its `close` from outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from time import perf_counter
from types import TracebackType
from typing import Self


class Headway:
    """Of work that may take long, or hang: that it gets on, for another thread to see, and that thread's wish to break it off."""

    def __init__(self) -> None:
        self._since = 0.0
        self._stopped = False

    @property
    def since(self) -> float:
        """When the present step began, as `time.perf_counter` counts; a sign of life is that it changes."""
        return self._since

    def stopped(self) -> bool:
        """Asked by the work before each of its steps: whether to break it off."""
        self._since = perf_counter()
        return self._stopped

    def stop(self) -> None:
        """Have the work broken off at its next step, as far as it can do without the rest."""
        self._stopped = True


class Closing(ABC):
    """Gives a class with `close` the `with` statement: closed on the way out, whatever happened."""

    tied = False

    @property
    def remains(self) -> str:
        return ""

    @cached_property
    def headway(self) -> Headway:
        return Headway()

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
