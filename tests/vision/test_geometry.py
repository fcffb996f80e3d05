"""Transforms, boxes and regions: properties that hold for every face and every pose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from realtime.models.detectors.fake import face_at
from realtime.models.landmarks.fake import mesh_at
from realtime.types import Box, Region
from realtime.vision import geometry

coordinates = st.floats(-2000, 2000)
sizes = st.floats(8, 4000)
angles = st.floats(-180, 180)
regions = st.builds(Region, coordinates, coordinates, sizes, angles)
points = st.lists(st.tuples(coordinates, coordinates), min_size=2, max_size=8).map(lambda rows: np.array(rows, np.float64))
boxes = st.builds(lambda x, y, w, h: Box(x, y, x + w, y + h), coordinates, coordinates, st.floats(1, 500), st.floats(1, 500))


def turned(scale: float, degrees: float, x: float, y: float) -> geometry.Transform:
    cos, sin = scale * math.cos(math.radians(degrees)), scale * math.sin(math.radians(degrees))
    return np.array([[cos, -sin, x], [sin, cos, y]])


@given(regions, points, st.sampled_from([112, 192, 256]))
def test_into_a_crop_and_back(region: Region, where: np.ndarray, size: int) -> None:
    into = geometry.crop_transform(region, size)
    back = geometry.invert(into)
    np.testing.assert_allclose(geometry.apply(back, geometry.apply(into, where).astype(np.float64)), where, atol=0.05)
    np.testing.assert_allclose(geometry.compose(back, into), [[1, 0, 0], [0, 1, 0]], atol=1e-6)


@given(regions)
def test_a_crop_shows_its_region_upright_and_whole(region: Region) -> None:
    into = geometry.crop_transform(region, 192)
    centre, right = np.array([region.x, region.y]), np.array([math.cos(math.radians(region.angle)), math.sin(math.radians(region.angle))])
    edge = centre + right * region.size / 2
    np.testing.assert_allclose(geometry.apply(into, np.stack([centre, edge])), [[95.5, 95.5], [191.5, 95.5]], atol=0.01)
    assert geometry.scale_of(into) == pytest.approx(192 / region.size)


@given(points, st.floats(0.1, 10), angles, coordinates, coordinates)
def test_a_similarity_is_found_again(where: np.ndarray, scale: float, degrees: float, x: float, y: float) -> None:
    assume(np.ptp(where, axis=0).max() > 1)
    truth = turned(scale, degrees, x, y)
    moved = where @ truth[:, :2].T + truth[:, 2]
    np.testing.assert_allclose(geometry.similarity(where, moved), truth, atol=1e-5 * (1 + scale * 2000))


@given(points, points, st.floats(-0.2, 0.2), st.floats(-20, 20), st.floats(-20, 20))
def test_no_similarity_fits_better(source: np.ndarray, target: np.ndarray, turn: float, x: float, y: float) -> None:
    count = min(len(source), len(target))
    source, target = source[:count], target[:count]
    assume(np.ptp(source, axis=0).max() > 1)
    best = geometry.similarity(source, target)
    other = geometry.compose(turned(1 + turn, 30 * turn, x, y), best)

    def misfit(transform: geometry.Transform) -> float:
        return float(((source @ transform[:, :2].T + transform[:, 2] - target) ** 2).sum())

    assert misfit(best) <= misfit(other) * (1 + 1e-9) + 1e-6


def test_coinciding_points_have_no_similarity() -> None:
    with pytest.raises(ValueError, match="two different points"):
        geometry.similarity(np.ones((5, 2)), np.zeros((5, 2)))


@given(boxes, boxes)
def test_overlap_is_symmetric_and_a_share(a: Box, b: Box) -> None:
    assert geometry.overlap(a, b) == pytest.approx(geometry.overlap(b, a))
    assert 0 <= geometry.overlap(a, b) <= 1 + 1e-9
    assert geometry.overlap(a, a) == pytest.approx(1)


def test_overlap_of_a_half() -> None:
    assert geometry.overlap(Box(0, 0, 2, 1), Box(1, 0, 3, 1)) == pytest.approx(1 / 3)
    assert geometry.overlap(Box(0, 0, 1, 1), Box(1, 0, 2, 1)) == 0


def test_boxes_grow_by_their_longer_side() -> None:
    assert geometry.grow(Box(0, 0, 10, 20), 0.1) == Box(-2, -2, 12, 22)
    assert geometry.grow(Box(10, 10, 20, 30), 0.5) == Box(0, 0, 30, 40)


@given(coordinates, coordinates, st.floats(20, 1000), st.floats(-60, 60))
def test_the_region_follows_the_mesh(x: float, y: float, size: float, angle: float) -> None:
    mesh = mesh_at(x, y, size, angle=angle).points
    region = geometry.region_from_landmarks(mesh)
    box = geometry.bounds(mesh)
    assert region.angle == pytest.approx(angle, abs=0.5)
    assert region.size == pytest.approx(1.5 * max(box.width, box.height), rel=1e-3)
    assert (region.x, region.y) == pytest.approx(box.centre, abs=0.01)


def test_the_region_of_a_detection() -> None:
    region = geometry.region_from_detection(face_at(100, 50, 80))
    assert region.x == pytest.approx(100)
    assert region.y == pytest.approx(50)
    assert region.size == pytest.approx(120)
    assert region.angle == pytest.approx(0, abs=1e-4)


@given(st.floats(-80, 80))
def test_a_detection_leans_as_its_points_do(angle: float) -> None:
    upright = face_at(0, 0, 100)
    turn = turned(1, angle, 0, 0)
    leaning = type(upright)(upright.box, geometry.apply(turn, upright.points), 0.9)
    assert geometry.region_from_detection(leaning).angle == pytest.approx(angle, abs=0.01)


def test_a_profile_does_not_lean_although_its_eyes_nearly_coincide() -> None:
    points = np.array([[50, 40], [51, 46], [70, 60], [55, 80], [57, 81]], np.float32)
    profile = type(face_at(0, 0, 1))(Box(20, 0, 80, 100), points, 0.9)
    assert abs(geometry.region_from_detection(profile).angle) < 12


def test_five_points_are_named_points_of_the_mesh() -> None:
    mesh = mesh_at(0, 0, 100).points
    np.testing.assert_allclose(geometry.five_points(mesh), [[-20, -15], [20, -15], [0, 5], [-15, 25], [15, 25]], atol=1e-4)
    assert geometry.five_points(mesh).dtype == np.float32


@given(boxes, st.floats(0.1, 10), angles, coordinates, coordinates)
def test_a_moved_box_holds_the_moved_corners_and_no_more(box: Box, scale: float, degrees: float, x: float, y: float) -> None:
    transform = turned(scale, degrees, x, y)
    corners = np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
    assert geometry.moved(box, transform) == pytest.approx(geometry.bounds(geometry.apply(transform, corners)), rel=1e-5, abs=0.01)
