"""What `--faces` and `--map` may be told. Imports nothing heavy: options are checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from realtime.errors import UsageError
from realtime.values import existing_file, near_miss

MAIN: Final = "main"
ALL: Final = "all"
REFERENCE: Final = "reference"
INDEX: Final = "index"
RULES: Final = (MAIN, ALL, "largest", "left", "right", INDEX, REFERENCE)
_LAST: Final = 99

Group = tuple[Path, ...]
"""Photos of one person."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which faces are swapped."""

    name: str
    """One of `RULES`."""
    number: int = 0
    """Of INDEX: from the left, the first is 1."""
    photo: Path | None = None
    """Of REFERENCE: the person's photo."""


def rule(text: str) -> Rule:
    """`all`, `index:2`, `reference:PHOTO` and so on. Raises ValueError for what is no rule, UsageError for a photo that is not there."""
    name, _, value = text.strip().partition(":")
    name = name.strip().lower()
    if name not in RULES or bool(value.strip()) != (name in (INDEX, REFERENCE)):
        if name not in RULES and (hint := near_miss(name, RULES)):
            raise UsageError(f"there is no rule '{name}' for faces{hint}")
        raise ValueError
    if name == INDEX:
        number = int(value)
        if not 1 <= number <= _LAST:
            raise ValueError
        return Rule(name, number=number)
    return Rule(name, photo=existing_file(value.strip(), "reference photo")) if name == REFERENCE else Rule(name)


def parse_faces(value: Any) -> str:
    """The text as it is, when `rule` understands it."""
    if not isinstance(value, str):
        raise ValueError
    rule(value)
    return value.strip()


def parse_map(value: Any) -> tuple[tuple[str, Path], ...]:
    """`SRC=REF,SRC=REF` or a table {SRC = REF}, where SRC is a photo or the number of a --source. Raises ValueError, UsageError."""
    if isinstance(value, str):
        pairs = [part.partition("=")[::2] for part in value.split(",")]
    elif isinstance(value, Mapping):
        pairs = [(str(source), str(reference)) for source, reference in value.items()]
    else:
        pairs = list(value)
    if not all(str(source).strip() and str(reference).strip() for source, reference in pairs):
        raise ValueError
    return tuple((str(source).strip(), existing_file(str(reference).strip(), "reference photo")) for source, reference in pairs)


def resolve(pairs: Sequence[tuple[str, Path]], sources: Sequence[Group]) -> tuple[tuple[Group, ...], tuple[tuple[int, Path], ...]]:
    """All people whose faces are shown, and for each reference photo the number of the one shown on that face, from 0.

    What is not among the sources yet is added to them. Raises UsageError.
    """
    people, numbered = list(sources), []
    for source, reference in pairs:
        number = _number(source, people, len(sources))
        if number == len(people):
            people.append((existing_file(source, "source photo"),))
        numbered.append((number, reference))
    return tuple(people), tuple(numbered)


def _number(source: str, people: Sequence[Group], given: int) -> int:
    """Which of the people this is; as many as there are for a photo of somebody new."""
    if source.isdigit() and not Path(source).exists():
        if not 1 <= int(source) <= given:
            raise UsageError(f"--map: there is no --source number {source}: {given} {'is' if given == 1 else 'are'} given")
        return int(source) - 1
    path = Path(source).expanduser()
    return next((n for n, group in enumerate(people) if path in group), len(people))
