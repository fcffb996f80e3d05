"""One target at one precision on its way to an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realtime.builder.gate import Judgement, Verdict
from realtime.builder.manifest import Entry
from realtime.builder.recipes import Network
from realtime.builder.table import Row, State
from realtime.builder.targets.base import target

_SECOND = "fp16"
"""What the mesh network of a graph around two networks is, where the swap network has 8 bits: *measured*, 8 bits move the mesh by 0.4% of
the eye distance, nearly what its gate allows, and the mesh is a thousandth of the work."""


@dataclass(slots=True)
class Candidate:
    target: str
    precision: str
    forms: tuple[str, ...]
    """Of the ONNX files it is built of."""
    engine: Path
    built: dict[str, Any] | None = None
    """`targets.base.Built` and the engine's hash, size and ports."""
    seconds: float = 0.0
    judgement: Judgement | None = None
    error: str = ""

    @property
    def verdict(self) -> Verdict | None:
        return self.judgement.verdict if self.judgement else None


def planned(name: str, precision: str, network: Network, work: Path) -> Candidate:
    """For a target and a precision, nothing done yet."""
    there = target(name)
    own = there.needs(precision)
    own = "int8-u8" if own == "int8" and there.UNSIGNED_INT8 else own
    others = [_SECOND if precision == "int8" else own] * (len(network.parts) - 1)
    return Candidate(name, precision, (*others, own), work / f"{name}-{precision}{there.SUFFIX}")


def waiting(entry: Entry, folder: Path) -> Candidate:
    """An engine that was built where its device was absent, to be judged now."""
    keys = ("library", "version", "arithmetic", "device", "notes", "inputs", "outputs", "sha256", "bytes")
    built = {key: getattr(entry, key) for key in keys}
    return Candidate(entry.target, entry.precision, (), folder / entry.file, built, entry.build_seconds)


def row(network: Network, each: Candidate, winner: Candidate | None) -> Row:
    """How it ended."""
    size = each.built["bytes"] if each.built else 0
    if each.judgement is None:
        return Row(network.name, each.target, each.precision, State.NOT_BUILT, reason=each.error)
    judgement = each.judgement
    state = {Verdict.PENDING: State.PENDING, Verdict.FAILED: State.FAILED_GATE, Verdict.PASSED: State.SLOWER}[judgement.verdict]
    reason = judgement.reason
    if each is winner:
        state = State.CHOSEN
    elif state is State.SLOWER and winner is not None and winner.judgement is not None:
        ahead = (judgement.ms or 0.0) < (winner.judgement.ms or 0.0)
        reason = f"not clearly faster than {winner.precision}" if ahead else f"slower than {winner.precision}"
    return Row(network.name, each.target, each.precision, state, judgement.figures, judgement.ms, each.seconds, size, reason)


def row_of(network: Network, entry: Entry) -> Row:
    """Of what was there already."""
    state = State.CHOSEN if entry.chosen else State.PENDING
    figures: dict[str, float] = dict(entry.gate["figures"])
    return Row(network.name, entry.target, entry.precision, state, figures, entry.gate.get("ms"), None, entry.bytes, "up to date")


def unfinished(rows: Sequence[Row]) -> list[str]:
    """Models without an engine for one of the targets."""
    good = {(each.model, each.target) for each in rows if each.state in (State.CHOSEN, State.PENDING, State.PLANNED)}
    wanted = [each for each in rows if each.state is not State.ABSENT]
    return list(dict.fromkeys(each.model for each in wanted if (each.model, each.target) not in good))
