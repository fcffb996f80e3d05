"""Which candidate is good enough, and of those the fastest."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from realtime.backends.base import Session

_ROUNDS = 7
_RUNS, _FEWEST = 9, 3
_ROUND_SECONDS = 1.5
"""From here on the fewest runs are enough: a network that takes half a second shows noise of milliseconds less."""
_SECONDS = 6.0
_WARM_UP = 2
_CLEARLY = 0.95
"""A candidate has to take at most this share of a more precise one's time to be preferred: less than that is noise."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure that has to be at least, or at most, so large."""

    figure: str
    bound: float
    at_least: bool

    def holds(self, value: float) -> bool:
        return math.isfinite(value) and (value >= self.bound if self.at_least else value <= self.bound)

    def __str__(self) -> str:
        return f"{self.figure} {'>=' if self.at_least else '<='} {self.bound:g}"


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    """Not run: the device is absent."""


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    figures: dict[str, float] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    ms: float | None = None
    """Of one run; `time_sessions`."""
    reason: str = ""
    """Why it failed, or is pending."""


def judge(figures: dict[str, float], limits: Sequence[Limit], ms: float) -> Judgement:
    """Passed when every limit holds."""
    broken = [limit for limit in limits if not limit.holds(figures.get(limit.figure, float("nan")))]
    reason = ", ".join(f"{each.figure} {figures.get(each.figure, float('nan')):.4g}, must be {_bound(each)}" for each in broken)
    told = {limit.figure: _bound(limit) for limit in limits}
    return Judgement(Verdict.FAILED if broken else Verdict.PASSED, figures, told, ms, reason)


def pending(why: str) -> Judgement:
    return Judgement(Verdict.PENDING, reason=f"not run: {why}")


def time_sessions(sessions: Sequence[Session]) -> list[float]:
    """Milliseconds of one run of each, on whatever lies in the inputs: the best round's median.

    In turns, a round each, so that whatever else the machine does befalls all of them alike.
    """
    best = [float("inf")] * len(sessions)
    end = time.perf_counter() + _SECONDS
    for done in range(_ROUNDS):
        if done and time.perf_counter() > end:
            break
        for index, session in enumerate(sessions):
            best[index] = min(best[index], _round(session))
    return best


def _round(session: Session) -> float:
    taken: list[float] = []
    while len(taken) < _WARM_UP + _RUNS and (len(taken) < _WARM_UP + _FEWEST or sum(taken) < _ROUND_SECONDS):
        begun = time.perf_counter()
        session.run()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[_WARM_UP:]) * 1000


def _bound(limit: Limit) -> str:
    return str(limit).removeprefix(f"{limit.figure} ")


def fastest(judgements: Sequence[Judgement | None]) -> int | None:
    """Index of the fastest that passed, None when none did. They come in falling precision, and a later one has to be clearly faster."""
    best: int | None = None
    for index, each in enumerate(judgements):
        if each is None or each.verdict is not Verdict.PASSED or each.ms is None:
            continue
        before = judgements[best].ms if best is not None else None  # type: ignore[union-attr]
        if before is None or each.ms < before * _CLEARLY:
            best = index
    return best
