"""What lies beside a swap network, and what is said when it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from realtime import app
from realtime.config import load_settings
from realtime.errors import ModelError
from realtime.models.swappers.select import SwapOptions, check
from tests.models.swappers import scene
from tests.twins.swappers import twin


def nowhere(name: str) -> Path | None:
    return None


def test_what_is_lacking_is_told_with_every_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.save(tmp_path, "my_ghost.onnx", twin("ghost_1_256"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        check(Path("my_ghost.onnx"), SwapOptions(), nowhere)
    said = str(caught.value)
    assert said.startswith("my_ghost.onnx also needs ArcFace, which sees whom to show: run `python -m realtime models fetch w600k_r50`")
    assert "models add w600k_r50.onnx --as w600k_r50" in said and said.endswith(f"put w600k_r50.onnx into the folder {tmp_path}")
    scene.companions(tmp_path)
    check(Path("my_ghost.onnx"), SwapOptions(), nowhere)
    (tmp_path / "crossface_ghost.onnx").unlink()
    with pytest.raises(ModelError, match=r"a converter of embeddings: if you have the file .*models add"):
        check(Path("my_ghost.onnx"), SwapOptions(), nowhere)


def test_a_run_says_it_before_it_fetches_or_loads_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = scene.save(tmp_path, "my_ghost.onnx", twin("ghost_1_256"))
    monkeypatch.setenv("REALTIME_MODELS", str(tmp_path / "empty"))
    monkeypatch.setattr(app, "load_models", lambda *_: pytest.fail("it was loaded"))
    photo = str(scene.DATA / "p001_studio.jpg")
    settings = load_settings({"source": [[photo]], "input": photo, "output": ["null"], "swapper": str(network)})
    with pytest.raises(ModelError, match=re.escape("my_ghost.onnx also needs ArcFace")):
        app.run(settings)
    assert not (tmp_path / "empty").exists()
