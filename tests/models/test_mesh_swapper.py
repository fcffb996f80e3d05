"""The mesh swapper on pictures of synthetic people with stored landmarks."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.errors import UsageError
from realtime.models.swappers.fake import FakeSwapper
from realtime.models.swappers.mesh import MeshIdentity, MeshSwapper
from realtime.models.swappers.ring import PATCHES
from realtime.types import Detection, SourcePhoto
from realtime.vision.blend import paste
from realtime.vision.mesh.topology import load_topology
from tests.models.stored import face as _face
from tests.models.stored import picture as _picture

DATA = Path(__file__).parent.parent / "data"


def _photo(name: str) -> SourcePhoto:
    image, points = _picture(name)
    face = _face(points)
    return SourcePhoto(image, Detection(face.box, np.zeros((5, 2), np.float32), 1.0), face.landmarks, name)


@pytest.fixture(scope="module")
def swapper() -> MeshSwapper:
    made = MeshSwapper()
    made.warm_up()
    return made


@pytest.fixture(scope="module")
def identity(swapper: MeshSwapper) -> MeshIdentity:
    return swapper.fit([_photo("p001_studio")])


def _swapped(swapper: MeshSwapper, image: np.ndarray, points: np.ndarray) -> np.ndarray:
    swapper.reset()
    patch = swapper.swap(image, _face(points))
    assert patch is not None
    out = image.copy()
    paste(out, patch.x, patch.y, patch.colour, patch.alpha)
    return out


@pytest.mark.parametrize("brightness", [1.0, 0.3])
def test_a_face_in_black_and_white_stays_so_and_one_in_colour_too(swapper: MeshSwapper, identity: MeshIdentity, brightness: float) -> None:
    image, points = _picture("p006_studio")
    image = cv2.convertScaleAbs(image, alpha=brightness)
    grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    swapper.use(identity)
    out = _swapped(swapper, grey, points)
    assert np.abs(out.astype(int) - grey).max() > 20 * brightness, "it was swapped"
    assert np.ptp(out, axis=2).max() == 0
    assert np.ptp(_swapped(swapper, image, points), axis=2).mean() > 0.8 * np.ptp(image, axis=2).mean()


def test_the_face_changes_and_the_rest_does_not(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    before = image.copy()
    out = _swapped(swapper, image, points)
    np.testing.assert_array_equal(image, before)
    changed = np.abs(out.astype(int) - image).max(2)
    low, high = points[:, :2].min(0) - 8, points[:, :2].max(0) + 9
    ys, xs = np.nonzero(changed)
    assert xs.min() >= low[0] and ys.min() >= low[1] and xs.max() <= high[0] and ys.max() <= high[1]
    mouth, brow = points[0, :2].astype(int), points[105, :2].astype(int)
    assert changed[mouth[1] - 10 : mouth[1] + 10, mouth[0] - 15 : mouth[0] + 15].mean() > 3
    assert changed[brow[1] - 10 : brow[1] + 10, brow[0] - 15 : brow[0] + 15].mean() > 3


def test_the_eyes_stay_the_frames_own(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p010_studio")
    swapper.use(identity)
    out = _swapped(swapper, image, points)
    for upper, lower in ((159, 145), (386, 374)):
        x, y = ((points[upper, :2] + points[lower, :2]) / 2).round().astype(int)
        assert np.abs(out[y, x].astype(int) - image[y, x]).max() <= 2


def test_the_corners_of_a_smile_are_the_frames_own_and_no_dark_triangles(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p009_selfie")
    swapper.use(identity)
    out = _swapped(swapper, image, points)
    for outer, inner in ((61, 78), (291, 308)):
        x, y = ((points[outer, :2] + points[inner, :2]) / 2).round().astype(int)
        area = slice(y - 1, y + 2), slice(x - 1, x + 2)
        assert (image[area].astype(int) - out[area]).max() < 9


def test_skin_takes_the_frames_colour(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p010_studio")
    tinted = np.clip(image * np.array([1.15, 0.9, 0.6]), 0, 255).astype(np.uint8)
    swapper.use(identity)
    for frame in (image, tinted):
        out = _swapped(swapper, frame, points)
        x0, y0 = points[[50, 280], :2].min(0).astype(int) - 10
        x1, y1 = points[[50, 280], :2].max(0).astype(int) + 10
        assert np.abs(out[y0:y1, x0:x1].mean((0, 1)) - frame[y0:y1, x0:x1].mean((0, 1))).max() < 12


def test_dark_cheeks_of_the_photo_do_not_show_on_a_flat_soft_face(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p010_studio")
    hazy = (cv2.GaussianBlur(image, (0, 0), 5.0) * 0.3 + 100).astype(np.uint8)
    swapper.use(identity)
    out = _swapped(swapper, hazy, points)
    steps = []
    for cheek in (123, 187, 192, 214, 352, 411, 416, 434):
        x, y = points[cheek, :2].astype(int)
        steps.append((out[y - 3 : y + 4, x - 3 : x + 4].mean((0, 1)) - hazy[y - 3 : y + 4, x - 3 : x + 4].mean((0, 1))).min())
    assert np.mean(steps) > -6.5, "levels darker than the frame; 9 with the photo's own shading"


def test_a_noisy_camera_gives_a_noisy_face(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    noise = np.random.default_rng(1).normal(0, 8, image.shape)
    swapper.use(identity)
    clean = _swapped(swapper, image, points).astype(float)
    noisy = _swapped(swapper, np.clip(image + noise, 0, 255).astype(np.uint8), points).astype(float)
    x, y = points[50, :2].astype(int)
    own = (noisy - clean)[y - 12 : y + 13, x - 12 : x + 13]
    assert 5.5 < (own - own.mean((0, 1))).std() < 10


def test_swapping_a_person_with_themselves_changes_little(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p001_studio")
    swapper.use(identity)
    out = _swapped(swapper, image, points)
    assert np.abs(out.astype(int) - image)[150:370, 170:340].mean() < 8


def test_a_still_face_gives_a_still_picture(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    outs = []
    for _ in range(12):
        patch = swapper.swap(image, _face(points))
        assert patch is not None
        outs.append(image.copy())
        paste(outs[-1], patch.x, patch.y, patch.colour, patch.alpha)
    assert np.abs(outs[-1].astype(int) - outs[-2]).max() <= 2


def test_a_hand_over_the_mouth_is_left_alone(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    for _ in range(10):
        swapper.swap(image, _face(points))
    covered, (x, y) = image.copy(), points[14, :2].astype(int)
    cv2.ellipse(covered, (int(x), int(y)), (60, 40), 0, 0, 360, (60, 160, 60), cv2.FILLED)
    out = covered
    for _ in range(6):
        patch = swapper.swap(covered, _face(points))
        assert patch is not None
        out = covered.copy()
        paste(out, patch.x, patch.y, patch.colour, patch.alpha)
    hand = np.abs(out.astype(int) - covered)[y - 15 : y + 15, x - 35 : x + 35].mean()
    brow = points[105, :2].astype(int)
    assert hand < 5
    assert np.abs(out.astype(int) - covered)[brow[1] - 10 : brow[1] + 10, brow[0] - 15 : brow[0] + 15].mean() > 3


def test_patches_stay_valid_for_four_swaps(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    patches = [swapper.swap(image, _face(points)) for _ in range(PATCHES)]
    addresses = {patch.alpha.ctypes.data for patch in patches if patch is not None}
    assert len(addresses) == PATCHES >= 5


def test_a_fork_swaps_a_second_face_as_if_alone(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    (image, points), (other, elsewhere) = _picture("p006_studio"), _picture("p010_studio")
    alone, fork = MeshSwapper(), swapper.fork()
    with pytest.raises(RuntimeError, match="use"):
        fork.swap(image, _face(points))
    for each in (alone, swapper, fork):
        each.use(identity)
    kept = []
    for _ in range(3):
        swapper.swap(other, _face(elsewhere))  # between the fork's frames: what it learns of this face must not show there
        kept = [fork.swap(image, _face(points)), alone.swap(image, _face(points))]
    swapper.swap(other, _face(elsewhere))
    assert kept[0] is not None and kept[1] is not None
    np.testing.assert_array_equal(kept[0].alpha, kept[1].alpha)
    seen = kept[0].alpha > 0
    np.testing.assert_array_equal(kept[0].colour[seen], kept[1].colour[seen])


@pytest.mark.parametrize("scale", [0.1, 0.25, 1.7])
def test_small_and_large_faces(swapper: MeshSwapper, identity: MeshIdentity, scale: float) -> None:
    image, points = _picture("p009_selfie")
    swapper.use(identity)
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    out = _swapped(swapper, small, (points * scale).astype(np.float32))
    assert (out != small).any()


@pytest.mark.parametrize("shift", [(-250.0, 0.0), (0.0, -230.0), (220.0, 200.0)])
def test_a_face_across_the_border_stays_inside_the_frame(swapper: MeshSwapper, identity: MeshIdentity, shift: tuple[float, float]) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    swapper.reset()
    patch = swapper.swap(image, _face((points + np.array([*shift, 0])).astype(np.float32)))
    assert patch is not None
    assert patch.x >= 0 and patch.y >= 0
    assert patch.x + patch.alpha.shape[1] <= image.shape[1] and patch.y + patch.alpha.shape[0] <= image.shape[0]


def test_no_patch_for_a_face_out_of_sight_or_too_small(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    swapper.use(identity)
    assert swapper.swap(image, _face((points + 2000).astype(np.float32))) is None
    assert swapper.swap(image, _face((points * 0.05).astype(np.float32))) is None


def test_several_photos_make_one_person(swapper: MeshSwapper) -> None:
    both = swapper.fit([_photo("p006_studio"), _photo("p009_selfie")])
    assert both.name == "p006_studio"
    assert np.isfinite(both.atlas.source.membrane).all()
    assert len(both.atlas.levels) == len(swapper.fit([_photo("p006_studio")]).atlas.levels)


def test_mistakes_are_told(identity: MeshIdentity) -> None:
    fresh = MeshSwapper()
    image, points = _picture("p006_studio")
    with pytest.raises(RuntimeError, match="use"):
        fresh.swap(image, _face(points))
    with pytest.raises(UsageError):
        fresh.fit([])
    with pytest.raises(TypeError):
        fresh.use(FakeSwapper().fit([]))


def test_the_fake_covers_the_box() -> None:
    image, points = _picture("p006_studio")
    fake = FakeSwapper((1, 2, 3))
    with pytest.raises(RuntimeError):
        fake.swap(image, _face(points))
    fake.use(fake.fit([_photo("p006_studio")]))
    patch = fake.swap(image, _face(points))
    assert patch is not None
    assert (patch.colour == (1, 2, 3)).all()
    assert patch.alpha[patch.alpha.shape[0] // 2, patch.alpha.shape[1] // 2] == 255
    assert fake.swaps == 1


def _turned(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> np.ndarray:
    """The canonical face, turned by so many degrees."""
    about_y, about_x, about_z = (cv2.Rodrigues(np.radians(axis))[0] for axis in ([0.0, yaw, 0.0], [pitch, 0.0, 0.0], [0.0, 0.0, roll]))
    turn = about_y @ about_x @ about_z
    points = 12 * load_topology().xyz @ turn * (1, -1, -1) + (160, 160, 0)
    return points.astype(np.float32)


@pytest.mark.parametrize("angles", [(45, 0, 0), (0, 55, 0), (45, 25, 0)])
def test_a_face_turned_by_half_or_nodding_is_painted(swapper: MeshSwapper, identity: MeshIdentity, angles: tuple[float, ...]) -> None:
    swapper.use(identity)
    assert swapper.swap(np.full((320, 320, 3), 128, np.uint8), _face(_turned(*angles))) is not None


@pytest.mark.parametrize("angles", [(60, 0, 0), (-60, 0, 40)])
def test_a_full_profile_is_not_painted(swapper: MeshSwapper, identity: MeshIdentity, angles: tuple[float, ...]) -> None:
    swapper.use(identity)
    assert swapper.swap(np.full((320, 320, 3), 128, np.uint8), _face(_turned(*angles))) is None


def test_a_head_that_turns_at_the_limit_does_not_flicker(swapper: MeshSwapper, identity: MeshIdentity) -> None:
    swapper.use(identity)
    image = np.full((320, 320, 3), 128, np.uint8)
    shown = [swapper.swap(image, _face(_turned(yaw))) is not None for yaw in (45, 50, 54, 51, 54, 51, 47, 51)]
    assert shown == [True, True, False, False, False, False, True, True]
