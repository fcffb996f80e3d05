"""The tracker and the photo loader on the real networks and synthetic people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pil

from realtime.backends.select import open_session
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.sface import SFace
from realtime.models.store import ModelStore
from realtime.photos.source import load_source
from realtime.tracking import Status, Tracker, TrackerSettings
from realtime.types import Image
from realtime.vision import geometry

pytestmark = pytest.mark.models
DATA = Path(__file__).parent.parent / "data"
Picture = Callable[[str], Image]


@dataclass
class Nets:
    detector: YuNet
    patient: YuNet
    mesh: MeshLandmarker
    sface: SFace


@pytest.fixture(scope="module")
def nets(models: ModelStore) -> Iterator[Nets]:
    with ExitStack() as stack:
        detector, mesh, sface = (stack.enter_context(open_session(models.path(name))) for name in ("yunet_320", "mesh", "sface"))
        yield Nets(YuNet(detector), YuNet(detector, thorough=True), MeshLandmarker(mesh), SFace(sface))


def scene(*placed: tuple[Image, float, float]) -> Image:
    """A grey 1280 x 720 frame with portraits of 420 pixels, centres given."""
    frame = np.full((720, 1280, 3), 120, np.uint8)
    for portrait, x, y in placed:
        small = cv2.resize(portrait, (420, 420), interpolation=cv2.INTER_AREA)
        left, top = round(x) - 210, round(y) - 210
        x0, x1 = max(left, 0), min(left + 420, 1280)
        if x1 > x0:
            frame[top : top + 420, x0:x1] = small[:, x0 - left : x1 - left]
    return frame


def test_follows_a_moving_face_without_detecting(nets, picture: Picture):
    tracker = Tracker(nets.detector, nets.mesh, nets.sface, TrackerSettings(detect_every=10))
    portrait = picture("p001_studio")
    answers = [tracker.track(scene((portrait, 640 + 200 * np.sin(3 * i / 30), 360)), i / 30) for i in range(45)]
    assert answers[0].state is Status.DETECTED
    assert all(a.state is Status.FOLLOWED for a in answers[1:])
    seen = [a.face.box.centre[0] for a in answers if a.face]
    wanted = [640 + 200 * np.sin(3 * i / 30) for i in range(45)]
    assert np.abs(np.diff(np.array(seen) - wanted)).max() < 6  # the face moves up to 20 pixels a frame


def test_knows_the_person_after_a_loss(nets, picture: Picture):
    tracker = Tracker(nets.detector, nets.mesh, nets.sface, TrackerSettings())
    person, other, wall = picture("p006_studio"), picture("p009_studio"), scene()
    for i in range(20):
        assert tracker.track(scene((person, 640, 360)), i / 30).face is not None
    assert tracker.track(wall, 0.7).state is Status.LOST
    # Somebody else, elsewhere; then the person back among them.
    answers = [tracker.track(scene((other, 300, 360)), 1.2 + i / 30) for i in range(10)]
    assert all(a.state is Status.LOST and a.reason == "another person" for a in answers)
    back = [tracker.track(scene((other, 300, 360), (person, 900, 360)), 1.6 + i / 30) for i in range(30)]
    assert back[-1].face is not None and back[-1].face.box.centre[0] > 700


@pytest.mark.parametrize("name", ["p002_studio", "p006_studio", "p009_studio", "p010_studio"])
def test_a_face_upside_down_is_not_taken_up_the_wrong_way_round(nets, picture: Picture, name):
    tracker = Tracker(nets.detector, nets.mesh, nets.sface, TrackerSettings())
    frame = np.ascontiguousarray(scene((picture(name), 640, 360))[::-1, ::-1])
    assert nets.detector.detect(frame)  # it is seen, as an upright one
    assert all(tracker.track(frame, i / 30).face is None for i in range(5))


def test_a_head_rolled_over_is_followed_the_right_way_up(nets, picture: Picture):
    tracker = Tracker(nets.detector, nets.mesh, nets.sface, TrackerSettings())
    upright = scene((picture("p006_studio"), 640, 360))
    left, right = geometry.OUTER_EYE_CORNERS
    for i in range(31):
        angle = 6.0 * i
        turned = cv2.warpAffine(upright, cv2.getRotationMatrix2D((640, 360), -angle, 1), (1280, 720), borderValue=(120, 120, 120))
        face = tracker.track(turned, i / 30).face
        if face is not None:
            roll = geometry.roll(face.landmarks.points[left], face.landmarks.points[right])
            assert abs((roll - angle + 180) % 360 - 180) < 20


def test_a_head_thrown_aside_keeps_its_mesh(nets, picture: Picture):
    # A third of the face in one frame: one look of the network would follow by two thirds of it.
    tracker = Tracker(nets.detector, nets.mesh, nets.sface, TrackerSettings())
    person = picture("p001_studio")
    before = [tracker.track(scene((person, 500, 360)), i / 30) for i in range(10)][-1]
    assert before.face is not None
    size = before.face.box.height
    after = tracker.track(scene((person, 500 + round(size / 3), 360)), 10 / 30)
    assert after.face is not None
    moved = (after.face.landmarks.points - before.face.landmarks.points)[:, 0]
    assert abs(moved.mean() - round(size / 3)) < 0.03 * size


def test_a_portrait_on_its_side_is_found_and_turned(nets, tmp_path, picture: Picture):
    image = picture("p002_studio")
    Pil.fromarray(np.ascontiguousarray(np.rot90(image)[:, :, ::-1])).save(tmp_path / "side.png")
    photos, notes = load_source([tmp_path / "side.png"], nets.patient, nets.mesh)
    left, right = geometry.OUTER_EYE_CORNERS
    assert abs(geometry.roll(photos[0].landmarks.points[left], photos[0].landmarks.points[right])) < 20
    assert "on its side" in notes[0]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jpg")), ids=lambda path: path.stem)
def test_good_portraits_need_no_word(nets, path):
    photos, notes = load_source([path], nets.patient, nets.mesh)
    assert notes == [] and photos[0].landmarks.presence > 0.9


def test_a_blurred_and_a_dark_portrait_are_told(nets, tmp_path, picture: Picture):
    image = picture("p005_studio")
    cv2.imwrite(str(tmp_path / "blurred.png"), cv2.GaussianBlur(image, (0, 0), 4))
    cv2.imwrite(str(tmp_path / "dark.png"), (image * 0.25).astype(np.uint8))
    _, notes = load_source([tmp_path / "blurred.png", tmp_path / "dark.png"], nets.patient, nets.mesh)
    assert [note.split(":")[0] for note in notes] == ["the face in blurred.png is blurred", "the face in dark.png is very dark"]


def test_a_close_up_cut_at_the_face_is_found(nets, tmp_path, picture: Picture):
    image = picture("p010_studio")
    photos, _ = load_source([DATA / "p010_studio.jpg"], nets.patient, nets.mesh)
    box = geometry.grow(geometry.bounds(photos[0].landmarks.points), 0.02)
    part = image[max(int(box.y0), 0) : int(box.y1), int(box.x0) : int(box.x1)]
    cv2.imwrite(str(tmp_path / "close.png"), part)
    photos, _ = load_source([tmp_path / "close.png"], nets.patient, nets.mesh)
    assert photos[0].landmarks.presence > 0.5
