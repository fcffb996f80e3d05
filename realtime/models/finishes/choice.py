"""What `--mask`, `--colour` and `--enhance` may be told. Imports no network's code: options are checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final

from realtime.errors import UsageError
from realtime.values import existing_file, near_miss

MASKS: Final = ("box", "hull", "mouth", "person", "occlusion", "region", "hands", "occluder")
COLOURS: Final = ("lab", "histogram", "neck", "light", "motion", "poisson")
REGIONS: Final = ("skin", "brows", "eyes", "glasses", "nose", "mouth", "lips", "hair")
"""What may be kept. Hair is kept anyway, as is all that is no part of the face."""
OFF: Final = "off"
SHARPEN: Final = "sharpen"
SHORT: Final = MappingProxyType({"gfpgan": "gfpgan_1.4", "gpen": "gpen_bfr_256", "restoreformer": "restoreformer_plus_plus"})


def names(known: Sequence[str]) -> Callable[[Any], tuple[str, ...]]:
    """`a,b`, or a list of names, to a tuple without repeats; `off` to an empty one. Raises UsageError for a name that is not known."""

    def parse(value: Any) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, str) and part.strip() for part in parts):
            raise ValueError
        given = tuple(dict.fromkeys(part.strip().lower() for part in parts))
        if given == (OFF,):
            return ()
        for name in given:
            if name not in known:
                raise UsageError(f"there is no '{name}' here{_hint(name, known)}")
        return given

    return parse


def parse_enhancer(value: Any) -> str:
    """`off`, `sharpen`, a network of the catalogue or the path of a file that is there. Raises ValueError, UsageError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    known = (OFF, SHARPEN, *_enhancers("ffhq_512", "arcface_128"))
    name = SHORT.get(value, value)
    if name in known:
        return name
    if not value.lower().endswith(".onnx"):
        raise UsageError(f"there is no enhancer '{value}'{_hint(value, (*known, *SHORT))}")
    existing_file(value, "enhancer")
    return value


def parse_enlarger(value: Any) -> str:
    """`off`, or a network of the catalogue that enlarges frames. Raises ValueError, UsageError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    known = (OFF, *_enhancers("frame"))
    if value not in known:
        raise UsageError(f"there is no '{value}' that enlarges frames{_hint(value, known)}")
    return value


def parse_padding(value: Any) -> tuple[float, float, float, float]:
    """One number, or four for top, right, bottom and left; percent, each 0 to 60. Raises ValueError."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    numbers = [float(part) for part in parts if not isinstance(part, bool)]
    if len(numbers) not in (1, 4) or not all(0 <= number <= 60 for number in numbers):
        raise ValueError
    top, right, bottom, left = numbers * (4 // len(numbers))
    return top, right, bottom, left


def _enhancers(*contracts: str) -> tuple[str, ...]:
    from realtime.models.catalog import MODELS

    return tuple(row.name for row in MODELS.values() if row.role == "enhancer" and row.contract in contracts)


def _hint(name: str, known: Sequence[str]) -> str:
    return near_miss(name, known) or f": choose among {', '.join(known)}"
