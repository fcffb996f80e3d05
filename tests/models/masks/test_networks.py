"""Mask networks on twins whose answer is known, on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.errors import ModelError
from realtime.models.landmarks.fake import mesh_at
from realtime.models.masks.base import FaceMask, MaskedSwapper, MaskStep, lay
from realtime.models.masks.hands import HandMask, HandNetwork, PalmDetector, anchors
from realtime.models.masks.networks import OcclusionMask, PersonMask, RegionMask
from realtime.models.swappers.fake import FakeSwapper
from realtime.types import Array, Face, Image, Region
from realtime.vision import geometry
from tests.models.conftest import OpenTwin
from tests.models.swappers import scene
from tests.twins import masks as twins

FACE = Face(mesh_at(320, 240, 160, angle=8), geometry.bounds(mesh_at(320, 240, 160, angle=8).points), 1)
IDENTITY = np.eye(2, 3)


def halves(left: tuple[int, int, int], right: tuple[int, int, int]) -> Image:
    """A frame whose halves meet at x = 320, in BGR."""
    frame = np.empty((480, 640, 3), np.uint8)
    frame[:, :320], frame[:, 320:] = left, right
    return frame


def in_frame(mask: FaceMask, frame: Image) -> Array:
    """What the mask says of every pixel of the frame."""
    view = mask.look(frame, FACE)
    shown = np.full(frame.shape[:2], 255, np.uint8)
    if view is not None:
        lay(view, IDENTITY, shown)
    return shown


def test_person_is_what_the_network_says_and_nothing_far_away(open_twin: OpenTwin) -> None:
    shown = in_frame(PersonMask(open_twin(twins.person_twin())), halves((255, 255, 0), (0, 0, 255)))
    assert shown[240, 300] <= 1
    assert shown[240, 340] >= 254
    assert shown[240, 639] <= 1, "nobody has looked there"


def test_occlusion_keeps_what_is_not_the_face(open_twin: OpenTwin) -> None:
    shown = in_frame(OcclusionMask(open_twin(twins.occlusion_twin())), halves((255, 0, 0), (0, 255, 255)))
    assert shown[240, 280] == 255
    assert shown[240, 318] > shown[240, 322], "the edge lies where the colours meet"
    assert shown[240, 323:].max() == 0, "and inside of the face"


def test_occlusion_levels_are_stretched_from_the_middle(open_twin: OpenTwin) -> None:
    level = 191  # 1.2 * 191 / 255 - 0.1 = 0.799, of which facefusion makes (0.799 - 0.5) * 2
    shown = in_frame(OcclusionMask(open_twin(twins.occlusion_twin())), halves((level, 0, 0), (level, 0, 0)))
    assert abs(int(shown[240, 320]) - round((1.2 * level / 255 - 0.1 - 0.5) * 2 * 255)) <= 2


def test_regions_are_shown_by_class(open_twin: OpenTwin) -> None:
    mask = RegionMask(open_twin(twins.region_twin()), keep=("glasses", "mouth"))
    shown_classes = {1, 2, 3, 4, 5, 10, 12, 13}
    for number in range(twins.CLASSES):
        frame = halves((9, 200, twins.STEP * number), (9, 200, twins.STEP * number))
        assert in_frame(mask, frame)[240, 320] == (255 if number in shown_classes else 0), number


def test_an_edge_between_regions_lies_where_it_is(open_twin: OpenTwin) -> None:
    shown = in_frame(RegionMask(open_twin(twins.region_twin())), halves((0, 0, twins.STEP), (0, 0, 17 * twins.STEP)))
    assert shown[240, 300] == 255
    assert shown[240, 321:].max() == 0


@pytest.mark.parametrize("mask", [PersonMask, OcclusionMask, RegionMask, PalmDetector, HandNetwork])
def test_another_network_is_refused_in_a_sentence(mask: type, open_twin: OpenTwin) -> None:
    model = twins.person_twin(128) if mask is not PersonMask else twins.hand_twin()
    with pytest.raises(ModelError, match=r"(takes|gives) .*(name another file|got|this network is) .*$"):
        mask(open_twin(model))


def test_anchors_are_mediapipes() -> None:
    found = anchors() * 192
    assert found.shape == (2016, 2)
    np.testing.assert_allclose(found[[0, 1, 2, 48, twins.PALM_ANCHOR]], [[4, 4], [4, 4], [12, 4], [4, 12], [92, 76]])
    np.testing.assert_allclose(found[[1152, 1157, 1158, 1152 + 72]], [[8, 8], [8, 8], [24, 8], [8, 24]])


GREEN, BLACK = (0, 255, 0), (0, 0, 0)


@pytest.mark.parametrize(
    ("wrist", "middle", "expected"),
    [
        ((96, 126), (96, 66), (96, 96 - 30, 156, 0)),
        ((66, 96), (126, 96), (96 + 30, 96, 156, 90)),
        ((126, 96), (66, 96), (96 - 30, 96, 156, -90)),
    ],
)
def test_a_palm_says_where_its_hand_is(
    wrist: tuple[float, float], middle: tuple[float, float], expected: tuple[float, ...], open_twin: OpenTwin
) -> None:
    palms = PalmDetector(open_twin(twins.palm_twin(wrist, middle, 60)))
    frame = halves(GREEN, GREEN)
    (found,) = palms.detect(frame, Region(95.5, 95.5, 192, 0))
    np.testing.assert_allclose(found, expected, atol=0.1)
    (twice,) = palms.detect(frame, Region(320, 240, 384, 0))
    np.testing.assert_allclose(twice, (320 + 2 * (expected[0] - 95.5), 240 + 2 * (expected[1] - 95.5), 312, expected[3]), atol=0.2)
    assert palms.detect(halves(BLACK, BLACK), Region(95.5, 95.5, 192, 0)) == []


def test_a_hand_lies_where_its_square_does(open_twin: OpenTwin) -> None:
    network = HandNetwork(open_twin(twins.hand_twin()))
    frame = halves(GREEN, GREEN)
    upright = network.hand(frame, Region(111.5, 111.5, 224, 0))
    np.testing.assert_allclose(upright.points, twins.hand_points(), atol=0.1)
    assert upright.presence == pytest.approx(1, abs=0.01)
    lying = network.hand(frame, Region(320, 240, 112, 90))
    across, down = (twins.hand_points() - 111.5).T / 2
    np.testing.assert_allclose(lying.points, np.stack([320 - down, 240 + across], 1), atol=0.1)


def test_a_hand_is_kept_where_it_is_drawn_and_lost_when_it_goes(open_twin: OpenTwin) -> None:
    palms = PalmDetector(open_twin(twins.palm_twin((96, 126), (96, 66), 60)))
    mask = HandMask(palms, HandNetwork(open_twin(twins.hand_twin())))
    green, black = halves(GREEN, GREEN), halves(BLACK, BLACK)
    assert mask.look(black, FACE) is None
    mask.reset()
    shown = in_frame(mask, green)
    (hand,) = mask._hands
    x, y = hand.points[[0, 5, 9, 13, 17]].mean(0).astype(int)
    assert shown[y, x] == 0, "the palm's middle"
    for tip in (4, 8, 12, 16, 20):
        x, y = hand.points[tip].astype(int)
        inside = abs(x - 320) < 90 and abs(y - 240) < 90
        assert shown[y, x] < 60 or not inside
    assert (shown == 255).mean() > 0.8
    runs = []
    detect = palms.detect
    palms.detect = lambda *given: runs.append(1) or detect(*given)  # type: ignore[method-assign]
    for _ in range(3):
        mask.look(green, FACE)
    assert runs == [], "palms are looked for in every fourth frame only, while a second hand may come"
    mask.look(green, FACE)
    assert runs == [1]
    assert mask.look(black, FACE) is None, "the hand is not there any more"


def test_a_crop_and_a_patch_are_lowered_alike(open_twin: OpenTwin) -> None:
    mask = OcclusionMask(open_twin(twins.occlusion_twin()))
    image, points = scene.picture("p006_studio")
    face = scene.face(points)
    frame = np.full_like(image, 255)
    nose = int(points[1, 0])
    frame[:, nose:] = 0  # not the face
    swapper = MaskedSwapper(FakeSwapper(), [mask])
    swapper.use(swapper.fit([]))
    bare = FakeSwapper()
    bare.use(bare.fit([]))
    patch, whole = swapper.swap(frame, face), bare.swap(frame, face)
    assert patch is not None and whole is not None
    column = nose - patch.x
    np.testing.assert_array_equal(patch.alpha[:, : column - 20], whole.alpha[:, : column - 20])
    assert patch.alpha[:, column + 1 :].max() == 0
    crop = scene.crop(frame, face)
    MaskStep(mask).finish(crop)
    x = int(geometry.apply(crop.transform, points[1:2, :2])[0, 0])
    assert crop.mask[:, x + 2 :].max() == 0
    assert crop.mask[64, x - 20] == 255


def test_a_second_face_has_a_history_of_its_own(open_twin: OpenTwin) -> None:
    mask = HandMask(PalmDetector(open_twin(twins.palm_twin((96, 126), (96, 66), 60))), HandNetwork(open_twin(twins.hand_twin())))
    other = mask.fork()
    mask.look(halves(GREEN, GREEN), FACE)
    assert mask._hands and not other._hands
    swapper = MaskedSwapper(FakeSwapper(), [mask])
    swapper.fork().reset()
    assert mask._hands, "another's face was lost"
    swapper.reset()
    assert not mask._hands
