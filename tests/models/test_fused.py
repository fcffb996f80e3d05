"""The landmarker on the graph around the mesh: the same mesh as the network by itself, the frame brought once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
import pytest

from realtime.backends.select import open_frames, open_session
from realtime.errors import BackendError, ModelError
from realtime.graphs.follow import follow
from realtime.models.landmarks.fake import FakeLandmarker
from realtime.models.landmarks.fused import FusedLandmarker
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.store import ModelStore
from realtime.types import Array, Image, Region
from realtime.vision import geometry

REGION = Region(250, 245, 380, 7)
GREY = np.full((100, 120, 3), 90, np.uint8)


class _Frames:
    """A frame session without a network."""

    backend = "frames"

    def __init__(self, value: float = 5.0, presence: float = 0.9, inputs: tuple[str, ...] = ("region",)) -> None:
        self.inputs: Mapping[str, Array] = {name: np.zeros(4, np.float32) for name in inputs}
        self.outputs = {"landmarks": np.full((468, 3), value, np.float32), "presence": np.array([presence], np.float32)}
        self.ran: list[tuple[Array, list[float]]] = []

    def takes(self, shape: tuple[int, ...]) -> bool:
        return shape[0] <= 100

    def run(self, frame: Array) -> Mapping[str, Array]:
        self.ran.append((frame, self.inputs["region"].tolist()))
        return self.outputs

    def watch(self, upcoming: Callable[[], Array | None]) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


def test_hands_over_frame_and_region_and_keeps_nothing_of_the_sessions() -> None:
    session = _Frames()
    landmarker = FusedLandmarker(session, FakeLandmarker())
    found = landmarker.landmarks(GREY, REGION)
    assert session.ran[0][0] is GREY and session.ran[0][1] == list(REGION)
    session.outputs["landmarks"].fill(0)
    assert found.points[0, 0] == 5 and found.presence == pytest.approx(0.9)


@pytest.mark.parametrize(("value", "presence"), [(np.nan, 0.9), (np.inf, 0.9), (5.0, np.nan)])
def test_what_is_no_number_shows_nobody(value: float, presence: float) -> None:
    assert FusedLandmarker(_Frames(value, presence), FakeLandmarker()).landmarks(GREY, REGION).presence == 0


def test_sizes_that_the_graph_does_not_take_go_the_other_way() -> None:
    session, other = _Frames(), FakeLandmarker()
    FusedLandmarker(session, other).landmarks(np.zeros((200, 200, 3), np.uint8), REGION)
    assert other.regions == [REGION] and session.ran == []


def test_another_graph_is_refused() -> None:
    with pytest.raises(ModelError, match="and region: it takes latent, region"):
        FusedLandmarker(_Frames(inputs=("region", "latent")), FakeLandmarker())


@pytest.mark.models
def test_finds_the_mesh_that_the_network_by_itself_finds(models: ModelStore, picture: Callable[[str], Image]) -> None:
    graph = follow(models.path("mesh"), gather_bytes=True).SerializeToString()
    single = MeshLandmarker(open_session(models.path("mesh"), "onnxruntime"))
    with open_frames(graph, on_gpu=False) as session:
        landmarker = FusedLandmarker(session, FakeLandmarker())
        assert landmarker.backend == "onnxruntime cpu fp32"
        region = REGION
        for name in ("p001_studio", "p002_studio", "p001_studio"):
            image = picture(name)
            for _ in range(2):
                expected, found = single.landmarks(image, region), landmarker.landmarks(image, region)
                eyes = np.linalg.norm(expected.points[33, :2] - expected.points[263, :2])
                assert np.abs(found.points - expected.points).max() < 0.02 * eyes
                assert found.presence == pytest.approx(expected.presence, abs=0.01)
                region = geometry.region_from_landmarks(found.points)
    with pytest.raises(BackendError, match="closed"):
        session.run(GREY)


@pytest.mark.models
def test_frames_side_by_side_with_other_pixels_are_taken_too(models: ModelStore, picture: Callable[[str], Image]) -> None:
    image = picture("p001_studio")
    wide = np.concatenate([image, image], axis=1)
    with open_frames(follow(models.path("mesh"), gather_bytes=True).SerializeToString(), on_gpu=False) as session:
        landmarker = FusedLandmarker(session, FakeLandmarker())
        whole, part = landmarker.landmarks(image, REGION), landmarker.landmarks(wide[:, : image.shape[1]], REGION)
        np.testing.assert_array_equal(whole.points, part.points)
        with pytest.raises(BackendError, match="expected frame"):
            session.run(np.zeros((4, 4), np.uint8))
