"""Greedy choice of few combinations in which each pair of values of any two options comes up at least once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

Choices = Mapping[str, Sequence[Any]]


def pairwise(choices: Choices, seed: int = 1, tries: int = 40) -> list[dict[str, Any]]:
    """Of some combinations by chance, again and again the one with most pairs that are still lacking; the same for the same seed."""
    rng = random.Random(seed)
    lacking = set(_pairs({name: range(len(values)) for name, values in choices.items()}))
    rows = []
    while lacking:
        start = rng.choice(sorted(lacking))
        row = max((_fill(choices, start, rng) for _ in range(tries)), key=lambda made: len(lacking & _of(made)))
        lacking -= _of(row)
        rows.append({name: choices[name][index] for name, index in row.items()})
    return rows


Pair = tuple[tuple[str, int], tuple[str, int]]


def _pairs(choices: Mapping[str, range]) -> list[Pair]:
    return [((a, i), (b, j)) for a, b in itertools.combinations(choices, 2) for i in choices[a] for j in choices[b]]


def _fill(choices: Choices, start: Pair, rng: random.Random) -> dict[str, int]:
    return {name: rng.randrange(len(values)) for name, values in choices.items()} | dict(start)


def _of(row: Mapping[str, int]) -> set[Pair]:
    return set(itertools.combinations(row.items(), 2))
