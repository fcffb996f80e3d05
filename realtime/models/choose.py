"""What options that name a model may be told: a word, a model of the catalogue in its role, or a file. Loads no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from realtime.errors import UsageError
from realtime.values import existing_file, near_miss


def model_choice(role: str, *words: str) -> Callable[[Any], str]:
    """A parser for an option: gives the value back when it is one of `words`, the name of a model in this role, or an .onnx file there is.

    It raises ValueError for no text at all, UsageError, one sentence, for everything else.
    """

    def parse(value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError
        names = (*words, *_names(role))
        if value not in names:
            _check_file(value, role, names)
        return value

    return parse


def _names(role: str) -> list[str]:
    from realtime.models.catalog import MODELS

    return [row.name for row in MODELS.values() if row.role == role]


def _check_file(value: str, role: str, names: tuple[str, ...]) -> None:
    if not value.lower().endswith(".onnx"):
        hint = near_miss(value, names) or f"; name an .onnx file, or one of {', '.join(names)}"
        raise UsageError(f"there is no {role} '{value}'{hint}")
    existing_file(value, role)
