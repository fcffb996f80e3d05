"""What `--swapper` and `--swap-layers` may be told. Imports no network's code: options are checked before anything is loaded."""

from __future__ import annotations

from typing import Any, Final

from realtime.errors import UsageError
from realtime.values import existing_file, near_miss

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
    if not value.lower().endswith(_FILES):
        hint = near_miss(value, names) or f"; name a .onnx or .dfm file, or one of {', '.join(names)}"
        raise UsageError(f"there is no swapper '{value}'{hint}")
    existing_file(value, "swap network")
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
