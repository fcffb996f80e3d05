"""What swappers around another swapper share: what they do not change, they hand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from realtime.models.base import Identity, Swapper
from realtime.types import Face, Image, Patch, SourcePhoto


class Remembers(Protocol):
    """A step with a history: a mask, a finish."""

    def reset(self) -> None:
        """Forget per-face history."""


class AroundSwapper(ABC):
    """Implements `Swapper` but for the swap itself. The `steps` forget a face when the swapper within does."""

    def __init__(self, swapper: Swapper, steps: Sequence[Remembers] = ()) -> None:
        self._swapper = swapper
        self._remembering = steps

    @property
    def name(self) -> str:
        return self._swapper.name

    def fit(self, photos: Sequence[SourcePhoto]) -> Identity:
        return self._swapper.fit(photos)

    def use(self, identity: Identity) -> None:
        self._swapper.use(identity)
        self._forget()

    @abstractmethod
    def swap(self, image: Image, face: Face) -> Patch | None: ...

    def reset(self) -> None:
        self._swapper.reset()
        self._forget()

    @abstractmethod
    def fork(self) -> Swapper: ...

    def _forget(self) -> None:
        for step in self._remembering:
            step.reset()
