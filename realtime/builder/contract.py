"""What a swap network or an enhancer expects of its aligned face, as far as building needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from realtime.errors import UsageError
from realtime.graphs.follow import Swap
from realtime.types import Floats
from realtime.vision import align

TEMPLATES: Mapping[str, Floats] = MappingProxyType(
    {
        "arcface_112": align.ARCFACE_112 / np.float32(112),
        "arcface_112_v1": align.ARCFACE_112_V1 / np.float32(112),
        "arcface_128": align.ARCFACE_128 / np.float32(128),
        "ffhq_512": align.FFHQ_512 / np.float32(512),
        "mtcnn_512": align.MTCNN_512 / np.float32(512),
    }
)
"""Name -> five points (5, 2) float32 as shares of the crop's side."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The defaults are those of inswapper_128. Raises UsageError for values that make no sense."""

    template: str = "arcface_128"
    """Of `TEMPLATES`."""
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    """The network is fed (x - mean) / std with x in 0..1, in the order of its planes."""
    denormalise: bool = False
    """Its output must be brought back by * std + mean."""
    order: Literal["rgb", "bgr"] = "rgb"

    def __post_init__(self) -> None:
        if self.template not in TEMPLATES:
            raise UsageError(f"there is no template {self.template!r}, choose among {', '.join(TEMPLATES)}")
        if len(self.mean) != 3 or len(self.std) != 3 or 0 in self.std:
            raise UsageError("mean and std are three numbers each, and none of std is 0")
        if self.order not in ("rgb", "bgr"):
            raise UsageError(f"order is rgb or bgr, not {self.order!r}")

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Contract:
        """From the keys of a table, as in TOML or JSON."""
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def points(self, size: int) -> Floats:
        """(5, 2) float32: the template in the pixels of a crop of this side."""
        return np.asarray(TEMPLATES[self.template] * np.float32(size), np.float32)

    def swap(self, network: Any, size: int) -> Swap:
        """For `graphs.follow.follow_swap`."""
        mean, std = ((v[0], v[1], v[2]) for v in (self.mean, self.std))
        return Swap(network, self.points(size), mean, std, self.denormalise, self.order)
