"""Hairs at the border of a painted face, over a drawn beard."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.vision.mesh.beard import border, new_beard, show_hairs
from realtime.vision.mesh.topology import Topology, load_topology

SIDE = 320
PAINTED = 150


@pytest.fixture(scope="module")
def topology() -> Topology:
    return load_topology()


def _face(topology: Topology, scale: float = 14.0) -> np.ndarray:
    points = topology.xyz * np.array([scale, -scale, -scale], np.float32)
    return (points + np.array([SIDE / 2, SIDE / 2, 0], np.float32)).astype(np.float32)


def _frame(level: float, contrast: float) -> np.ndarray:
    """A picture of hairs, upright strokes of a pixel or two, which differ by a share from the level."""
    random = np.random.default_rng(5)
    strokes = cv2.GaussianBlur(random.normal(size=(SIDE, SIDE)).astype(np.float32), (0, 0), sigmaX=0.8, sigmaY=3.0)
    picture = level * (1 + contrast * strokes / strokes.std())
    return np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[..., None], 3, 2)


def _fading(topology: Topology, points: np.ndarray) -> np.ndarray:
    """Opacity that falls to nothing from well inside the oval to the oval."""
    oval = np.zeros((SIDE, SIDE), np.uint8)
    cv2.fillConvexPoly(oval, cv2.convexHull(points[:, :2].astype(np.int32)), 255)
    away = cv2.distanceTransform(oval, cv2.DIST_L2, 5)
    return np.clip(away * 10, 0, 255).astype(np.uint8)


def _shown(topology: Topology, image: np.ndarray, noise: float = 0.0, scale: float = 14.0) -> tuple[np.ndarray, np.ndarray]:
    """Opacity before and after."""
    points = _face(topology, scale)
    before = _fading(topology, points)
    after, colour = before.copy(), np.full((SIDE, SIDE, 3), PAINTED, np.uint8)
    show_hairs(image, points, border(topology), 0, 0, noise, new_beard(), colour, after)
    return before, after


def test_over_a_beard_the_opacity_follows_its_hairs_and_fades_as_before_on_average(topology: Topology) -> None:
    image = _frame(35, 0.3)
    before, after = _shown(topology, image)
    changed = after.astype(int) - before
    zone = (before > 60) & (before < 200)
    zone[: SIDE // 2 + 60] = False
    hairs = image[..., 1] - cv2.blur(image[..., 1].astype(np.float32), (7, 7))
    assert np.abs(changed[zone]).mean() > 15
    assert np.corrcoef(changed[zone], hairs[zone])[0, 1] > 0.6
    assert abs(changed[zone].mean()) < 5
    assert (after[(before < 8) | (before > 247)] == before[(before < 8) | (before > 247)]).all()
    assert not changed[: SIDE // 2 - 20].any(), "above the nose nothing is a beard"


@pytest.mark.parametrize(("level", "contrast"), [(140.0, 0.1), (125.0, 0.2)])
def test_bare_skin_and_a_shadow_under_the_chin_are_left(topology: Topology, level: float, contrast: float) -> None:
    before, after = _shown(topology, _frame(level, contrast))
    np.testing.assert_array_equal(after, before)


def test_what_is_noise_is_no_hair(topology: Topology) -> None:
    random = np.random.default_rng(7)
    image = np.clip(random.normal(35, 8, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)
    moved = {}
    for noise in (0.0, 8.0):
        before, after = _shown(topology, image, noise)
        moved[noise] = np.abs(after.astype(int) - before).mean()
    assert moved[8.0] < 0.35 * moved[0.0]


def test_hairs_too_small_to_be_seen_are_left(topology: Topology) -> None:
    before, after = _shown(topology, _frame(35, 0.3), scale=3.0)
    np.testing.assert_array_equal(after, before)


def test_a_face_cut_by_the_frame_is_no_error(topology: Topology) -> None:
    points = _face(topology) + np.array([90, 40, 0], np.float32)
    before = _fading(topology, points)
    after = before.copy()
    show_hairs(_frame(35, 0.3), points, border(topology), 0, 0, 0.0, new_beard(), np.full((SIDE, SIDE, 3), PAINTED, np.uint8), after)
    assert (after != before).any()


def test_a_hand_that_passes_the_chin_is_no_beard(topology: Topology) -> None:
    points, edge, state = _face(topology), border(topology), new_beard()
    before, colour = _fading(topology, points), np.full((SIDE, SIDE, 3), PAINTED, np.uint8)
    for image in [_frame(150, 0.05)] * 5 + [_frame(60, 0.3)]:
        after = before.copy()
        show_hairs(image, points, edge, 0, 0, 0.0, state, colour, after)
        np.testing.assert_array_equal(after, before)
