"""The occluder mask: where its crop lies, what it shows, and the socket that light alone makes dark."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.errors import ModelError
from realtime.models.masks.base import lay
from realtime.models.masks.occluder import OccluderMask, show_a_dark_socket
from realtime.types import Array, Face
from realtime.vision import geometry
from realtime.vision.mesh.indices import LEFT_EYE, RIGHT_EYE
from realtime.vision.mesh.topology import canonical_face
from realtime.vision.mesh.upright import SIDE, upright_square
from tests.models.conftest import OpenTwin
from tests.models.swappers import scene
from tests.twins import masks as twins

SCALE, MIDDLE = 12.0, (320.0, 240.0)


def head(yaw: float = 0, roll: float = 0) -> Array:
    """The canonical face as a camera far away sees it: (468, 3) landmarks, degrees; a positive roll leans clockwise."""
    (a, b), (c, d) = ((np.cos(angle), np.sin(angle)) for angle in np.radians((yaw, roll)))
    turn = np.array([[a, 0, -b], [0, 1, 0], [b, 0, a]]) @ np.array([[c, -d, 0], [d, c, 0], [0, 0, 1]])
    return np.asarray((SCALE * canonical_face() @ turn) * (1, -1, -1) + (*MIDDLE, 0), np.float32)


def seen(points: Array) -> Face:
    return scene.face(points)


@pytest.mark.parametrize("yaw", [0, 35, 80])
@pytest.mark.parametrize("roll", [0, 30, -100])
def test_the_square_goes_with_the_pose(yaw: float, roll: float) -> None:
    """Eyes at 39 % of the height, whichever way the head leans; the same size in profile."""
    region = upright_square(head(yaw, roll), canonical_face())
    assert region.size == pytest.approx(SIDE * SCALE, rel=1e-3) and region.angle == pytest.approx(roll, abs=0.5)
    inside = geometry.apply(geometry.crop_transform(region, 100), head(yaw, roll)[:, :2])
    eyes = inside[list(LEFT_EYE + RIGHT_EYE)]
    assert eyes[:, 1].mean() == pytest.approx(39, abs=1)
    assert np.ptp(inside[:, 1]) == pytest.approx(100 * np.ptp(canonical_face()[:, 1]) / SIDE, rel=0.02)


def test_an_open_mouth_does_not_move_it() -> None:
    points = head()
    points[152, 1] += 40  # the chin
    before, after = (upright_square(each, canonical_face()) for each in (head(), points))
    np.testing.assert_allclose(after, before, atol=1e-3)


def test_what_is_no_skin_is_kept_and_nothing_is_known_far_away(open_twin: OpenTwin) -> None:
    mask = OccluderMask(open_twin(twins.occluder_twin()))
    frame = np.empty((480, 640, 3), np.uint8)
    frame[:, :320], frame[:, 320:] = (255, 255, 0), (0, 0, 255)
    view = mask.look(frame, seen(head()))
    shown = np.zeros((480, 640), np.uint8)
    lay(view, np.eye(2, 3), shown)
    assert shown[240, 330] >= 254 and shown[240, 310] <= 1
    assert shown[300, 310] <= 1 and shown[300, 330] >= 254
    assert shown[5, 5] == 255, "outside of the crop"


@pytest.mark.parametrize("model", [twins.occlusion_twin, twins.person_twin, twins.region_twin])
def test_another_network_is_refused_in_a_sentence(model: object, open_twin: OpenTwin) -> None:
    with pytest.raises(ModelError, match=r"^an occluder mask takes .*: name another file$"):
        OccluderMask(open_twin(model()))  # type: ignore[operator]


def eyes(yaw: float = 0) -> tuple[Array, Array]:
    transform = geometry.crop_transform(upright_square(head(yaw), canonical_face()), 64)
    inside = geometry.apply(transform, head(yaw)[:, :2])
    return inside[list(LEFT_EYE)], inside[list(RIGHT_EYE)]


def guarded(shown: Array, yaw: float = 0) -> Array:
    show_a_dark_socket(shown, *eyes(yaw), np.empty((2, 64, 64), np.uint8))
    return shown


def dark(*at: tuple[float, float], radius: float = 5) -> Array:
    """All shown but for discs around these places."""
    y, x = np.mgrid[:64, :64]
    hidden = [np.hypot(x - each[0], y - each[1]) < radius for each in at]
    return np.where(np.any(hidden, axis=0), 0, 255).astype(np.uint8)


def test_a_single_dark_socket_is_shown() -> None:
    for eye in eyes():
        assert guarded(dark(eye.mean(0))).min() == 255


def test_both_sockets_are_glasses_and_stay_hidden() -> None:
    shown = dark(*(eye.mean(0) for eye in eyes()))
    np.testing.assert_array_equal(guarded(shown.copy()), shown)


def test_a_hand_over_one_eye_stays_hidden() -> None:
    shown = dark(eyes()[0].mean(0), radius=14)
    np.testing.assert_array_equal(guarded(shown.copy()), shown)


def test_what_hides_something_else_is_not_touched() -> None:
    shown = dark((32, 50))
    np.testing.assert_array_equal(guarded(shown.copy()), shown)
    both = dark((32, 50), eyes()[0].mean(0))
    np.testing.assert_array_equal(guarded(both), shown)


def test_in_profile_one_eye_says_nothing_of_the_other() -> None:
    shown = dark(eyes(80)[0].mean(0))
    np.testing.assert_array_equal(guarded(shown.copy(), 80), shown)
