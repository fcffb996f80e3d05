"""A session around another one."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from realtime.backends.base import Session, SessionSpecs
from realtime.types import Array


class AroundSession:
    """Hands everything on to `session`, which it owns; implements `Session`. Subclasses change what they are for."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def backend(self) -> str:
        return self.session.backend

    @property
    def specs(self) -> SessionSpecs:
        return self.session.specs

    @property
    def inputs(self) -> Mapping[str, Array]:
        return self.session.inputs

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        return self.session.run(feeds)

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
