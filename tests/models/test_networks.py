"""The real networks on pictures of synthetic people: golden values, and what must hold whatever the values are.

Golden values were made with ONNX Runtime; decoders of JPEG and resizers differ a little between versions of OpenCV, hence the tolerances.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import cv2
import numpy as np
import pytest

from realtime.backends.select import describe
from realtime.models.store import ModelStore
from realtime.types import Image, Region
from realtime.vision import geometry
from tests.models.networks import GOLDEN, PICTURES, POINTS, Networks, Seen

pytestmark = pytest.mark.models
Picture = Callable[[str], Image]
EXPECTED = json.loads(GOLDEN.read_text())
PERSON = {name: name.split("_")[0] for name in PICTURES}


@pytest.fixture(scope="module", params=[status.name for status in describe() if status.usable])
def networks(request: pytest.FixtureRequest, models: ModelStore) -> Networks:
    """On every backend; our own has kernels for the mesh alone, so that the others are those that `auto` takes beside it."""
    return Networks.open(models, "auto" if request.param == "native" else request.param)


@pytest.fixture(scope="module")
def seen(networks: Networks, picture: Picture) -> dict[str, Seen]:
    """What the networks see in each picture, looked at once."""
    return {name: Seen.look(networks, picture(name)) for name in PICTURES}


@pytest.mark.parametrize("name", PICTURES)
def test_detections_are_golden(name: str, seen: dict[str, Seen]) -> None:
    """Within a pixel of pictures 480 to 512 wide, the score within 0.02."""
    (found,) = seen[name].detections
    np.testing.assert_allclose(found.box, EXPECTED[name]["box"], atol=1)
    np.testing.assert_allclose(found.points, EXPECTED[name]["points"], atol=1)
    assert found.score == pytest.approx(EXPECTED[name]["score"], abs=0.02)


@pytest.mark.parametrize("name", PICTURES)
def test_meshes_are_golden(name: str, seen: dict[str, Seen]) -> None:
    """Within 0.75 pixels, about a hundredth of the eyes' distance."""
    mesh = seen[name].mesh
    assert mesh.points.shape == (468, 3)
    assert mesh.points.dtype == np.float32
    np.testing.assert_allclose(mesh.points[list(POINTS)], EXPECTED[name]["mesh"], atol=0.75)
    assert mesh.presence == pytest.approx(EXPECTED[name]["presence"], abs=0.01)


@pytest.mark.parametrize("name", PICTURES)
def test_embeddings_are_golden(name: str, seen: dict[str, Seen]) -> None:
    vector = seen[name].embedding
    assert vector.shape == (128,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)
    assert float(vector @ np.array(EXPECTED[name]["embedding"])) > 0.995


def test_detector_and_mesh_agree_on_where_the_face_is(seen: dict[str, Seen]) -> None:
    """The detector's points wander by a tenth of the eyes' distance or two, but now here and now there. (The nose tips differ in kind.)"""
    shifts = []
    for each in seen.values():
        found, five = each.detections[0].points, geometry.five_points(each.mesh.points)
        shifts.append((found - five)[[0, 1, 3, 4]] / np.linalg.norm(five[1] - five[0]))
    assert np.abs(shifts).max() < 0.25
    assert np.abs(np.mean(shifts, axis=0)).max() < 0.06


@pytest.mark.parametrize("name", ["p001_studio", "p006_selfie"])
def test_a_mirrored_face_has_the_mirrored_mesh(name: str, networks: Networks, picture: Picture) -> None:
    image = picture(name)
    mesh, mirrored = networks.mesh(image), networks.mesh(np.ascontiguousarray(image[:, ::-1]))
    five, other = geometry.five_points(mesh.points), geometry.five_points(mirrored.points)
    other[:, 0] = image.shape[1] - 1 - other[:, 0]
    eyes = float(np.linalg.norm(five[1] - five[0]))
    assert np.abs(other[[1, 0, 2, 4, 3]] - five).max() < 0.05 * eyes


@pytest.mark.parametrize("angle", [-40, 25])
def test_a_leaning_head_is_found_where_it_leans(angle: float, networks: Networks, picture: Picture) -> None:
    image = picture("p002_studio")
    turn = np.array(cv2.getRotationMatrix2D((256, 256), angle, 0.7))
    leaning = cv2.warpAffine(image, turn, (512, 512), borderMode=cv2.BORDER_REPLICATE)
    five = geometry.five_points(networks.mesh(image).points)
    found = geometry.five_points(networks.mesh(leaning).points)  # type: ignore[arg-type]
    eyes = float(np.linalg.norm(found[1] - found[0]))
    assert np.abs(geometry.apply(turn, five) - found).max() < 0.08 * eyes


