"""Where this user's models are; apart from `app`, so that commands that only look at them start at once."""

from __future__ import annotations

import os
from pathlib import Path

from realtime.models.store import ModelStore


def model_store() -> ModelStore:
    """The store of this user, or in the folder that REALTIME_MODELS names."""
    folder = os.environ.get("REALTIME_MODELS")
    return ModelStore(Path(folder)) if folder else ModelStore()
