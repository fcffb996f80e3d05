from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.graphs import coordinates
from realtime.graphs.builder import Graph, Value
from realtime.models.landmarks.fake import mesh_at
from realtime.models.landmarks.mesh import _sigmoid, _to_image
from realtime.types import Floats, Region
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_112
from tests.graphs.runtimes import Run, loaded, unary

PIXEL = 0.02
"""Tolerance in frame pixels of a 4K frame: float32 has steps of 0.0002 there, a few dozen operations may add up to this."""
regions = st.builds(Region, st.floats(0, 3840), st.floats(0, 2160), st.floats(40, 2000), st.floats(-180, 180))


def _float(*dims: int) -> tuple[type[np.float32], tuple[int, ...]]:
    return np.float32, dims


@pytest.fixture(scope="module")
def crops(runtime: str) -> Run:
    def build(graph: Graph) -> None:
        matrix = coordinates.from_crop(graph, graph.input("region", *_float(4)), 192)
        graph.output("points", coordinates.mesh_in_frame(graph, graph.input("mesh", *_float(468, 3)), matrix), *_float(468, 3))
        graph.output("matrix", matrix, *_float(2, 3))

    return loaded(build, runtime)


@pytest.fixture(scope="module")
def faces(runtime: str) -> Run:
    def build(graph: Graph) -> None:
        landmarks = graph.input("landmarks", *_float(468, 3))
        five = coordinates.five_points(graph, landmarks)
        fit = coordinates.similarity(graph, five, ARCFACE_112)
        graph.output("region", coordinates.next_region(graph, landmarks), *_float(4))
        graph.output("back", coordinates.invert(graph, fit), *_float(2, 3))
        graph.output("five", five, *_float(5, 2))
        graph.output("fit", fit, *_float(2, 3))

    return loaded(build, runtime)


class TestAgainstGeometry:
    @given(regions)
    @settings(max_examples=40, deadline=None)
    def test_a_region_gives_the_inverse_of_its_crop_transform(self, crops: Run, region: Region) -> None:
        matrix = crops(region=np.float32(region), mesh=np.zeros((468, 3), np.float32))["matrix"]
        corners = np.array([[0, 0], [191, 0], [191, 191], [0, 191]], np.float32)
        expected = geometry.apply(geometry.invert(geometry.crop_transform(region, 192)), corners)
        np.testing.assert_allclose(geometry.apply(matrix.astype(np.float64), corners), expected, atol=PIXEL)

    @given(regions)
    @settings(max_examples=40, deadline=None)
    def test_the_mesh_goes_where_the_landmarker_puts_it(self, crops: Run, region: Region) -> None:
        mesh = mesh_at(95, 96, 120, angle=10).points
        mesh[:, 2] = np.linspace(-40, 40, 468)
        expected = np.empty((468, 3), np.float32)
        assert _to_image(mesh, geometry.invert(geometry.crop_transform(region, 192)), expected)
        np.testing.assert_allclose(crops(region=np.float32(region), mesh=mesh)["points"], expected, atol=PIXEL)

    @given(st.floats(0, 3840), st.floats(0, 2160), st.floats(30, 1500), st.floats(-180, 180))
    @settings(max_examples=40, deadline=None)
    def test_region_points_and_fit(self, faces: Run, x: float, y: float, size: float, angle: float) -> None:
        points = mesh_at(x, y, size, angle=angle).points
        result = faces(landmarks=points)
        expected, found = geometry.region_from_landmarks(points), Region(*result["region"])
        np.testing.assert_allclose(found[:3], expected[:3], atol=PIXEL)
        assert abs(math.remainder(found.angle - expected.angle, 360)) < 0.05  # degrees
        np.testing.assert_allclose(result["five"], geometry.five_points(points), atol=PIXEL)
        fit = geometry.similarity(geometry.five_points(points), ARCFACE_112)
        seen = geometry.apply(result["fit"].astype(np.float64), points[:, :2])
        np.testing.assert_allclose(seen, geometry.apply(fit, points[:, :2]), atol=PIXEL * max(1, geometry.scale_of(fit)))
        there_and_back = geometry.apply(result["back"].astype(np.float64), geometry.apply(fit, points[:, :2]))
        np.testing.assert_allclose(there_and_back, points[:, :2], atol=PIXEL)

    def test_coinciding_points_give_numbers(self, faces: Run) -> None:
        result = faces(landmarks=np.full((468, 3), 7, np.float32))
        assert all(np.isfinite(value).all() for value in result.values())
        np.testing.assert_allclose(result["fit"], np.column_stack([np.zeros((2, 2)), ARCFACE_112.mean(0)]), atol=1e-3)
        assert not result["back"].any()


def test_atan2_in_all_quadrants_and_on_the_axes(runtime: str) -> None:
    turns = np.linspace(-math.pi, math.pi, 73)[1:].astype(np.float32)
    pairs = np.concatenate([np.stack([np.sin(turns), np.cos(turns)]), [[0, 0, 1, -1, 0], [1, -1, 0, 0, 0]]], axis=1).astype(np.float32)
    find = unary(lambda graph, x: coordinates.atan2(graph, x.take(0, 0), x.take(1, 0)), [2, pairs.shape[1]], runtime)
    wrong = find(pairs) - np.arctan2(pairs[0], pairs[1])
    np.testing.assert_allclose(np.angle(np.exp(1j * wrong)), 0, atol=1e-6)  # pi and -pi are one angle


class TestPresence:
    @staticmethod
    def _of(runtime: str, logit: float, mesh: Floats) -> float:
        def build(graph: Graph) -> None:
            value = coordinates.presence(graph, graph.input("logit", *_float(1, 1)), graph.input("mesh", *_float(468, 3)))
            graph.output("presence", value, *_float(1))

        return float(loaded(build, runtime)(logit=np.array([[logit]], np.float32), mesh=mesh)["presence"][0])

    @pytest.mark.parametrize("logit", [-30.0, -2.0, 0.0, 3.5, 40.0])
    def test_is_the_sigmoid(self, runtime: str, logit: float) -> None:
        assert self._of(runtime, logit, np.ones((468, 3), np.float32)) == pytest.approx(_sigmoid(logit), abs=1e-6)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_nothing_but_numbers_counts(self, runtime: str, bad: float) -> None:
        mesh = np.ones((468, 3), np.float32)
        assert self._of(runtime, bad, mesh) == 0
        mesh[200, 1] = bad
        assert self._of(runtime, 5.0, mesh) == 0


def test_no_coordinate_passes_through_a_matrix_product() -> None:
    """MatMul, Gemm and Conv may run in TF32 on a GPU whatever the type says."""
    graph = Graph()
    landmarks: Value = graph.input("landmarks", *_float(468, 3))
    fit = coordinates.similarity(graph, coordinates.five_points(graph, landmarks), ARCFACE_112)
    matrix = coordinates.from_crop(graph, coordinates.next_region(graph, landmarks), 192)
    graph.output("a", coordinates.apply(coordinates.invert(graph, fit), landmarks), *_float(468, 2))
    graph.output("b", coordinates.mesh_in_frame(graph, landmarks, matrix), *_float(468, 3))
    assert not {"MatMul", "Gemm", "Conv", "Einsum"} & {node.op_type for node in graph.model("m").graph.node}


