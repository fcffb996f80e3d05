"""Where this user's models, engines and keys are; apart from `app`, so that commands that only look at them start at once."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_dir

from realtime.models.store import APP_NAME, ModelStore


def model_store() -> ModelStore:
    """The store of this user, or in the folder that REALTIME_MODELS names."""
    folder = os.environ.get("REALTIME_MODELS")
    return ModelStore(Path(folder)) if folder else ModelStore()


def data_folder() -> Path:
    """Where what this installation must remember is kept: the folder that REALTIME_DATA names, else one in the user's data."""
    named = os.environ.get("REALTIME_DATA")
    return Path(named) if named else Path(user_data_dir(APP_NAME, appauthor=False))


def engines_folder() -> Path:
    """What REALTIME_ENGINES names, else `engines` of the checkout the program runs from, else a folder in the user's data."""
    named = os.environ.get("REALTIME_ENGINES")
    if named:
        return Path(named)
    checkout = Path(__file__).parents[1] / "engines"
    return checkout if (checkout / "README.md").is_file() else Path(user_data_dir(APP_NAME, appauthor=False)) / "engines"
