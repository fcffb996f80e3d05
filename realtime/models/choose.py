"""What options that name a model may be told: a word, a model of the catalogue in its role, or a file. Loads no network."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from realtime.errors import UsageError


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
    path = Path(value).expanduser()
    if path.suffix.lower() != ".onnx":
        close = difflib.get_close_matches(value.lower(), names, n=1, cutoff=0.6)
        hint = f"did you mean '{close[0]}'?" if close else f"name an .onnx file, or one of {', '.join(names)}"
        raise UsageError(f"there is no {role} '{value}'; {hint}")
    if not path.is_file():
        raise UsageError(f"the {role} {value} does not exist: check the name (the current folder is {Path.cwd()})")
    if not os.access(path, os.R_OK):
        raise UsageError(f"the {role} {value} may not be read: make it readable")
