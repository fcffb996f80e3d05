"""Networks that say what of a face is to be swapped."""

from __future__ import annotations

from realtime.models.row import Model

ROWS: tuple[Model, ...] = ()
