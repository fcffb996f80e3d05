"""The face mesh: known answers for pose, light, sharpness, rasterising, painting and holes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision.mesh import colour, indices
from realtime.vision.mesh.colour import sample_colours, tone_curve
from realtime.vision.mesh.describe import at_texels
from realtime.vision.mesh.even import even_light
from realtime.vision.mesh.holes import cut_hole
from realtime.vision.mesh.light import fit_light, light_basis, solve
from realtime.vision.mesh.paint import pack, paint
from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.sharpness import edge_blur
from realtime.vision.mesh.topology import Topology, load_topology

angles = st.floats(-0.9, 0.9)


@pytest.fixture(scope="module")
def topology() -> Topology:
    return load_topology()


def _rotation(yaw: float, pitch: float, roll: float) -> np.ndarray:
    return cv2.Rodrigues(np.array([pitch, yaw, roll]))[0].astype(np.float32)


def _landmarks(topology: Topology, scale: float, rotation: np.ndarray, centre: tuple[float, float]) -> np.ndarray:
    points = scale * topology.xyz @ rotation * np.array([1, -1, -1], np.float32)
    return (points + np.array([*centre, 0], np.float32)).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(angles, angles, angles, st.floats(2, 40))
def test_a_known_pose_is_recovered(yaw: float, pitch: float, roll: float, scale: float) -> None:
    topology = load_topology()
    wanted, found = _rotation(yaw, pitch, roll), np.empty((3, 3), np.float32)
    size = fit_pose(_landmarks(topology, scale, wanted, (300, 200)), topology.xyz, RIGID, found)
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    assert size == pytest.approx(scale, rel=1e-3)


def test_a_mirrored_face_gives_the_identity_rather_than_a_reflection(topology: Topology) -> None:
    points = _landmarks(topology, 10, np.eye(3, dtype=np.float32), (0, 0))
    points[:, 2] = -points[:, 2]
    found = np.empty((3, 3), np.float32)
    fit_pose(points, topology.xyz, RIGID, found)
    np.testing.assert_array_equal(found, np.eye(3))


def test_small_systems_are_solved() -> None:
    random = np.random.default_rng(3)
    root = random.normal(size=(8, 8))
    matrix, right = (root @ root.T + 8 * np.eye(8)).astype(np.float32), random.normal(size=(8, 3)).astype(np.float32)
    found = np.empty_like(right)
    solve(matrix.copy(), right, found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), atol=1e-4)


def test_light_is_found_under_a_hand(topology: Topology) -> None:
    basis = np.empty((468, 8), np.float32)
    light_basis(topology.normals, basis)
    truth = np.array([[120, 130, 160], [20, 15, 10], [10, 12, 14], [30, 30, 30], *[[0, 0, 0]] * 4], np.float32)
    colour = basis @ truth
    hand = topology.xyz[:, 1] < -5.5
    covered = colour.copy()
    covered[hand] = (20, 200, 40)
    found, residual = np.empty((8, 3), np.float32), np.empty((468, 3), np.float32)
    fit_light(covered, basis, topology.skin, 9.0, found, residual)
    assert np.abs(basis @ found - colour)[~hand].mean() < 3
    assert np.abs(residual[hand]).mean() > 40


def test_the_tone_curve_maps_skin_to_skin_and_keeps_black(topology: Topology) -> None:
    source, target = np.array([90, 120, 170], np.float32), np.array([150, 170, 200], np.float32)
    curve = np.empty((3, 256), np.float32)
    tone_curve(source, target, curve)
    for channel in range(3):
        assert curve[channel, int(source[channel])] == pytest.approx(target[channel], abs=0.5)
        assert curve[channel, 0] == 0
        assert (np.diff(curve[channel]) >= -1e-3).all()


def test_hair_takes_on_the_colour_of_the_light_and_little_of_that_of_the_skin() -> None:
    source, hair, curve = np.array([45, 65, 100], np.float32), (12, 15, 18), np.empty((3, 256), np.float32)

    def mix(target: tuple[int, int, int]) -> tuple[float, float]:
        """Blue as a share of red: of the hair, and of the skin beside that of the photo's."""
        tone_curve(source, np.array(target, np.float32), curve)
        levels = [curve[channel, hair[channel]] for channel in range(3)]
        return float(levels[0] / levels[2]), target[0] / target[2]

    pale, blue = mix((135, 160, 195)), mix((220, 150, 90))
    assert pale[0] < 0.9 < blue[0], "dark brown on a pale face, blue in blue light"
    assert blue[0] / pale[0] > 0.6 * blue[1] / pale[1]


