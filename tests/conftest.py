"""Fixtures that every test may use: the default models, the acceptance media, the pictures in tests/data."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import hypothesis
import pytest

from realtime.errors import ModelError
from realtime.models.store import ModelStore
from realtime.storage import model_store
from realtime.trust import consent
from realtime.types import Image

_ROOT = Path(__file__).parent.parent

# Whoever is started in the background of a script ignores Ctrl-C, and so does what it starts: programs under test must hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a test: none is about how long one example takes.
hypothesis.settings.register_profile("unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the tests' own for what an installation remembers, the notice in it: no test touches or needs the user's."""
    before = os.environ.get("REALTIME_DATA")
    folder = tmp_path_factory.mktemp("data")
    os.environ["REALTIME_DATA"] = str(folder)
    consent.remember(folder)
    yield folder
    if before is None:
        del os.environ["REALTIME_DATA"]
    else:
        os.environ["REALTIME_DATA"] = before


@pytest.fixture(scope="session")
def models() -> ModelStore:
    """The store with the default models ready: the user's own, or the folder in REALTIME_MODELS. Skips when they cannot be fetched."""
    store = model_store()
    try:
        store.ensure()
    except ModelError as error:
        pytest.skip(f"the default models cannot be fetched: {error}")
    return store


@pytest.fixture(scope="session")
def media() -> Path:
    """The folder of acceptance media: REALTIME_MEDIA, or shared/media beside the checkout. Skips when absent."""
    folder = Path(os.environ.get("REALTIME_MEDIA", _ROOT.parent / "shared" / "media"))
    if not folder.is_dir():
        pytest.skip(f"no acceptance media in {folder}: name their folder in REALTIME_MEDIA")
    return folder


@pytest.fixture(scope="session")
def picture() -> Callable[[str], Image]:
    """`picture("p001_studio")`: a fresh copy of a picture in tests/data, BGR."""

    def read(name: str) -> Image:
        image = cv2.imread(str(_ROOT / "tests" / "data" / f"{name}.jpg"))
        assert image is not None, name
        return image

    return read
