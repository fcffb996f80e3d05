"""Networks that restore a face or enlarge a frame."""

from __future__ import annotations

from realtime.models.row import Model

ROWS: tuple[Model, ...] = ()
