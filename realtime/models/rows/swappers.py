"""Networks that swap, and what turns an embedding into what they take."""

from __future__ import annotations

from realtime.models.row import Model

ROWS: tuple[Model, ...] = ()
