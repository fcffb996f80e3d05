from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pil

from realtime.errors import UsageError
from realtime.photos.judge import PAIRS, complain, improve, measure
from realtime.photos.source import load_source
from realtime.types import Box, Detection, Image, Landmarks, Region, SourcePhoto
from realtime.vision import geometry
from realtime.vision.mesh.topology import load_topology
from tests.tracking.scene import MESH

Face = tuple[int, int, int]
"""Left, top, side."""


def draw(*faces: Face, width: int = 800, height: int = 600) -> Image:
    """A flat photo with faces that the fakes below can see: a red square over a blue one of half its side, with some texture."""
    image = np.full((height, width, 3), 90, np.uint8)
    rng = np.random.default_rng(0)
    for left, top, side in faces:
        half = side // 2
        image[top : top + half, left : left + side] = (60, 60, 220)
        image[top + half : top + side, left : left + side] = (220, 60, 60)
        image[top : top + side, left : left + side, 1] = rng.integers(20, 220, (side, side), np.uint8)
    return image


def save(path: Path, image: Image) -> Path:
    Pil.fromarray(np.ascontiguousarray(image[:, :, ::-1])).save(path)
    return path


class BlockDetector:
    """Sees a red block right above a blue one of the same width: only faces that stand upright, unless they fill the picture."""

    name = "block"

    def __init__(self, score: float = 0.9) -> None:
        self.score = score

    def detect(self, image: Image) -> list[Detection]:
        red = ((image[:, :, 2] > 150) & (image[:, :, 0] < 120)).astype(np.uint8)
        count, _, stats, _ = cv2.connectedComponentsWithStats(red)
        found = []
        for x, y, width, height, area in stats[1:count]:
            below = y + height + height // 2
            whole = Box(float(x), float(y), float(x + width), float(y + 2 * height))
            upright = area > 100 and below < image.shape[0] and image[below, x + width // 2, 0] > 150
            if upright and width < 0.9 * image.shape[1]:
                mesh = MESH * np.float32(width) + np.float32((*whole.centre, 0))
                found.append(Detection(whole, geometry.five_points(mesh), self.score))
        return found


class BlockLandmarker:
    name = "block"
    turned = 0.0

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        points = MESH * np.float32(region.size / 1.5) + np.float32((region.x, region.y, 0))
        points[1, 0] += np.float32(self.turned * 0.42 * region.size / 1.5)
        return Landmarks(points, 0.99)


def load(*paths: Path, landmarker: BlockLandmarker | None = None) -> tuple[list[SourcePhoto], list[str]]:
    return load_source(paths, BlockDetector(), landmarker or BlockLandmarker())


def centre(photo: SourcePhoto) -> tuple[float, float]:
    return geometry.bounds(photo.landmarks.points).centre


def test_a_good_photo_needs_no_word(tmp_path):
    photos, notes = load(save(tmp_path / "me.png", draw((300, 150, 240))))
    assert notes == []
    assert photos[0].name == "me.png"
    assert centre(photos[0]) == pytest.approx((420, 270), abs=2)


def test_the_main_face_of_several_is_named(tmp_path):
    photos, notes = load(save(tmp_path / "group.png", draw((20, 40, 120), (320, 180, 200), (640, 60, 130))))
    assert centre(photos[0]) == pytest.approx((420, 280), abs=2)
    assert notes == ["group.png shows 3 faces: the largest, near the centre, is used; crop the photo to choose another"]


def test_faces_in_the_background_do_not_count(tmp_path):
    _, notes = load(save(tmp_path / "me.png", draw((20, 40, 50), (320, 180, 200))))
    assert notes == []


@pytest.mark.parametrize(("quarter", "how"), [(1, "on its side"), (2, "upside down"), (3, "on its side")])
def test_a_photo_that_lies_on_its_side_is_turned(tmp_path, quarter, how):
    upright = draw((300, 150, 240))
    photos, notes = load(save(tmp_path / "me.png", np.ascontiguousarray(np.rot90(upright, quarter))))
    assert photos[0].image.shape == upright.shape
    assert np.abs(photos[0].image.astype(int) - upright).mean() < 8
    assert notes == [f"me.png lies {how}: it was turned upright"]


def test_a_face_that_fills_the_photo_is_found(tmp_path):
    photos, _ = load(save(tmp_path / "me.png", draw((10, 10, 380), width=400, height=400)))
    assert photos[0].image.shape[0] > 400
    box = geometry.bounds(photos[0].landmarks.points)
    assert box.width == pytest.approx(380, rel=0.05)


def test_a_small_face_in_a_large_photo_is_read_in_finer_detail(tmp_path):
    photos, notes = load(save(tmp_path / "me.png", draw((1200, 500, 200), width=2400, height=1600)))
    box = geometry.bounds(photos[0].landmarks.points)
    assert box.width == pytest.approx(200, rel=0.02)  # 133 in the picture of 1600 pixels that is searched
    assert max(photos[0].image.shape) < 1000
    assert notes == []


def test_the_finer_look_stays_with_its_face(tmp_path):
    # Beside the main face in the shared picture's centre stands another that would be more central in the part cut out.
    photos, _ = load(save(tmp_path / "two.png", draw((1100, 650, 200), (1310, 650, 190), width=2400, height=1600)))
    x, y = centre(photos[0])
    level = photos[0].image[int(y) + 20, int(x)]
    assert level[0] > 150  # blue: on the face, and it is the left one of two
    assert x < photos[0].image.shape[1] / 2 + 5
    assert geometry.bounds(photos[0].landmarks.points).width == pytest.approx(200, rel=0.02)


def test_of_two_faces_alike_the_one_from_the_front_is_taken(tmp_path):
    class Turned(BlockDetector):
        def detect(self, image: Image) -> list[Detection]:
            left, right = sorted(super().detect(image), key=lambda face: face.box.x0)
            points = left.points.copy()
            points[2, 0] += 0.3 * left.box.width
            return [Detection(left.box, points, 0.9), right]

    path = save(tmp_path / "two.png", draw((150, 200, 210), (450, 200, 200)))
    photos, notes = load_source([path], Turned(), BlockLandmarker())
    assert centre(photos[0])[0] == pytest.approx(550, abs=3)
    assert "the clearest, on the right" in notes[0]


def test_no_face(tmp_path):
    path = save(tmp_path / "wall.png", draw())
    with pytest.raises(UsageError, match=r"no face was found in wall\.png: use a photo that shows one face from the front"):
        load(path)


def test_no_photo():
    with pytest.raises(UsageError, match="--source"):
        load()


def test_one_of_several_photos_without_a_face_is_left_out(tmp_path):
    good, bad = save(tmp_path / "me.png", draw((300, 150, 240))), save(tmp_path / "wall.png", draw())
    photos, notes = load(bad, good)
    assert [photo.name for photo in photos] == ["me.png"]
    assert len(notes) == 1 and notes[0].startswith("no face was found in wall.png") and notes[0].endswith("left out")


def test_an_unreadable_photo_of_several_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="there is no photo"):
        load(save(tmp_path / "me.png", draw((300, 150, 240))), tmp_path / "typo.png")


