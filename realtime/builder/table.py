"""The table of a build: one row for each candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    CHOSEN = "chosen"
    SLOWER = "slower"
    FAILED_GATE = "not good enough"
    NOT_BUILT = "not built"
    PENDING = "pending"
    PLANNED = "would build"
    ABSENT = "not here"
    """Planned for a target whose library or device is not on this machine."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    model: str
    target: str
    precision: str
    state: State
    figures: dict[str, float] = field(default_factory=dict)
    ms: float | None = None
    build_seconds: float | None = None
    bytes: int = 0
    reason: str = ""


def failed(model: str, reason: str) -> Row:
    """Of a model that got nowhere."""
    return Row(model, "-", "-", State.FAILED, reason=reason)
