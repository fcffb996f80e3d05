"""What the mesh swapper makes of a face that something covers by half, when it is found and later."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.models.swappers.mesh import MeshSwapper
from realtime.types import Detection, Patch, SourcePhoto
from realtime.vision.blend import paste
from realtime.vision.mesh.sharpness import edge_blur
from tests.models.stored import face, picture

CHEEKS = (50, 280)
"""A vertex in the middle of the left and of the right one, as the picture shows them."""
BOARDS = {"red": (30, 30, 200), "blue": (200, 90, 30), "skin": (120, 160, 210), "white": (235, 238, 240)}


@pytest.fixture(scope="module")
def swapper() -> MeshSwapper:
    image, points = picture("p001_studio")
    whose = face(points)
    made = MeshSwapper()
    made.warm_up()
    made.use(made.fit([SourcePhoto(image, Detection(whose.box, np.zeros((5, 2), np.float32), 1.0), whose.landmarks, "p001")]))
    return made


def covered(image: np.ndarray, points: np.ndarray, share: float, right: bool, colour: tuple[int, int, int]) -> np.ndarray:
    """A board over this share of the face's width and all that lies on that side of it."""
    low, high = points[:, 0].min(), points[:, 0].max()
    noise = np.random.default_rng(1).normal(0, 3, image.shape)
    board = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    out = image.copy()
    if right:
        out[:, int(high - share * (high - low)) :] = board[:, int(high - share * (high - low)) :]
    else:
        out[:, : int(low + share * (high - low))] = board[:, : int(low + share * (high - low))]
    return out


def opacity(patch: Patch | None, points: np.ndarray, vertex: int) -> float:
    assert patch is not None
    x, y = points[vertex, :2].astype(int)
    return float(patch.alpha[y - patch.y - 4 : y - patch.y + 5, x - patch.x - 4 : x - patch.x + 5].mean()) / 255


@pytest.mark.parametrize("colour", BOARDS.values(), ids=BOARDS)
@pytest.mark.parametrize("right", [False, True], ids=["left", "right"])
@pytest.mark.parametrize("held", [0, 30], ids=["moving on", "held"])
def test_half_a_face_that_was_covered_when_it_was_found_is_swapped_once_it_shows(
    swapper: MeshSwapper, colour: tuple[int, int, int], right: bool, held: int
) -> None:
    image, points = picture("p006_studio")
    shown: list[float] = []
    swapper.reset()
    for share in [0.5] * held + [0.5 - 0.04 * k for k in range(13)] + [-0.2] * 6:
        swapper.swap(covered(image, points, share, right, colour), face(points))
    for _ in range(4):
        patch = swapper.swap(image, face(points))
        shown.append(min(opacity(patch, points, cheek) for cheek in CHEEKS))
    assert min(shown) > 0.85


@pytest.mark.parametrize("colour", [BOARDS["red"], BOARDS["white"]], ids=["red", "white"])
@pytest.mark.parametrize("right", [False, True], ids=["left", "right"])
def test_a_board_before_half_of_a_face_that_is_followed_stays_a_board(
    swapper: MeshSwapper, colour: tuple[int, int, int], right: bool
) -> None:
    image, points = picture("p006_studio")
    swapper.reset()
    for _ in range(20):
        swapper.swap(image, face(points))
    for share in [0.06 * k for k in range(9)] + [0.5] * 30:
        patch = swapper.swap(covered(image, points, share, right, colour), face(points))
    behind, seen = sorted(CHEEKS, key=lambda cheek: points[cheek, 0], reverse=right)
    assert opacity(patch, points, behind) < 0.1
    assert opacity(patch, points, seen) > 0.9


@pytest.mark.parametrize("colour", BOARDS.values(), ids=BOARDS)
@pytest.mark.parametrize("right", [False, True], ids=["left", "right"])
def test_what_comes_quickly_is_not_painted_over(swapper: MeshSwapper, colour: tuple[int, int, int], right: bool) -> None:
    image, points = picture("p006_studio")
    swapper.reset()
    for _ in range(20):
        swapper.swap(image, face(points))
    patch = swapper.swap(covered(image, points, 0.5, right, colour), face(points))
    behind, seen = sorted(CHEEKS, key=lambda cheek: points[cheek, 0], reverse=right)
    assert opacity(patch, points, behind) < 0.2
    assert opacity(patch, points, seen) > 0.9


def test_the_sharp_contour_of_what_was_before_a_soft_face_does_not_sharpen_it(swapper: MeshSwapper) -> None:
    image, points = picture("p006_studio")
    soft = cv2.GaussianBlur(image, (0, 0), 3)
    swapper.reset()
    striped = soft.copy()
    for y in range(int(points[4, 1]), striped.shape[0], 6):
        striped[y : y + 3, : int(points[4, 0])] = BOARDS["blue"]
    blurs = []
    for before in ([], [striped] * 60):
        for seen in [soft] * 20 + before + [soft] * 8:
            patch = swapper.swap(seen, face(points))
        assert patch is not None
        out = soft.copy()
        paste(out, patch.x, patch.y, patch.colour, patch.alpha)
        blurs.append(float(edge_blur(out, points, np.float32(np.ptp(points[:, 1])))))
    assert blurs[1] == pytest.approx(blurs[0], rel=0.05)
