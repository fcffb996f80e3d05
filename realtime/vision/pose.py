"""How a face is turned, read from its five points."""

from __future__ import annotations

import math

from realtime.types import Floats
from realtime.vision.geometry import OUTER_EYE_CORNERS


def turn(points: Floats) -> float:
    """How far the face is turned sideways: the nose tip's offset from between the eyes, along the eye line, over the eye distance.

    `points` is (5, 2) as in `Detection`. 0 is frontal, about 0.25 a quarter turn of the head's range (20 degrees), beyond 0.5 near profile;
    positive when the nose points to the image's right. Infinite when the eyes coincide.
    """
    left, right, nose = points[0], points[1], points[2]
    across, down = float(right[0] - left[0]), float(right[1] - left[1])
    square = across * across + down * down
    if square <= 0:
        return math.inf
    x, y = float(nose[0] - (left[0] + right[0]) / 2), float(nose[1] - (left[1] + right[1]) / 2)
    return (x * across + y * down) / square


def yaw(points: Floats) -> float:
    """How far a mesh (468, 3) is turned sideways, in degrees, by the depth of the outer eye corners: 0 is frontal, 90 a profile.

    Positive when the image's right eye is the further one, as when the nose points to the image's right.
    """
    left, right = OUTER_EYE_CORNERS
    across = points[right] - points[left]
    return math.degrees(math.atan2(float(across[2]), math.hypot(float(across[0]), float(across[1]))))
