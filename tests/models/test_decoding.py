"""Preprocessing and decoding of the models around a pretended network, whose every number is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.base import Detector, Landmarker, Recogniser
from realtime.models.detectors.fake import FakeDetector, face_at
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.fake import FakeLandmarker, mesh_at
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.fake import FakeRecogniser
from realtime.models.recognisers.sface import SFace
from realtime.types import Array, Region
from realtime.vision.align import ARCFACE_112

GREY = np.full((320, 320, 3), 128, np.uint8)


def yunet_session(cells: Mapping[tuple[int, int, int], tuple[float, float]], script: tuple[Step, ...] = ()) -> FakeSession:
    """A 320-pixel YuNet that answers in these cells, (stride, column, row) -> (score, log of the box side in strides), and nowhere else."""
    outputs = [
        spec(f"{kind}_{stride}", 1, (320 // stride) ** 2, width)
        for kind, width in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10))
        for stride in (8, 16, 32)
    ]

    def network(feeds: Mapping[str, Array]) -> dict[str, Array]:
        answer = {output.name: np.zeros(output.shape, np.float32) for output in outputs}
        for (stride, column, row), (score, log_side) in cells.items():
            index = row * (320 // stride) + column
            answer[f"cls_{stride}"][0, index] = answer[f"obj_{stride}"][0, index] = score
            answer[f"bbox_{stride}"][0, index] = (0.5, 0.25, log_side, log_side)
            answer[f"kps_{stride}"][0, index] = np.arange(10) / 10
        return answer

    return FakeSession([spec("input", 1, 3, 320, 320)], outputs, network, script)


def test_a_cell_becomes_a_box_and_points() -> None:
    """Cell (5, 2) of stride 16: centre (5.5, 2.25) strides, side e^1 strides, points (5, 2) + (0, 0.1), (0.2, 0.3), ... strides."""
    (face,) = YuNet(yunet_session({(16, 5, 2): (0.9, 1.0)})).detect(GREY)
    side = np.e * 16
    np.testing.assert_allclose(face.box, [88 - side / 2, 36 - side / 2, 88 + side / 2, 36 + side / 2], rtol=1e-5)
    np.testing.assert_allclose(face.points[:2], [[80, 33.6], [83.2, 36.8]], rtol=1e-5)
    assert face.score == pytest.approx(0.9)


def test_boxes_are_scaled_to_the_image_about_its_corner() -> None:
    (face,) = YuNet(yunet_session({(8, 10, 10): (0.9, 2.0)})).detect(np.zeros((640, 640, 3), np.uint8))
    side = np.exp(2.0) * 8
    assert face.box.x0 == pytest.approx((84 - side / 2 + 0.5) * 2 - 0.5, abs=1e-3)
    assert face.box.width == pytest.approx(side * 2, rel=1e-5)


def test_of_overlapping_faces_the_best_stays() -> None:
    cells = {(8, 10, 10): (0.7, 2.0), (8, 11, 10): (0.95, 2.0), (8, 30, 30): (0.8, 2.0)}
    assert [round(face.score, 2) for face in YuNet(yunet_session(cells)).detect(GREY)] == [0.95, 0.8]


def test_scores_and_sizes_below_the_limit_are_left_out() -> None:
    cells = {(8, 5, 5): (0.65, 2.0), (8, 30, 30): (0.9, 1.0), (32, 5, 5): (0.5, 1.0)}
    assert len(YuNet(yunet_session(cells)).detect(GREY)) == 2
    assert len(YuNet(yunet_session(cells), score=0.4).detect(GREY)) == 3
    assert len(YuNet(yunet_session(cells), score=0.7).detect(GREY)) == 1
    assert len(YuNet(yunet_session(cells), min_face=30).detect(GREY)) == 1


def test_what_is_not_a_number_is_no_face() -> None:
    assert YuNet(yunet_session({(8, 5, 5): (0.9, 200.0)})).detect(GREY) == []


def test_scores_that_are_not_numbers_are_one_sentence() -> None:
    with pytest.raises(ModelError, match="YuNet gives something else than numbers"):
        YuNet(yunet_session({(8, 5, 5): (0.9, 2.0)}, (Step(nan=True),))).detect(GREY)


def test_only_the_thorough_look_tries_again_and_only_in_vain() -> None:
    for cells, thorough, runs in (({}, False, 1), ({}, True, 3), ({(8, 5, 5): (0.9, 2.0)}, True, 1)):
        session = yunet_session(cells)
        YuNet(session, thorough=thorough).detect(GREY)
        assert session.runs == runs


@pytest.mark.parametrize("shape", [(180, 320), (320, 180), (720, 1280), (90, 50), (333, 777)])
def test_the_image_fills_one_side_and_the_rest_is_black(shape: tuple[int, int]) -> None:
    session = yunet_session({})
    session.inputs["input"].fill(7)
    YuNet(session).detect(np.full((*shape, 3), 200, np.uint8))
    planes = session.inputs["input"][0]
    scale = 320 / max(shape)
    height, width = round(shape[0] * scale), round(shape[1] * scale)
    assert (planes[:, :height, :width] == 200).all()
    assert not planes[:, height:].any()
    assert not planes[:, :, width:].any()


def test_yunet_takes_blue_green_red() -> None:
    session = yunet_session({})
    YuNet(session).detect(np.full((320, 320, 3), (1, 2, 3), np.uint8))
    assert session.inputs["input"][0, :, 0, 0].tolist() == [1, 2, 3]


def mesh_session(mesh: np.ndarray, logit: float, script: tuple[Step, ...] = ()) -> FakeSession:
    return FakeSession(
        [spec("image", 1, 3, 192, 192)],
        [spec("presence", 1, 1, 1, 1), spec("points", 1, 1, 1, 1404)],
        lambda feeds: {"presence": np.full((1, 1, 1, 1), logit), "points": mesh.reshape(1, 1, 1, 1404)},
        script,
    )


def test_crop_pixels_become_image_pixels() -> None:
    """The crop's middle (96 from its edge) is the region's centre; its right edge lies along the roll; depth scales alike."""
    mesh = np.full((468, 3), 96, np.float32)
    mesh[1, 0] = 192
    found = MeshLandmarker(mesh_session(mesh, 0.0)).landmarks(GREY, Region(100, 80, 96, 90))
    np.testing.assert_allclose(found.points[0], [100, 80, 48], atol=1e-4)
    np.testing.assert_allclose(found.points[1], [100, 128, 48], atol=1e-4)
    assert found.presence == pytest.approx(0.5)


def test_the_crop_is_red_green_blue_from_0_to_1_and_black_outside() -> None:
    session = mesh_session(np.zeros((468, 3), np.float32), 0.0)
    MeshLandmarker(session).landmarks(np.full((100, 100, 3), (51, 102, 204), np.uint8), Region(0, 50, 60, 0))
    planes = session.inputs["image"][0]
    np.testing.assert_allclose(planes[:, 96, 150], [0.8, 0.4, 0.2], atol=1e-6)
    assert not planes[:, 96, :90].any()


@pytest.mark.parametrize("logit", [-200.0, 200.0])
def test_presence_stays_between_0_and_1(logit: float) -> None:
    found = MeshLandmarker(mesh_session(np.zeros((468, 3), np.float32), logit)).landmarks(GREY, Region(160, 160, 100, 0))
    assert found.presence == pytest.approx(float(logit > 0))


def test_a_mesh_that_is_not_a_number_is_no_face() -> None:
    spoilt = MeshLandmarker(mesh_session(np.zeros((468, 3), np.float32), 9.0, (Step(nan=True),)))
    assert spoilt.landmarks(GREY, Region(160, 160, 100, 0)).presence == 0
    broken = np.zeros((468, 3), np.float32)
    broken[7, 2] = np.inf
    assert MeshLandmarker(mesh_session(broken, 9.0)).landmarks(GREY, Region(160, 160, 100, 0)).presence == 0


def test_sface_takes_red_green_blue_and_gives_a_unit_vector() -> None:
    session = FakeSession([spec("data", 1, 3, 112, 112)], [spec("fc1", 1, 128)], lambda feeds: {"fc1": np.full((1, 128), 3)})
    vector = SFace(session).embed(np.full((112, 112, 3), (10, 20, 30), np.uint8), ARCFACE_112)
    assert session.inputs["data"][0, :, 50, 50].tolist() == [30, 20, 10]
    np.testing.assert_allclose(vector, np.full(128, 128**-0.5), rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "session", "sentence"),
    [
        (YuNet, FakeSession([spec("x", 1, 3, 100, 100)], []), "multiple of 32 pixels"),
        (MeshLandmarker, FakeSession([spec("x", 1, 3, 192, 100)], []), "one square crop: expected"),
        (MeshLandmarker, FakeSession([spec("x", 1, 3, 192, 192)], [spec("y", 5)]), "468 x 3 numbers and one more"),
        (SFace, FakeSession([spec("x", 1, 3, 96, 96)], []), "an aligned face: expected"),
    ],
)
def test_a_network_of_another_shape_is_refused(model: Callable[..., object], session: FakeSession, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        model(session)


def test_fakes_play_their_roles_and_follow_their_scripts() -> None:
    detector: Detector = FakeDetector([[face_at(10, 10, 8, 0.7), face_at(50, 50, 9)], RuntimeError("lost"), []])
    assert [face.score for face in detector.detect(GREY)] == [0.9, 0.7]
    with pytest.raises(RuntimeError, match="lost"):
        detector.detect(GREY)
    assert detector.detect(GREY) == detector.detect(GREY) == []

    landmarker: Landmarker = FakeLandmarker([mesh_at(10, 10, 8), mesh_at(20, 10, 8, presence=0.1)])
    seen = [landmarker.landmarks(GREY, Region(1, 2, 3, 4)).presence for _ in range(3)]
    assert seen == [1, 0.1, 0.1]
    free = FakeLandmarker().landmarks(GREY, Region(100, 120, 60, 0)).points
    assert free[:, 1].max() - free[:, 1].min() == pytest.approx(40, rel=0.05)

    recogniser: Recogniser = FakeRecogniser([0, 0, 1])
    first, again, other = (recogniser.embed(GREY, ARCFACE_112) for _ in range(3))
    assert float(first @ again) > recogniser.same_person > float(first @ other)
