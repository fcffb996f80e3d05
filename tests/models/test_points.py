"""Sparse landmark networks and the crops that they align, through twins that put their points around a red spot."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.base import Identity, Swapper
from realtime.models.landmarks.fake import mesh_at
from realtime.models.landmarks.points import PointLandmarker
from realtime.models.swappers.fake import FakeSwapper
from realtime.models.swappers.refined import RefinedSwapper
from realtime.types import Box, Detection, Face, Floats, Image, Patch, Region, SourcePhoto
from realtime.vision import geometry
from tests.models.conftest import OpenTwin
from tests.twins import landmarks as twins

MARGINS = {"2d106det": 1.5, "1k3d68": 1.5, "2dfan4": 256 / 195}


def spotted(x: float, y: float) -> Image:
    image = np.full((480, 640, 3), 90, np.uint8)
    cv2.circle(image, (round(x * 16), round(y * 16)), 12 * 16, (0, 0, 255), -1, cv2.LINE_AA, 4)
    return image


@pytest.mark.parametrize("angle", [0.0, 25.0])
@pytest.mark.parametrize("kind", twins.SIZES)
def test_points_come_out_in_the_picture(kind: str, angle: float, open_twin: OpenTwin) -> None:
    """Wherever the crop is and however it leans: around the spot, by shares of the crop's side."""
    network = PointLandmarker(open_twin(twins.landmark_twin(kind)), "file.onnx")
    assert network.name == kind
    found = network.points(spotted(330, 250), Region(300, 240, 200, angle))
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    turned = twins.offsets(kind) @ np.array([[cos, sin], [-sin, cos]])
    np.testing.assert_allclose(found, (330, 250) + turned * 200 * MARGINS[kind], atol=0.75)
    assert found.dtype == np.float32


@pytest.mark.parametrize("kind", twins.SIZES)
def test_five_points_of_the_face_with_this_mesh(kind: str, open_twin: OpenTwin) -> None:
    """The crop is the mesh's box with the network's margin."""
    mesh = mesh_at(300, 240, 180).points
    box = geometry.bounds(mesh)
    side = max(box.width, box.height) * MARGINS[kind]
    eye_centre = geometry.five_points(mesh)[:2].mean(0)
    spot = eye_centre - twins.FIVE[:2].mean(0) * side
    found = PointLandmarker(open_twin(twins.landmark_twin(kind)), "file.onnx").five(spotted(*spot), mesh)
    np.testing.assert_allclose(found, spot + twins.FIVE * side, atol=0.75)
    assert np.abs(found - geometry.five_points(mesh)).max() > 3


@pytest.mark.parametrize("kind", twins.SIZES)
def test_where_the_network_lost_the_face_the_mesh_has_its_way(kind: str, open_twin: OpenTwin) -> None:
    mesh = mesh_at(300, 240, 180).points
    network = PointLandmarker(open_twin(twins.landmark_twin(kind)), "file.onnx")
    np.testing.assert_array_equal(network.five(spotted(420, 330), mesh), geometry.five_points(mesh))


def test_another_network_is_refused_in_one_sentence() -> None:
    for shape in ((1, 136), (1, 1404)):
        session = FakeSession([spec("x", 1, 3, 192, 192)], [spec("y", *shape)])
        with pytest.raises(ModelError, match=r"^what.onnx is no landmark network that this program knows .*: name a file like .*$"):
            PointLandmarker(session, "what.onnx")
    oblong = FakeSession([spec("x", 1, 3, 192, 100)], [spec("y", 1, 212)])
    with pytest.raises(ModelError, match="2d106det takes one square picture"):
        PointLandmarker(oblong, "what.onnx")


def test_points_that_are_not_numbers_are_one_sentence() -> None:
    session = FakeSession([spec("data", 1, 3, 192, 192)], [spec("fc1", 1, 212)], script=[Step(nan=True)])
    with pytest.raises(ModelError, match="2d106det gives something else than numbers"):
        PointLandmarker(session, "x").five(spotted(10, 10), mesh_at(300, 240, 180).points)


class Recorder(FakeSwapper):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Floats | None] = []

    def fit(self, photos: Sequence[SourcePhoto]) -> Identity:
        self.given += [photo.refined for photo in photos]
        return super().fit(photos)

    def swap(self, image: Image, face: Face) -> Patch | None:
        self.given.append(face.refined)
        return super().swap(image, face)

    def fork(self) -> Recorder:
        return self


class Fixed:
    def five(self, image: Image, mesh: Floats) -> Floats:
        return np.full((5, 2), 7, np.float32)


def test_faces_and_photos_go_on_with_refined_points() -> None:
    recorder = Recorder()
    swapper: Swapper = RefinedSwapper(recorder, Fixed())
    mesh, image = mesh_at(300, 240, 180), spotted(300, 240)
    face = Face(mesh, geometry.bounds(mesh.points), 1)
    photo = SourcePhoto(image, Detection(Box(0, 0, 1, 1), np.zeros((5, 2), np.float32), 1), mesh)
    identity = swapper.fit([photo])
    swapper.use(identity)
    swapper.swap(image, face)
    again = swapper.fork()
    again.use(identity)
    again.swap(image, face)
    assert [given is not None and given.tolist() == [[7, 7]] * 5 for given in recorder.given] == [True] * 3
    assert face.refined is None
    np.testing.assert_array_equal(geometry.alignment_points(face), geometry.five_points(mesh.points))
    assert geometry.alignment_points(Face(mesh, face.box, 1, Fixed().five(image, mesh.points)))[0].tolist() == [7, 7]
