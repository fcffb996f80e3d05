"""The second opinion on a mesh, by a detector told what to see."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from realtime.tracking.confirm import Confirmation
from realtime.types import Box, Detection, Floats, Image
from realtime.vision import geometry
from tests.tracking.scene import MESH

SIZE, PLACE = 120.0, (400.0, 250.0)


def turned(angle: float) -> Floats:
    """A face of `SIZE` at `PLACE`, leaning by `angle` degrees."""
    turn = cv2.getRotationMatrix2D((0, 0), -angle, SIZE)
    points = np.zeros((468, 3), np.float32)
    points[:, :2] = MESH[:, :2] @ turn[:, :2].T + PLACE
    return points


class Eyes:
    """Sees one upright face in the middle of any crop, with the next score told; none for a score of 0."""

    name = "eyes"

    def __init__(self, *scores: float, off: float = 0.0) -> None:
        self.scores, self.off, self.crops = list(scores), off, 0

    def detect(self, image: Image) -> list[Detection]:
        score = self.scores[self.crops]
        self.crops += 1
        side = image.shape[0]
        face = MESH * np.float32(side / 2) + np.float32((side / 2 + self.off * side, side / 2, 0))
        box = geometry.bounds(face)
        return [Detection(Box(*box), geometry.five_points(face), score)] if score else []


def ask(eyes: Eyes, angle: float = 0.0) -> bool:
    return Confirmation(eyes).ask(np.zeros((480, 640, 3), np.uint8), turned(angle))


@pytest.mark.parametrize("angle", [0, 45, 90, 170, -120])
def test_a_face_is_confirmed_at_any_roll_by_one_look(angle):
    eyes = Eyes(0.94)
    assert ask(eyes, angle) and eyes.crops == 1


@pytest.mark.parametrize(("upright", "over", "right"), [(0.88, 0.6, True), (0.8, 0.0, True), (0.87, 0.93, False), (0.88, 0.88, False)])
def test_a_doubtful_face_must_look_more_like_one_than_upside_down(upright, over, right):
    eyes = Eyes(upright, over)
    assert ask(eyes) is right and eyes.crops == 2


def test_no_face_there_is_no_confirmation():
    assert not ask(Eyes(0.0))


def test_a_face_beside_the_mesh_is_no_confirmation():
    assert not ask(Eyes(0.95, off=0.2))


def test_a_face_that_is_turned_must_be_nearer():
    aside = turned(0.0)
    aside[:, 2] += np.float32(np.tan(np.radians(35))) * (aside[:, 0] - np.float32(PLACE[0]))
    image = np.zeros((480, 640, 3), np.uint8)
    for off, frontal, sideways in ((0.02, True, True), (0.07, True, False)):
        assert Confirmation(Eyes(0.95, off=off)).ask(image, turned(0.0)) is frontal
        assert Confirmation(Eyes(0.95, off=off)).ask(image, aside) is sideways
