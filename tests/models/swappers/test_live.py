"""The whole program with a swap network of the user's: photo in, film in, swapped and marked film out."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime import app
from realtime.config import load_settings
from realtime.errors import ModelError
from realtime.models.store import ModelStore
from realtime.settings import Settings
from realtime.trust.reading import read_mark
from tests.models.swappers import scene
from tests.sources.media import write_video
from tests.test_app import frames_of
from tests.twins.recognisers import arcface_twin
from tests.twins.swappers import dfm_twin, twin

pytestmark = pytest.mark.models
TARGET = scene.DATA / "p006_studio.jpg"


@pytest.fixture(autouse=True)
def ready(models: ModelStore) -> None:
    """Each run here loads the models that the fixture made sure of."""


def _settings(folder: Path, swapper: Path, **more: object) -> Settings:
    photo = cv2.resize(cv2.imread(str(TARGET)), (320, 320), interpolation=cv2.INTER_AREA)
    film = write_video(folder / "in.mp4", [np.roll(photo, n // 2, axis=1) for n in range(10)], sound=False)
    given = {"swapper": str(swapper), "input": str(film), "output": [str(folder / "out.mp4")], **more}
    return load_settings(given, None)


def test_a_swap_network_runs_through_the_threaded_pipeline(tmp_path: Path) -> None:
    scene.companions(tmp_path)
    network = scene.save(tmp_path, "my_inswapper.onnx", twin("inswapper_128"))
    source = str(scene.DATA / "p001_studio.jpg")
    report = app.run(_settings(tmp_path, network, source=[[source]], badge="off"))
    assert report["states"] == {"swapped": 10}
    assert report["roles"]["swapper"]["model"] == "my_inswapper"
    before, after = frames_of(tmp_path / "in.mp4"), frames_of(tmp_path / "out.mp4")
    assert np.abs(before[5].astype(int) - after[5])[100:220, 110:210].mean() > 15
    assert np.abs(before[5].astype(int) - after[5])[:20].mean() < 4
    assert read_mark(after).found


def test_a_network_that_was_added_is_known_by_its_name(tmp_path: Path, models: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, said = tmp_path / "models", []
    shutil.copytree(models.folder, folder, ignore=shutil.ignore_patterns("compiled"))
    store = ModelStore(folder)
    store.add(scene.save(tmp_path, "mine.onnx", twin("inswapper_128")), "inswapper_128")
    store.add(scene.save(tmp_path, "theirs.onnx", arcface_twin()), "w600k_r50")
    monkeypatch.setenv("REALTIME_MODELS", str(folder))
    film = _settings(tmp_path, tmp_path / "mine.onnx", source=[[str(scene.DATA / "p001_studio.jpg")]])
    assert app.run(replace(film, swapper="inswapper_128"), notify=said.append)["states"] == {"swapped": 10}
    assert any("it forbids every use but non-commercial research" in sentence for sentence in said)


def test_a_dfm_file_needs_no_photo(tmp_path: Path) -> None:
    network = scene.save(tmp_path, "somebody.dfm", dfm_twin())
    assert app.run(_settings(tmp_path, network))["states"] == {"swapped": 10}


def test_a_file_that_lacks_its_companions_is_told_before_anything_is_written(tmp_path: Path) -> None:
    network = scene.save(tmp_path, "my_ghost.onnx", twin("ghost_1_256"))
    with pytest.raises(ModelError, match=r"my_ghost\.onnx also needs ArcFace"):
        app.run(_settings(tmp_path, network, source=[[str(scene.DATA / "p001_studio.jpg")]]))
    assert not (tmp_path / "out.mp4").exists()