def test_a_face_at_twice_the_size_has_twice_the_mesh(networks: Networks, picture: Picture) -> None:
    image = picture("p010_studio")
    large = cv2.resize(image, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
    mesh, double = networks.mesh(image).points, networks.mesh(large).points  # type: ignore[arg-type]
    expected = np.concatenate([(mesh[:, :2] + 0.5) * 2 - 0.5, mesh[:, 2:] * 2], axis=1)
    assert np.abs(double - expected).mean() < 2


def test_presence_tells_a_face_from_a_wall(networks: Networks, picture: Picture) -> None:
    image = picture("p005_studio")
    assert networks.mesh(image).presence > 0.99
    assert networks.landmarker.landmarks(image, Region(60, 60, 100, 0)).presence < 0.1


def test_a_region_outside_the_picture_is_no_face(networks: Networks, picture: Picture) -> None:
    found = networks.landmarker.landmarks(picture("p005_studio"), Region(-5000, 9000, 200, 30))
    assert np.isfinite(found.points).all()
    assert found.presence < 0.5


def test_points_are_the_callers_own(networks: Networks, picture: Picture) -> None:
    image, landmarker = picture("p001_studio"), networks.landmarker
    region = geometry.region_from_detection(networks.detector.detect(image)[0])
    first = landmarker.landmarks(image, region)
    kept = first.points.copy()
    landmarker.landmarks(image, region._replace(x=region.x + 40))
    np.testing.assert_array_equal(first.points, kept)


def test_embeddings_tell_people_apart_better_than_pictures(networks: Networks, seen: dict[str, Seen]) -> None:
    """Of each person with two pictures, the other picture is the nearest, and above the threshold."""
    for name in ("p006_studio", "p006_selfie", "p009_studio", "p009_selfie"):
        alike = {other: float(seen[name].embedding @ seen[other].embedding) for other in PICTURES if other != name}
        nearest = max(alike, key=lambda other: alike[other])
        assert PERSON[nearest] == PERSON[name]
        assert alike[nearest] > networks.recogniser.same_person


def test_several_faces_come_best_first(networks: Networks, picture: Picture) -> None:
    image = np.hstack([picture("p001_studio"), picture("p002_studio"), picture("p005_studio")])
    found = networks.detector.detect(np.ascontiguousarray(image))
    assert [int(face.box.centre[0] // 512) for face in sorted(found, key=lambda face: face.box.x0)] == [0, 1, 2]
    assert [face.score for face in found] == sorted((face.score for face in found), reverse=True)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (720, 1280), (641, 359), (96, 120)])
def test_any_frame_size_will_do(width: int, height: int, networks: Networks, picture: Picture) -> None:
    image = picture("p009_studio")
    side = min(width, height)
    frame = np.full((height, width, 3), 90, np.uint8)
    frame[:side, -side:] = cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA)
    (found,) = networks.detector.detect(frame)
    scale = side / 512
    expected = np.array(EXPECTED["p009_studio"]["box"]) * scale + [width - side, 0, width - side, 0]
    np.testing.assert_allclose(found.box, expected, atol=0.06 * side)


def test_a_face_cut_by_the_border_is_found_and_reaches_beyond(networks: Networks, picture: Picture) -> None:
    image = np.ascontiguousarray(picture("p001_studio")[:, 240:])
    found = networks.detector.detect(image)
    assert found
    assert found[0].box.x0 < 10


def test_a_face_that_fills_the_picture_needs_the_thorough_look(networks: Networks, picture: Picture) -> None:
    face = picture("p010_studio")[110:340, 170:335]
    (found, *_) = networks.thorough.detect(np.ascontiguousarray(face))
    assert found.box.height > 0.8 * face.shape[0]


@pytest.mark.parametrize("size", [(1, 1), (2, 300), (480, 640)])
def test_nothing_is_found_in_an_empty_picture(size: tuple[int, int], networks: Networks) -> None:
    assert networks.thorough.detect(np.zeros((*size, 3), np.uint8)) == []


def test_leftovers_of_a_larger_picture_do_not_haunt_a_smaller_one(networks: Networks, picture: Picture) -> None:
    detector = networks.detector
    assert detector.detect(picture("p001_studio"))
    assert detector.detect(np.full((100, 640, 3), 128, np.uint8)) == []
