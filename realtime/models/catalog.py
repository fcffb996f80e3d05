"""Every model we know of, as rows of data. A new one is a row in `rows/`, and a converter if its file needs one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from realtime.models.row import Model, Wheel
from realtime.models.rows import defaults, detectors, enhancers, masks, swappers

__all__ = ["DEFAULTS", "MODELS", "Model", "Wheel"]

_ROWS = (*defaults.ROWS, *detectors.ROWS, *swappers.ROWS, *masks.ROWS, *enhancers.ROWS)

MODELS: Mapping[str, Model] = MappingProxyType({row.name: row for row in _ROWS})

DEFAULTS: tuple[str, ...] = ("yunet_320", "mesh", "sface")
"""What the live swap needs."""
