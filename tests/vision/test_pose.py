from __future__ import annotations

import math

import numpy as np
import pytest

from realtime.vision.geometry import OUTER_EYE_CORNERS
from realtime.vision.pose import turn, yaw

FRONT = np.float32([[-30, 0], [30, 0], [0, 20], [-20, 45], [20, 45]])


def test_frontal_is_zero():
    assert turn(FRONT) == 0


@pytest.mark.parametrize("roll", [-80, -20, 35, 90])
@pytest.mark.parametrize("scale", [0.2, 5])
def test_roll_and_size_do_not_count(roll, scale):
    turned = FRONT.copy()
    turned[2, 0] += 15
    a = math.radians(roll)
    moved = (turned @ np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]) * scale + 100).astype(np.float32)
    assert turn(moved) == pytest.approx(0.25, abs=1e-5)


def test_the_sign_is_the_images_side():
    turned = FRONT.copy()
    turned[2, 0] -= 30
    assert turn(turned) == pytest.approx(-0.5)


def test_eyes_in_one_place():
    assert turn(np.zeros((5, 2), np.float32)) == math.inf


@pytest.mark.parametrize("degrees", [-70.0, -45.0, -10.0, 0.0, 30.0, 60.0])
@pytest.mark.parametrize("roll", [0.0, 40.0])
def test_yaw_is_the_angle_that_a_mesh_was_turned_by(degrees, roll):
    mesh = np.zeros((468, 3), np.float32)
    mesh[list(OUTER_EYE_CORNERS)] = [(-40, 0, 0), (40, 0, 0)]
    turn, lean = np.radians(degrees), np.radians(roll)
    sideways = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
    leaning = np.array([[np.cos(lean), -np.sin(lean), 0], [np.sin(lean), np.cos(lean), 0], [0, 0, 1]])
    turned = (mesh @ sideways.T @ leaning.T + 300).astype(np.float32)
    assert yaw(turned) == pytest.approx(degrees, abs=0.1)
