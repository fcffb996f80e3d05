"""Nothing comes out before the networks are ready, and `pass` says what it does before it does it."""

from __future__ import annotations

import pytest

from realtime import app, assets
from realtime.errors import ModelError
from realtime.models.store import ModelStore
from realtime.settings import Settings
from tests.privacy.harness import Watch


class Opened(Watch):
    def __init__(self):
        super().__init__(steady=True)
        self.opened = 0

    def open(self, stream):
        self.opened += 1


@pytest.fixture
def watch(monkeypatch):
    sink = Opened()
    monkeypatch.setattr(app, "open_output", lambda text, *more, **options: sink)
    return sink


@pytest.mark.parametrize("on_lost", ["hide", "freeze", "pass"])
def test_no_sink_is_open_while_models_load(watch, monkeypatch, on_lost):
    said: list[str] = []

    def load(*given, **options):
        assert watch.opened == 0
        assert (on_lost == "pass") == any("--on-lost pass" in sentence for sentence in said)
        raise ModelError("a network cannot be loaded")

    monkeypatch.setattr(app, "load_models", load)
    monkeypatch.setattr(ModelStore, "ensure", lambda *given, **options: None)
    settings = Settings(sources=((assets.SOURCE,),), input="synthetic", outputs=("null",), on_lost=on_lost)
    with pytest.raises(ModelError):
        app.run(settings, notify=said.append)
    assert watch.opened == watch.count == 0
