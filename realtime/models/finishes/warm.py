"""The steps after the swap, run once before the first frame: what they compile, or load, would make that one seconds late."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from realtime.models.base import Crop, Finish
from realtime.models.swappers.aligned import to_patch
from realtime.models.swappers.ring import PatchRing
from realtime.types import MESH_POINTS, Face, Landmarks
from realtime.vision import geometry
from realtime.vision.mesh.topology import load_topology

_SIDE = 64
"""Of the picture that they are shown, in pixels."""


def warm_up(steps: Sequence[Finish]) -> None:
    """Let each finish a crop of the canonical face, and forget it. Raises ModelError when the network of one gives no numbers."""
    points = np.zeros((MESH_POINTS, 3), np.float32)
    points[:, :2] = load_topology().uv * _SIDE
    face = Face(Landmarks(points, presence=1.0), geometry.bounds(points), track=0)
    frame = np.full((_SIDE, _SIDE, 3), 127, np.uint8)
    mask = np.full((_SIDE, _SIDE), 255, np.uint8)
    crop = Crop(frame, face, np.eye(2, 3), frame.copy(), frame.copy(), mask)
    for step in steps:
        step.finish(crop)
        step.reset()
    to_patch(crop, PatchRing())
