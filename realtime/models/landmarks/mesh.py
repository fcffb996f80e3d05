"""The dense face mesh: MediaPipe's face_landmark network, 468 points from one crop."""

from __future__ import annotations

import math

import numpy as np

from realtime.backends.base import Session
from realtime.compiled import compiled, prepare
from realtime.errors import ModelError
from realtime.types import MESH_POINTS, Floats, Image, Landmarks, Region
from realtime.vision import align, geometry

_TO_UNIT, _NONE = np.full(3, 1 / 255, np.float32), np.zeros(3, np.float32)
_EDGE = np.float32(0.5)
"""The network measures from the crop's edge and we count pixel centres: *measured*, a mesh and that of the mirrored crop add up to
191.9 +- 0.2 in x over 35 photos, 192 being the width and 191 the number of the last pixel."""


class MeshLandmarker:
    """Finds the mesh in an upright square crop.

    Takes the session of a network with planes of RGB 0..1 in, and 468 x 3 crop pixels and a presence logit out.
    """

    def __init__(self, session: Session) -> None:
        spec = session.specs.inputs[0]
        if len(spec.shape) != 4 or spec.shape[1] != 3 or spec.shape[2] != spec.shape[3]:
            raise ModelError(f"a face mesh network takes one square crop: expected (1, 3, n, n), got {spec.shape}")
        self._session = session
        self._size = spec.shape[2]
        self._planes: Floats = session.inputs[spec.name][0]
        self._mesh, self._presence = _outputs(session)

    @property
    def name(self) -> str:
        return "mesh"

    @property
    def backend(self) -> str:
        return self._session.backend

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        """The mesh in `region`, which may reach beyond the image. About a third of a millisecond plus the network.

        A network that gives anything but numbers saw no face: the presence is 0.
        """
        transform = geometry.crop_transform(region, self._size)
        align.fill(image, transform, self._planes, _TO_UNIT, _NONE, reverse=True)
        outputs = self._session.run()
        points = np.empty((MESH_POINTS, 3), np.float32)
        sound = _to_image(outputs[self._mesh].reshape(MESH_POINTS, 3), geometry.invert(transform), points)
        return Landmarks(points, _sigmoid(float(outputs[self._presence].flat[0])) if sound else 0.0)


def warm_up() -> None:
    """Compile or load the code that follows the network."""
    prepare(_to_image)


def _outputs(session: Session) -> tuple[str, str]:
    """The names of the mesh and the presence output, told apart by size: converters name them as they like."""
    sizes = {spec.name: math.prod(spec.shape) for spec in session.specs.outputs}
    mesh = [name for name, size in sizes.items() if size == MESH_POINTS * 3]
    presence = [name for name, size in sizes.items() if size == 1]
    if len(mesh) != 1 or len(presence) != 1:
        raise ModelError(f"a face mesh network gives {MESH_POINTS} x 3 numbers and one more, this one gives {sizes}")
    return mesh[0], presence[0]


@compiled("boolean(f4[:,::1], f8[:,::1], f4[:,::1])", error_model="numpy")
def _to_image(mesh: Floats, back: geometry.Transform, points: Floats) -> bool:
    """Crop pixels back to image pixels; depth is measured in the same unit, so it is scaled alike. Whether all came out as numbers."""
    depth = np.sqrt(abs(back[0, 0] * back[1, 1] - back[0, 1] * back[1, 0]))
    sound = True
    for n in range(len(mesh)):
        x, y = np.float64(mesh[n, 0] - _EDGE), np.float64(mesh[n, 1] - _EDGE)
        points[n, 0] = back[0, 0] * x + back[0, 1] * y + back[0, 2]
        points[n, 1] = back[1, 0] * x + back[1, 1] * y + back[1, 2]
        points[n, 2] = depth * mesh[n, 2]
        sound = sound and np.isfinite(points[n, 0] + points[n, 1] + points[n, 2])
    return sound


def _sigmoid(logit: float) -> float:
    """0..1, and 0 for a logit that is not a number: whoever compares presences must not find a face there."""
    return 0.0 if math.isnan(logit) else 0.5 * (1 + math.tanh(logit / 2))
