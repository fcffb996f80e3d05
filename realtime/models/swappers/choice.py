"""What `--swapper` and `--swap-layers` may be told. Imports no network's code: options are checked before anything is loaded."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, Final

from realtime.errors import UsageError

MESH: Final = "mesh"
LAYERS: Final = 18
"""Of a StyleGAN2 generator for 1024 pixels."""
_FILES: Final = (".onnx", ".dfm")


def parse_swapper(value: Any) -> str:
    """`mesh`, the name of a swap network in the catalogue, or the path of a file that is there. Raises ValueError, UsageError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    names = _names()
    if value in names:
        return value
    path = Path(value).expanduser()
    if path.suffix.lower() not in _FILES:
        close = difflib.get_close_matches(value.lower(), names, n=1, cutoff=0.6)
        hint = f"did you mean '{close[0]}'?" if close else f"name a .onnx or .dfm file, or one of {', '.join(names)}"
        raise UsageError(f"there is no swapper '{value}'; {hint}")
    if not path.is_file():
        raise UsageError(f"the swap network {value} does not exist: check the name (the current folder is {Path.cwd()})")
    if not os.access(path, os.R_OK):
        raise UsageError(f"the swap network {value} may not be read: make it readable")
    return value


def _names() -> tuple[str, ...]:
    from realtime.models.catalog import MODELS

    return (MESH, *(row.name for row in MODELS.values() if row.role == "swapper"))


def holds_person(swapper: object, contract: object) -> bool:
    """Whether this swapper brings its person along, so that no source photo is needed."""
    return contract == "dfm" or (isinstance(swapper, str) and swapper.lower().endswith(".dfm"))


def parse_layers(value: Any) -> tuple[int, ...]:
    """`4-7,10`, or a list of numbers, to (4, 5, 6, 7, 10), sorted. Raises ValueError for what is no such list, or beyond the last layer."""
    value = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    if not isinstance(value, str):
        raise ValueError
    layers: set[int] = set()
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < LAYERS:
            raise ValueError
        layers.update(range(low, high + 1))
    return tuple(sorted(layers))