def test_colours_at_vertices_are_those_around_them() -> None:
    image = np.zeros((60, 80, 3), np.uint8)
    image[:, :40], image[:, 40:] = (10, 20, 30), (200, 100, 50)
    out = np.empty((3, 3), np.float32)
    sample_colours(image, np.array([[10, 30, 0], [70, 30, 0], [-50, 900, 0]], np.float32), 4, out)
    np.testing.assert_allclose(out, [(10, 20, 30), (200, 100, 50), (10, 20, 30)])


@pytest.mark.parametrize("sigma", [1.5, 2.5, 4.0])
def test_blur_of_edges_is_measured(topology: Topology, sigma: float) -> None:
    points = _landmarks(topology, 20, np.eye(3, dtype=np.float32), (250, 250))
    image = np.full((500, 500, 3), 170, np.uint8)
    for y in range(150, 400, 50):
        image[y : y + 25] = 60
    measured = edge_blur(cv2.GaussianBlur(image, (0, 0), sigma), points, np.float32(np.ptp(points[:, 1])))
    assert measured == pytest.approx(sigma, rel=0.3)


def _drawn(topology: Topology, points: np.ndarray, step: int, shape: tuple[int, int]) -> np.ndarray:
    attributes = np.ones((468, CHANNELS), np.float32)
    attributes[:, :2] = topology.uv
    attributes[:, 2:5] = (5, -5, 10)
    grid = new_grid(-(-shape[0] // step) + 1, -(-shape[1] // step) + 1)
    draw_grid(points, attributes, topology.triangles, 0, 0, step, grid, 4 * step / max(shape), 3)
    return grid.nodes


def test_the_grid_covers_the_face_and_nothing_else(topology: Topology) -> None:
    points = _landmarks(topology, 14, np.eye(3, dtype=np.float32), (140, 140))
    nodes = _drawn(topology, points, 4, (280, 280))
    inside = np.zeros((280, 280), np.uint8)
    cv2.fillConvexPoly(inside, points[list(indices.OVAL), :2].round().astype(np.int32), 1)
    alpha = nodes[..., 5]
    ys, xs = np.mgrid[0 : alpha.shape[0], 0 : alpha.shape[1]] * 4
    within = np.zeros_like(alpha, bool)
    fits = (ys < 280) & (xs < 280)
    within[fits] = inside[ys[fits], xs[fits]] > 0
    deep = cv2.erode(within.astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
    assert (alpha[deep] > 0.99).mean() > 0.97
    assert alpha[~(cv2.dilate(within.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0)].max() == 0


def test_a_vertex_gets_its_own_texture_coordinate(topology: Topology) -> None:
    points = _landmarks(topology, 14, _rotation(0.2, 0, 0), (140, 140))
    nodes = _drawn(topology, points, 2, (280, 280))
    for vertex in (1, 10 + 141, 50, 280, 199):  # nose, chin, cheeks
        x, y = (points[vertex, :2] / 2).round().astype(int)
        assert np.abs(nodes[y, x, :2] - topology.uv[vertex]).max() < 0.02


def test_painting_a_flat_texture_gives_its_colour_plus_the_offset(topology: Topology) -> None:
    points = _landmarks(topology, 14, np.eye(3, dtype=np.float32), (140, 140))
    nodes = _drawn(topology, points, 4, (280, 280))
    tones = np.tile(np.arange(256, dtype=np.float32), (3, 1))
    colour, alpha = np.zeros((280, 280, 3), np.uint8), np.full((280, 280), 7, np.uint8)
    paint(nodes, 4, pack(np.full((64, 64, 3), (40, 3, 250), np.uint8)), tones, colour, alpha)
    middle = colour[60:100, 120:160]  # the forehead
    np.testing.assert_allclose(middle.reshape(-1, 3), np.tile((45, 0, 255), (1600, 1)), atol=1)
    assert alpha[60:100, 120:160].min() >= 254
    assert alpha[:4].max() == 0


@pytest.mark.parametrize("step", [2, 3, 5, 7])
def test_warping_there_and_back_leaves_the_texture(step: int) -> None:
    side = 210
    ramp = np.linspace(20, 235, side)
    texture = np.stack([np.tile(ramp, (side, 1)), np.tile(ramp[:, None], (1, side)), np.full((side, side), 90.0)], 2).astype(np.uint8)
    rows = -(-side // step) + 1
    nodes = np.zeros((rows, rows, CHANNELS), np.float32)
    nodes[..., 0] = (np.arange(rows)[None] * step + 0.5) / side
    nodes[..., 1] = (np.arange(rows)[:, None] * step + 0.5) / side
    nodes[..., 5] = 1
    tones = np.tile(np.arange(256, dtype=np.float32), (3, 1))
    colour, alpha = np.zeros((side, side, 3), np.uint8), np.zeros((side, side), np.uint8)
    paint(nodes, step, pack(texture), tones, colour, alpha)
    assert np.abs(colour[: side - 8, : side - 8].astype(int) - texture[: side - 8, : side - 8]).max() <= 1
    assert alpha.min() >= 254


def test_a_hole_is_open_inside_and_closed_outside() -> None:
    alpha = np.full((80, 100), 255, np.uint8)
    points = np.zeros((4, 3), np.float32)
    points[:, :2] = [(130, 240), (150, 225), (170, 240), (150, 255)]
    cut_hole(alpha, points, np.arange(4, dtype=np.int32), 100, 200, np.float32(1), np.float32(1), 1)
    assert alpha[40, 50] == 0
    assert alpha[40, 35:65].max() == 0
    outside = np.ones_like(alpha, bool)
    outside[22:59, 27:74] = False
    assert alpha[outside].min() == 255
    area = (255 - alpha.astype(float)).sum() / 255
    assert area == pytest.approx(40 * 30 / 2, rel=0.02)


def test_a_hole_outside_the_patch_changes_nothing() -> None:
    alpha = np.full((20, 20), 255, np.uint8)
    points = np.zeros((4, 3), np.float32)
    points[:, :2] = [(500, 500), (520, 490), (540, 500), (520, 510)]
    cut_hole(alpha, points, np.arange(4, dtype=np.int32), 0, 0, np.float32(1), np.float32(1), 2)
    assert alpha.min() == 255


def test_the_canonical_face_is_oriented_and_symmetric(topology: Topology) -> None:
    corners = topology.xyz[topology.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 2] > 0).mean() > 0.9
    assert topology.xyz[33, 0] < 0 < topology.xyz[263, 0]
    np.testing.assert_allclose(topology.uv[33], (1 - topology.uv[263, 0], topology.uv[263, 1]), atol=1e-3)
    assert topology.depth[list(indices.OVAL)].max() == 0
    np.testing.assert_allclose(topology.blur.sum(1), 1, rtol=1e-4)


def test_a_flatter_picture_gets_a_flatter_face_and_a_contrasty_one_is_left_alone() -> None:
    curve = np.tile(np.arange(256, dtype=np.float32), (3, 1))
    rng = np.random.default_rng(3)
    fit, weight = np.full((468, 3), 150, np.float32), np.ones(468, np.float32)
    features = rng.normal(0, 20, (468, 1)).repeat(3, 1).astype(np.float32)
    same = colour.contrast(curve, fit + features, fit, features, weight)
    half = colour.contrast(curve, fit + features, fit, features * np.float32(0.5), weight)
    assert same == 1.0
    assert half == pytest.approx(0.5 * colour.CONTRAST, abs=0.03)
    assert colour.contrast(curve, fit + features, fit, features * np.float32(0.1), weight) == colour.LEAST_CONTRAST


def test_flattening_keeps_the_skin_level_and_spares_hair() -> None:
    skin = np.full(3, 150, np.float32)
    curve = np.tile(np.arange(256, dtype=np.float32), (3, 1))
    colour.flatten(curve, skin, skin, np.float32(0.6))
    assert curve[0, 150] == 150
    assert curve[0, 130] == pytest.approx(150 - 0.6 * 20, abs=0.5)
    assert 150 - curve[0, 30] > 0.8 * 120
    assert (np.diff(curve[0]) >= 0).all()


def test_a_flat_picture_gives_its_own_shading_and_a_usual_one_leaves_the_photos() -> None:
    step = np.array([[-10, 10, 30], [20, 20, 20]], np.float32)
    broad, sides = step * np.float32(0.5), np.array([1, 0], np.float32)
    taken = {}
    for contrast in (1.0, 0.93, 0.6):
        taken[contrast] = broad.copy()
        colour.take_shading(taken[contrast], step, sides, contrast, 0.0)
    np.testing.assert_allclose(taken[1.0], colour.MIDDLE_SHARE * broad, rtol=1e-5)
    np.testing.assert_allclose(taken[0.6][1], colour.MIDDLE_SHARE * broad[1], rtol=1e-5)
    np.testing.assert_allclose(taken[0.6][0], colour.FLAT_SHARE * broad[0] + colour.FINE_SHARE * (step - broad)[0], rtol=1e-5)
    assert (np.abs(taken[0.93]) > np.abs(taken[1.0]))[0].all() and (np.abs(taken[0.93]) < np.abs(taken[0.6]))[0].all()


def test_the_sides_of_a_turned_face_follow_the_frames_shading() -> None:
    step = np.array([[-10, 10, 30], [20, 20, 20]], np.float32)
    broad, sides = step * np.float32(0.5), np.array([1, 0], np.float32)
    taken = {}
    for turned in (0.0, 0.5, 1.0):
        taken[turned] = broad.copy()
        colour.take_shading(taken[turned], step, sides, 1.0, turned)
    np.testing.assert_allclose(taken[0.0], colour.MIDDLE_SHARE * broad, rtol=1e-5)
    assert (np.abs(taken[0.5]) > np.abs(taken[0.0]))[0].all() and (np.abs(taken[0.5]) < np.abs(taken[1.0]))[0].all()
    np.testing.assert_allclose(taken[1.0][1], colour.MIDDLE_SHARE * broad[1], rtol=1e-5)


def _with_spot(topology: Topology, vertex: int, change: tuple[float, float, float], width: float) -> tuple[np.ndarray, np.ndarray]:
    """Skin whose colour is changed around a vertex, by a share, before and after its light is evened; levels at the vertex."""
    x, y = topology.uv[vertex] * 256
    away = np.hypot(*(np.mgrid[:256, :256] - np.array([y, x])[:, None, None]))
    spot = np.exp(-((away / width) ** 2))[..., None].astype(np.float32)
    texture = np.full((256, 256, 3), (110, 130, 170), np.float32) * (1 + spot * np.float32(change))
    at = round(y), round(x)
    return texture[at], even_light(texture, topology)[at].astype(float)


def test_blotches_of_colour_are_taken_off_a_photos_skin_and_its_shading_is_left(topology: Topology) -> None:
    orange, evened = _with_spot(topology, 50, (-0.35, 0.0, 0.25), 14)  # a cheek
    before, after = np.log(orange[2] / orange[0]), np.log(evened[2] / evened[0])
    skin = np.log(170 / 110)
    assert 0.1 < after - skin < 0.6 * (before - skin)
    dark, evened = _with_spot(topology, 50, (-0.25, -0.25, -0.25), 14)
    assert np.log(evened / dark).mean() == pytest.approx(0.0, abs=0.05)


def test_a_shadow_between_the_brows_is_lightened_and_one_on_a_cheek_is_shape(topology: Topology) -> None:
    lifted = []
    for vertex in (8, 50):
        before, after = _with_spot(topology, vertex, (-0.5, -0.5, -0.5), 12)
        lifted.append(np.log(after / before).mean())
    assert 0.15 < lifted[0] < np.log(2)
    assert abs(lifted[1]) < 0.05


def test_the_dark_edge_of_a_face_lit_from_the_front_is_lightened(topology: Topology) -> None:
    drawn, inside = at_texels(topology.depth[:, None], topology)
    near = np.clip(1.5 - drawn / 2, 0, 1) * inside[..., None]  # all of it up to a unit from the oval, none from three on
    texture = (np.array((110, 130, 170)) * (1 - 0.5 * near)).astype(np.float32)
    gain = np.log(even_light(texture, topology) / texture).mean(2)
    edge, middle = inside & (drawn[..., 0] > 0.5) & (drawn[..., 0] < 1.2), drawn[..., 0] > 3.5
    assert gain[edge].mean() > 0.05
    assert abs(gain[middle].mean()) < 0.02


def test_small_orange_and_green_spots_lose_colour_and_lips_keep_theirs(topology: Topology) -> None:
    def saturation(levels: np.ndarray) -> float:
        return float(np.ptp(np.log(levels / np.array((110, 130, 170)))))

    for change, share in (((-0.3, 0.0, 0.2), 0.8), ((0.0, 0.25, 0.0), 0.8)):
        before, after = _with_spot(topology, 50, change, 6)
        assert saturation(after) < share * saturation(before)
        before, after = _with_spot(topology, 13, change, 3)
        assert saturation(after) > 0.9 * saturation(before)