def test_a_face_of_no_use_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="only 24 pixels high"):
        load(save(tmp_path / "far.png", draw((300, 150, 24))))


@pytest.mark.parametrize(
    ("word", "change"),
    [
        ("pixels high", lambda image: cv2.resize(image, None, fx=0.3, fy=0.3, interpolation=cv2.INTER_AREA)),
        ("blurred", lambda image: cv2.GaussianBlur(image, (0, 0), 6)),
        ("very dark", lambda image: (image * 0.3).astype(np.uint8)),
        ("overexposed", lambda image: np.clip(image.astype(int) * 4, 0, 255).astype(np.uint8)),
    ],
)
def test_a_poor_photo_gets_a_sentence_with_the_cure(tmp_path, word, change):
    class Everywhere(BlockDetector):
        def detect(self, image: Image) -> list[Detection]:
            share = image.shape[1] / 800
            box = Box(300 * share, 150 * share, 540 * share, 390 * share)
            mesh = MESH * np.float32(box.width) + np.float32((*box.centre, 0))
            return [Detection(box, geometry.five_points(mesh), 0.9)]

    path = save(tmp_path / "me.png", change(draw((300, 150, 240))))
    photos, notes = load_source([path], Everywhere(), BlockLandmarker())
    assert len(photos) == 1
    assert [note for note in notes if word in note and "use a" in note]


