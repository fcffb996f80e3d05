"""The whole program with masks, colours and an enhancer after the swap: photo in, film in, finished and marked film out."""

from __future__ import annotations

import shutil
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
from tests.twins import enhancers
from tests.twins.swappers import twin

pytestmark = pytest.mark.models


@pytest.fixture
def folder(tmp_path: Path, models: ModelStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's models: the default ones, and twins that were added under the names of the field's."""
    store = ModelStore(tmp_path / "models")
    shutil.copytree(models.folder, store.folder, ignore=shutil.ignore_patterns("compiled"))
    for name, model in (("gfpgan_1.4", enhancers.face_twin()), ("real_esrgan_x2", enhancers.frame_twin(2))):
        store.add(scene.save(tmp_path, "twin.onnx", model), name)
    monkeypatch.setenv("REALTIME_MODELS", str(store.folder))
    return tmp_path


def settings(folder: Path, **more: object) -> Settings:
    photo = cv2.resize(cv2.imread(str(scene.DATA / "p006_studio.jpg")), (320, 320), interpolation=cv2.INTER_AREA)
    film = write_video(folder / "in.mp4", [np.roll(photo, n // 2, axis=1) for n in range(10)], sound=False)
    source = str(scene.DATA / "p001_studio.jpg")
    given = {"source": [[source]], "input": str(film), "output": [str(folder / "out.mp4")], "badge": "off", **more}
    return load_settings(given, None)


def test_a_network_swap_with_everything_at_once(folder: Path) -> None:
    scene.companions(folder)
    network = scene.save(folder, "my_inswapper.onnx", twin("inswapper_128"))
    asked = settings(
        folder, swapper=str(network), mask="box,hull,mouth", colour="lab,histogram,neck,light,motion,poisson", enhance="gfpgan"
    )
    report = app.run(asked)
    assert report["states"] == {"swapped": 10}
    assert report["roles"]["gfpgan_1.4"]["model"] == "gfpgan_1.4"
    before, after = frames_of(folder / "in.mp4"), frames_of(folder / "out.mp4")
    assert np.abs(before[5].astype(int) - after[5])[100:220, 110:210].mean() > 10
    assert np.abs(before[5].astype(int) - after[5])[:20].mean() < 4
    assert read_mark(after).found


def test_the_mesh_with_an_enhancer_and_a_larger_film(folder: Path) -> None:
    report = app.run(settings(folder, enhance="gfpgan", enlarge="real_esrgan_x2"))
    assert report["states"] == {"swapped": 10}
    assert (report["input"]["width"], report["input"]["height"]) == (640, 640)
    assert frames_of(folder / "out.mp4")[0].shape == (640, 640, 3)


def test_a_mask_whose_model_is_not_there_is_told_with_the_command(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"^xseg_1 is not among .*: run `python -m realtime models fetch xseg_1`, which shows the licence"):
        app.run(settings(folder, mask="occlusion"))
    assert not (folder / "out.mp4").exists()
