"""The shape of the source's own nose and cheeks on the frame's face: a person is known by them as much as by their texture."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array, Floats
from realtime.vision.mesh.maths import helper, kernel, ramp

SHARE: Final = 0.8
"""Of the way from the frame's shape to the source's: what lies between is the landmark network's leaning towards the usual face."""
STRAIGHT, ASIDE = 0.2, 0.45
"""Sine of the angle by which a head is turned aside up to which it has the source's shape, and from which only its own: there the nose
stands out against the cheek, and the frame's outline of it would show beside the painted one."""
SMALL, LARGE = 4.5, 7.0
"""Pixels for a canonical unit up to which the frame's shape is left, and from which the source's is drawn (faces about 60 and 90 pixels
wide): the difference is hardly two pixels there, and how far an eye seems open leans on where the nose ends."""
FRONTAL, OBLIQUE = 0.98, 0.9
"""Cosine of the angle to the camera of a face whose shape is surely seen, and of one that says little."""
LEAST_LOOK = np.float32(0.05)
"""What an oblique look counts: something, so that a face found in profile has a shape at all."""
MEMORY = np.float32(90.0)
"""Looks that the mean shape stands for at most: some seconds, so that a smile is not taken for the shape."""
MOST = np.float32(0.8)
"""Farthest that a vertex is moved, in canonical units (about centimetres)."""


def own_shape(points: Floats, xyz: Floats, rigid: Array, rotation: Floats, scale: float, own: Floats) -> Floats:
    """The shape of a source's face, (V, 3) as in `Source`, from its landmarks (V, 3) in a photo and their pose as `fit_pose` gives it.

    xyz: (V, 3) canonical; rigid: the vertices of the pose; own: (V,) of `Topology`. A photo from the side shows the shape less surely.
    """
    camera = (points - points[rigid].mean(0)) * (1, -1, -1)
    places = camera @ rotation.T / scale + xyz[rigid].mean(0)
    away = np.clip((abs(rotation[0, 2]) - STRAIGHT) / (ASIDE - STRAIGHT), 0, 1)
    return np.column_stack([places[:, :2], SHARE * own * (1 - away)]).astype(np.float32)


@kernel
def reshape(
    points: Array, xyz: Array, rigid: Array, rotation: Array, scale: Any, shape: Array, age: Array, mean: Array, looks: Array, out: Array
) -> None:
    """out (V, 3) = landmarks as the source's face would have them: moved by the difference between its shape and the frame's mean one.

    points: (V, 3) landmarks in pixels, their pose as `fit_pose` gives it; xyz, rigid: as there; shape: (V, 3) of `Source`; age, mean,
    looks: of `History`, the last two brought up to date. What a face does is left to it, because only its mean shape is exchanged.
    """
    px, py, pz, cx, cy = _middles(points, xyz, rigid)
    look = max(np.float32(ramp(OBLIQUE, FRONTAL, rotation[2, 2])), LEAST_LOOK)
    looks[0] = look if age[0] <= 1 else min(looks[0] + look, MEMORY)
    pace = look / looks[0]
    keep = np.float32(1.0) - pace
    share = scale * ramp(SMALL, LARGE, scale) * (np.float32(1.0) - ramp(STRAIGHT, ASIDE, abs(rotation[0, 2])))
    for v in range(len(points)):
        x, y, z = (points[v, 0] - px) / scale, (py - points[v, 1]) / scale, (pz - points[v, 2]) / scale
        mean[v, 0] = keep * mean[v, 0] + pace * (cx + x * rotation[0, 0] + y * rotation[0, 1] + z * rotation[0, 2])
        mean[v, 1] = keep * mean[v, 1] + pace * (cy + x * rotation[1, 0] + y * rotation[1, 1] + z * rotation[1, 2])
        across = share * shape[v, 2] * min(max(shape[v, 0] - mean[v, 0], -MOST), MOST)
        up = share * shape[v, 2] * min(max(shape[v, 1] - mean[v, 1], -MOST), MOST)
        out[v, 0] = points[v, 0] + across * rotation[0, 0] + up * rotation[1, 0]
        out[v, 1] = points[v, 1] - across * rotation[0, 1] - up * rotation[1, 1]
        out[v, 2] = points[v, 2] - across * rotation[0, 2] - up * rotation[1, 2]


@helper
def _middles(points: Array, xyz: Array, rigid: Array) -> Any:
    """Means over the rigid vertices: of the landmarks' x, y, z and of the canonical x, y."""
    px = py = pz = cx = cy = np.float32(0.0)
    for v in rigid:
        px, py, pz = px + points[v, 0], py + points[v, 1], pz + points[v, 2]
        cx, cy = cx + xyz[v, 0], cy + xyz[v, 1]
    part = np.float32(1.0) / np.float32(len(rigid))
    return px * part, py * part, pz * part, cx * part, cy * part
