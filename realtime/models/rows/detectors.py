"""Detectors, landmarkers and recognisers beyond the default ones."""

from __future__ import annotations

from realtime.models.row import Model

ROWS: tuple[Model, ...] = ()