@pytest.mark.parametrize(("turned", "word"), [(0.4, "turned to one side"), (-0.8, "seen from the side")])
def test_a_turned_face_gets_a_sentence(tmp_path, turned, word):
    landmarker = BlockLandmarker()
    landmarker.turned = turned
    _, notes = load(save(tmp_path / "me.png", draw((300, 150, 240))), landmarker=landmarker)
    assert len(notes) == 1 and word in notes[0]


def test_of_a_photo_that_only_tells_who_somebody_is_no_swap_is_spoilt(tmp_path):
    landmarker = BlockLandmarker()
    for landmarker.turned in (0.4, -0.8):
        path = save(tmp_path / "anna.png", draw((300, 150, 240)))
        _, notes = load_source([path], BlockDetector(), landmarker, shown=False)
        assert notes == ["the face in anna.png is turned to one side: people are known best by a photo from the front"]


def test_a_face_that_looks_away_is_an_error(tmp_path):
    landmarker = BlockLandmarker()
    landmarker.turned = 1.5
    with pytest.raises(UsageError, match="looks away"):
        load(save(tmp_path / "me.png", draw((300, 150, 240))), landmarker=landmarker)


def test_a_full_profile_is_an_error_and_a_half_one_is_not(tmp_path):
    class Sideways(BlockLandmarker):
        def landmarks(self, image: Image, region: Region) -> Landmarks:
            mesh = super().landmarks(image, region)
            mesh.points[:, 2] += np.float32(np.tan(np.radians(self.yaw))) * (mesh.points[:, 0] - np.float32(region.x))
            return mesh

    path = save(tmp_path / "me.png", draw((300, 150, 240)))
    landmarker = Sideways()
    landmarker.yaw = 45.0
    assert len(load(path, landmarker=landmarker)[0]) == 1
    for landmarker.yaw in (60.0, -60.0):
        with pytest.raises(UsageError, match="looks away"):
            load(path, landmarker=landmarker)


def test_hard_light_from_one_side_gets_a_sentence():
    points = MESH * np.float32(240) + np.float32((420, 270, 0))
    plain = np.full((600, 800, 3), 160, np.uint8)
    half = plain.copy()
    half[:, 420:] = 20
    soft = plain.copy()
    soft[:] = np.linspace(180, 100, 800)[None, :, None]
    said = [[note for note in complain(measure(image, points), "me.png") if "one side" in note] for image in (plain, soft, half)]
    assert [len(notes) for notes in said] == [0, 0, 1]
    assert "use one with light from the front" in said[2][0]


def test_light_is_compared_between_places_and_their_mirror_images():
    xyz = load_topology().xyz
    np.testing.assert_allclose(xyz[PAIRS[:, 0]] * (-1, 1, 1), xyz[PAIRS[:, 1]], atol=0.2)


def test_a_mesh_of_bad_numbers_is_no_face(tmp_path):
    class Broken(BlockLandmarker):
        def landmarks(self, image: Image, region: Region) -> Landmarks:
            return Landmarks(super().landmarks(image, region).points * np.float32(np.nan), 0.99)

    with pytest.raises(UsageError, match="no face was found"):
        load(save(tmp_path / "me.png", draw((300, 150, 240))), landmarker=Broken())


def test_a_dim_flat_face_gets_contrast_and_a_good_one_is_left_alone(tmp_path):
    good = draw((300, 150, 240))
    dim = (good * 0.4 + 10).astype(np.uint8)
    untouched = load(save(tmp_path / "good.png", good))[0][0].image
    assert np.array_equal(untouched, good)
    quality = measure(dim, MESH * np.float32(240) + np.float32((420, 270, 0)))
    better = improve(dim, quality)
    assert better is not dim
    assert better[150:390, 300:540].std() > dim[150:390, 300:540].std()
