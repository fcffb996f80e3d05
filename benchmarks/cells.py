"""What the benchmark `peers` compares, and what comes out: the terms its table and its measuring process share."""

from __future__ import annotations

from dataclasses import dataclass, field

SIZES = {"720p": (1280, 720), "1080p": (1920, 1080)}
OURS, THEIRS = "ours", "insightface"
WIDTH, ROUNDS, EACH = 300, 10, 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison, which has a process of its own."""

    size: str = "720p"
    faces: int = 1
    width: int = WIDTH
    """Of a face, in pixels."""
    rounds: int = ROUNDS
    each: int = EACH
    """Frames in a row of one side before the other has its turn."""


@dataclass(slots=True)
class Sides:
    """Side -> milliseconds of every frame: wall time in all, and thread CPU time but for the networks'."""

    total: dict[str, list[float]] = field(default_factory=dict)
    overhead: dict[str, list[float]] = field(default_factory=dict)
