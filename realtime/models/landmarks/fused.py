"""The dense mesh by one graph around the network: the frame goes to the GPU once, and each look at it is one launch."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from realtime.backends.base import FrameSession
from realtime.errors import ModelError
from realtime.models.base import Landmarker
from realtime.types import MESH_POINTS, Array, Image, Landmarks, Region


class FrameLandmarker:
    """What the landmarkers on graphs that take whole frames have in common.

    `session` has these small inputs and no others; frames of sizes that it does not take are `otherwise`'s. Raises ModelError.
    """

    def __init__(self, session: FrameSession, otherwise: Landmarker, inputs: Set[str]) -> None:
        if session.inputs.keys() != inputs:
            wanted, given = (", ".join(sorted(names)) for names in (inputs, session.inputs.keys()))
            raise ModelError(f"this graph was to take a frame and {wanted}: it takes {given}")
        self.session = session
        self._region = session.inputs["region"]
        self._otherwise = otherwise

    @property
    def name(self) -> str:
        return "mesh"

    @property
    def backend(self) -> str:
        return self.session.backend


class FusedLandmarker(FrameLandmarker):
    """Finds the mesh in a region of a frame by the graph `follow` of `graphs`: crop, network and coordinates are in it.

    An image that is the very object of the call before is not uploaded again, for a tracker looks at a frame several times. It is kept
    until the next, and must not change meanwhile, as no captured image does.
    """

    def __init__(self, session: FrameSession, otherwise: Landmarker) -> None:
        super().__init__(session, otherwise, {"region"})

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        """As `MeshLandmarker.landmarks`; a network that gives anything but numbers saw no face: the presence is 0."""
        if not self.session.takes(image.shape):
            return self._otherwise.landmarks(image, region)
        self._region[:] = region
        return mesh_of(self.session.run(image))


def mesh_of(outputs: Mapping[str, Array]) -> Landmarks:
    """What a graph that follows says of the face, the caller's own."""
    points = outputs["landmarks"].reshape(MESH_POINTS, 3).copy()
    presence = float(outputs["presence"].flat[0])
    sound = bool(np.isfinite(points).all()) and np.isfinite(presence)
    return Landmarks(points, presence if sound else 0.0)
