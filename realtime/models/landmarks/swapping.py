"""The dense mesh by the graph around the mesh network and a swap network: the look that finds the face swaps it as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from realtime.backends.base import FrameSession
from realtime.models.base import Landmarker
from realtime.models.landmarks.fused import FrameLandmarker, mesh_of
from realtime.types import Array, Image, Landmarks, Region
from realtime.vision import geometry
from realtime.vision.geometry import Transform

NEAR: Final = 0.03
"""Of the crop's side: how far the crop of the graph, which knows nothing of the smoothing over time, may be from where it is wanted."""


class SwappingLandmarker(FrameLandmarker):
    """Finds the mesh by the graph `follow_swap` of `graphs`, which gives the swapped crop too; implements `Landmarker` and `Ahead`.

    Only the first look at a frame goes through it, and only when the frame before ended with a swap: then it is nearly always the only
    one. Every other look would swap in vain; those, and frames of sizes that the session does not take, are `otherwise`'s.
    """

    def __init__(self, session: FrameSession, otherwise: Landmarker) -> None:
        super().__init__(session, otherwise, {"region", "latent"})
        self._latent = session.inputs["latent"]
        self._expected = False
        self._seen: Image | None = None
        self._swapped_in: Image | None = None
        self._outputs: Mapping[str, Array] = {}

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        """As `FusedLandmarker.landmarks`."""
        first, self._seen = image is not self._seen, image
        if not (first and self._expected and self.session.takes(image.shape)):
            return self._otherwise.landmarks(image, region)
        self._expected = False
        self._region[:] = region
        self._outputs, self._swapped_in = self.session.run(image), image
        return mesh_of(self._outputs)

    def takes(self, source: Array) -> bool:
        """Whether this source, as the swap network takes it, has the shape of the graph's latent."""
        return source.shape == self._latent.shape

    def use(self, source: Array) -> None:
        """See `Ahead.use`."""
        np.copyto(self._latent, source)
        self._swapped_in = None

    def swapped(self, image: Image, transform: Transform) -> tuple[Image, Transform] | None:
        """See `Ahead.swapped`."""
        self._expected = True
        if self._swapped_in is not image:
            return None
        picture, matrix = self._outputs["patch"], self._outputs["matrix"]
        if not np.isfinite(matrix).all() or _apart(transform, matrix.astype(np.float64), len(picture)) > NEAR * len(picture):
            return None
        return picture, geometry.invert(matrix)


def _apart(wanted: Transform, matrix: Array, size: int) -> float:
    """How many pixels of the crop its corners lie from where they are wanted; `matrix` leads from the crop to the frame."""
    corners = np.array([[0, 0], [size, 0], [size, size], [0, size]], np.float32)
    there = geometry.apply(geometry.compose(wanted, matrix), corners)
    return float(np.linalg.norm(there - corners, axis=1).max())
