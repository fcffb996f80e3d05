"""Two synthetic people in one picture through the threaded pipeline, on the real networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.following import infer_stage, references
from realtime.loading import Models, fit_sources, load_models
from realtime.models.store import ModelStore
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.pipeline import Pipeline
from realtime.pipeline.telemetry import Telemetry
from realtime.settings import Settings
from realtime.sinks.memory import MemorySink
from realtime.sources.fake import FakeSource
from realtime.types import Image, State
from realtime.vision import geometry

pytestmark = pytest.mark.models
DATA = Path(__file__).parent.parent / "data"
LEFT, RIGHT = "p001_studio", "p006_studio"
SOURCES = ((DATA / "p002_studio.jpg",), (DATA / "p005_studio.jpg",))
FRAMES = 8
SIZE = (960, 480)


@pytest.fixture(scope="module")
def loaded(models: ModelStore) -> Iterator[Models]:
    with ExitStack() as cleanup:
        yield load_models(Settings(sources=SOURCES), models, cleanup)


def scene(picture: Callable[[str], Image], step: int) -> Image:
    """The two side by side, one of them moving."""
    frame = np.full((SIZE[1], SIZE[0], 3), 120, np.uint8)
    for name, left in ((LEFT, 40 + 3 * min(step, FRAMES)), (RIGHT, 520)):
        frame[40:440, left : left + 400] = cv2.resize(picture(name), (400, 400), interpolation=cv2.INTER_AREA)
    return frame


def shown(loaded: Models, picture: Callable[[str], Image], frames: int = FRAMES, **options: object) -> tuple[list[Image], Telemetry]:
    settings = Settings(sources=SOURCES, **options)  # type: ignore[arg-type]
    known = references(settings, loaded.photo_detector, loaded.photo_landmarker, loaded.recogniser, print)
    networks = loaded.detector, loaded.landmarker, loaded.recogniser, loaded.swapper
    identities = fit_sources(settings, loaded, print)
    infer = infer_stage(settings, *networks, identities, Controls(), known)
    sink, telemetry = MemorySink(), Telemetry()
    source = FakeSource([scene(picture, n) for n in range(frames)], size=SIZE, live=False)
    Pipeline(source, infer, lambda w, h: Finisher(w, h, "hide", None, None, True), [sink], telemetry=telemetry).run()
    assert [frame.state for frame in sink.frames] == [State.SWAPPED] * frames
    return [frame.image for frame in sink.frames], telemetry


def likeness(loaded: Models, image: Image, side: slice) -> list[float]:
    """Cosines of the face on one side of the picture with the two sources."""
    assert loaded.recogniser is not None
    half = np.ascontiguousarray(image[:, side])
    points = max(loaded.detector.detect(half), key=lambda face: face.box.area)
    mesh = loaded.landmarker.landmarks(half, geometry.region_from_detection(points))
    seen = loaded.recogniser.embed(half, geometry.five_points(mesh.points)).copy()
    people = []
    for group in SOURCES:
        photo = cv2.imread(str(group[0]))
        assert photo is not None
        face = loaded.detector.detect(photo)[0]
        points468 = loaded.landmarker.landmarks(photo, geometry.region_from_detection(face)).points
        people.append(float(loaded.recogniser.embed(photo, geometry.five_points(points468)) @ seen))
    return people


def test_everybody_is_swapped_in_every_frame(loaded, picture):
    images, telemetry = shown(loaded, picture, faces="all")
    assert telemetry.report(0, 1.0, {})["faces"] == {"mean": 2.0, "most": 2}
    for n, image in enumerate(images):
        changed = np.abs(image.astype(int) - scene(picture, n)).max(2) > 12
        assert changed[:, :480].sum() > 5000 and changed[:, 520:].sum() > 5000
        assert not changed[:60].any() and not changed[400:].any()


def test_each_person_gets_their_own_source(loaded, picture):
    photos = (1, DATA / f"{LEFT}.jpg"), (0, DATA / "p006_selfie.jpg")
    images, _ = shown(loaded, picture, map=photos)
    left, right = likeness(loaded, images[-1], slice(0, 480)), likeness(loaded, images[-1], slice(500, 960))
    assert left[1] > left[0] and right[0] > right[1]
    # The other one is hidden until known in the first frame, and swapped after.
    assert np.abs(images[-1].astype(int) - scene(picture, FRAMES - 1))[:, 520:].max() > 12


def test_one_side_is_swapped_and_the_other_untouched_once_known_to_be_somebody_else(loaded, picture):
    images, _ = shown(loaded, picture, frames=50, faces="right")
    for n in range(40, 50):
        changed = np.abs(images[n].astype(int) - scene(picture, n)).max(2)
        assert not changed[:, :480].any() and changed[:, 520:].max() > 12
