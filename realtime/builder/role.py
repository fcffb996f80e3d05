"""What a role is: how to look at what a network finds, and how far it is from what the original finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realtime.backends.base import Session
from realtime.builder.contract import Contract
from realtime.builder.gate import Limit
from realtime.builder.scenes import Scene
from realtime.errors import BackendError
from realtime.types import Floats

Results = list[Floats]
"""One array for each scene."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a role may need besides the session."""

    recogniser: Path | None = None
    """ONNX file of SFace, which tells identities."""
    contract: Contract = field(default_factory=Contract)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Tools:
        """From `as_dict`, by way of JSON."""
        return cls(Path(row["recogniser"]) if row["recogniser"] else None, Contract.of(row["contract"]))

    def as_dict(self) -> dict[str, Any]:
        return {"recogniser": str(self.recogniser) if self.recogniser else None, "contract": self.contract.as_dict()}

    @property
    def identity(self) -> Path:
        """The recogniser. Raises BackendError without one."""
        if self.recogniser is None:
            raise BackendError("the gate of swap networks looks at identity: fetch the models with `python -m realtime models fetch`")
        return self.recogniser


@dataclass(frozen=True, slots=True)
class Role:
    """`observe` runs a session on scenes; `compare` gives figures of what it found against what the original found."""

    observe: Callable[[Session, Sequence[Scene], Tools], Results]
    compare: Callable[[Results, Results], dict[str, float]]
    limits: tuple[Limit, ...]
    identity: bool = False
    """It needs the recogniser."""

    def with_bounds(self, bounds: Mapping[str, float]) -> tuple[Limit, ...]:
        return tuple(Limit(each.figure, bounds.get(each.figure, each.bound), each.at_least) for each in self.limits)
