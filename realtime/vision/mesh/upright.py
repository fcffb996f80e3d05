"""A square of the frame around a face, placed by the head's pose: it stays where it is when the mouth opens, and in profile."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from realtime.types import Floats, Region
from realtime.vision.mesh.pose import RIGID, fit_pose

CENTRE: Final = np.array([0.0, 0.4, 3.6], np.float32)
"""The square's middle, a point inside the head between eyes and mouth, in canonical units (about centimetres)."""
SIDE: Final = 21.5
"""Of the square, in the same: about 1.3 times the face."""
_LEVEL: Final = 0.5
"""How long the picture of the head's unit vector upwards must be to tell the roll; the vector to the side tells it otherwise."""


def upright_square(points: Floats, xyz: Floats) -> Region:
    """points: (V, 3) landmarks in frame pixels; xyz: (V, 3) of the canonical face. The eyes of a face that looks ahead lie at 39 % of the
    height."""
    rotation = np.empty((3, 3), np.float32)
    scale = float(fit_pose(np.ascontiguousarray(points, np.float32), xyz, RIGID, rotation))
    turned = scale * (CENTRE - xyz[RIGID].mean(0)) @ rotation
    middle = points[RIGID, :2].mean(0) + turned[:2] * (1, -1)
    side, up = rotation[0, :2] * (1, -1), rotation[1, :2] * (1, -1)
    roll = math.atan2(up[0], -up[1]) if np.linalg.norm(up) > _LEVEL else math.atan2(side[1], side[0])
    return Region(float(middle[0]), float(middle[1]), SIDE * scale, math.degrees(roll))
