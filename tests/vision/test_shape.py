"""The source's own shape on the frame's face: what is moved, what is not, and what is remembered."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.vision.mesh import indices
from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.shade import new_history
from realtime.vision.mesh.shape import MOST, SHARE, own_shape, reshape
from realtime.vision.mesh.topology import Topology, load_topology

TIP, WING = 4, 129


@pytest.fixture(scope="module")
def topology() -> Topology:
    return load_topology()


def _seen(xyz: np.ndarray, yaw: float = 0.0, scale: float = 20.0) -> np.ndarray:
    """Landmarks (V, 3) of a face in canonical units, turned aside."""
    rotation = cv2.Rodrigues(np.array([0.0, yaw, 0.0]))[0]
    return (scale * xyz @ rotation * (1, -1, -1) + (320, 240, 0)).astype(np.float32)


def _wide_nosed(topology: Topology, by: float = 0.4) -> np.ndarray:
    xyz = topology.xyz.copy()
    beside = np.linalg.norm((xyz - xyz[WING]) * (0, 1, 1), axis=1) < 1.5
    xyz[:, 0] += by * np.sign(xyz[:, 0]) * beside * (np.abs(xyz[:, 0]) < 2.6)
    return xyz


def _shape(topology: Topology, points: np.ndarray) -> np.ndarray:
    rotation = np.empty((3, 3), np.float32)
    scale = fit_pose(points, topology.xyz, RIGID, rotation)
    return own_shape(points, topology.xyz, RIGID, rotation, scale, topology.own)


def _drawn(topology: Topology, shape: np.ndarray, looks: list[np.ndarray]) -> np.ndarray:
    """What is drawn on the last of some frames."""
    history, out, rotation = new_history(len(shape)), np.empty((len(shape), 3), np.float32), np.empty((3, 3), np.float32)
    for points in looks:
        history.age[0] += 1
        scale = np.float32(fit_pose(points, topology.xyz, RIGID, rotation))
        reshape(points, topology.xyz, RIGID, rotation, scale, shape, history.age, history.shape, history.looks, out)
    return out


def test_a_nose_becomes_as_wide_as_the_sources_and_eyes_mouth_and_outline_stay(topology: Topology) -> None:
    points = _seen(topology.xyz)
    moved = _drawn(topology, _shape(topology, _seen(_wide_nosed(topology), scale=35.0)), [points]) - points
    assert moved[WING, 0] == pytest.approx(-0.4 * 20 * SHARE, rel=0.1)
    still = [*indices.LEFT_EYE, *indices.RIGHT_EYE, *indices.INNER_LIPS, *indices.OVAL]
    assert np.abs(moved[still]).max() < 0.1


def test_a_face_of_the_sources_own_shape_is_drawn_where_it_is(topology: Topology) -> None:
    points = _seen(_wide_nosed(topology))
    np.testing.assert_allclose(_drawn(topology, _shape(topology, points), [points, points]), points, atol=0.05)


def test_a_move_of_the_face_is_not_taken_back(topology: Topology) -> None:
    """A sneer for a few frames among many shows as it is: only the mean shape is exchanged."""
    rest, sneer = _seen(topology.xyz), _seen(topology.xyz)
    sneer[TIP, 1] -= 6.0
    shape = _shape(topology, rest)
    drawn = _drawn(topology, shape, [rest] * 40 + [sneer])
    assert drawn[TIP, 1] - rest[TIP, 1] == pytest.approx(-6.0, abs=0.5)


@pytest.mark.parametrize(("yaw", "scale"), [(0.6, 20.0), (0.0, 4.0)])
def test_turned_and_small_faces_keep_their_own_shape(topology: Topology, yaw: float, scale: float) -> None:
    points = _seen(topology.xyz, yaw, scale)
    np.testing.assert_allclose(_drawn(topology, _shape(topology, _seen(_wide_nosed(topology))), [points]), points, atol=1e-3)


def test_a_photo_from_the_side_gives_no_shape(topology: Topology) -> None:
    assert _shape(topology, _seen(_wide_nosed(topology), yaw=0.6))[:, 2].max() == 0


def test_however_wrong_the_landmarks_a_vertex_is_moved_only_so_far(topology: Topology) -> None:
    points, wild = _seen(topology.xyz), _seen(topology.xyz)
    wild[WING, :2] += 200
    moved = _drawn(topology, _shape(topology, wild), [points]) - points
    assert 0 < np.abs(moved[WING, :2]).max() <= 20 * SHARE * MOST + 1
