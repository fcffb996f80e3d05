"""Sparse landmark networks: 106 or 68 points of a face, of which five align the crop that a swap network gets.

The tracker follows with the mesh, whatever is chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.models.floats import in_floats
from realtime.models.tensors import described, sound, square_planes
from realtime.types import Array, Floats, Image, Region
from realtime.vision import align, geometry
from realtime.vision.planes import fill_planes

_APART = 0.3
"""Mean distance from the mesh's five points, in distances of the eyes, from which a network has lost the face. Networks differ in what
they call the tip of a nose, by much less."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one kind of network is fed and read."""

    name: str
    numbers: int
    """In its output, by which it is recognised."""
    margin: float
    """Side of the crop over the longer side of the face's box."""
    scale: float
    """Times the pixels 0..255, red first."""
    read: Callable[[Array, int], Floats]
    """The output and the crop's side in pixels -> points (n, 2) in crop pixels."""
    five: tuple[tuple[int, ...], ...]
    """For each of the five points those of which it is the mean."""


def _spread(width: int, count: int) -> Callable[[Array, int], Floats]:
    """Of rows of `width` numbers from -1 to 1 across the crop the last `count`: those before are of no interest."""

    def read(values: Array, size: int) -> Floats:
        return np.asarray((values.reshape(-1, width)[-count:, :2] + 1) * (size // 2), np.float32)

    return read


def _heatmap(values: Array, size: int) -> Floats:
    """Rows of x, y and a score, in cells of a heat map with 64 a side."""
    return np.asarray(values.reshape(-1, 3)[:, :2] * (size / 64), np.float32)


_FIVE_OF_68 = (tuple(range(36, 42)), tuple(range(42, 48)), (30,), (48,), (54,))
"""The usual order of 68 points (Sagonas et al., "300 faces in-the-wild challenge", 2013)."""
LAYOUTS = (
    # insightface `model_zoo/landmark.py`: both normalise by themselves. Pupils, nose tip and mouth corners as its users number them.
    Layout("2d106det", 2 * 106, 1.5, 1.0, _spread(2, 106), ((38,), (88,), (86,), (52,), (61,))),
    Layout("1k3d68", 3 * 1103, 1.5, 1.0, _spread(3, 68), _FIVE_OF_68),
    # face-alignment's 2DFAN-4 as facefusion exports and feeds it (2dfan4; peppa_wutz alike): the box takes 195 of 256 pixels.
    Layout("2dfan4", 3 * 68, 256 / 195, 1 / 255, _heatmap, _FIVE_OF_68),
)


class PointLandmarker:
    """Finds points in an upright square crop around a face whose mesh is known. Raises ModelError for a network of no known layout."""

    def __init__(self, session: Session, file: str) -> None:
        session = in_floats(session)
        self._layout, self._output = _layout(session, file)
        self._planes = square_planes(session, self._layout.name)
        self._size = int(self._planes.shape[1])
        self._crop = np.empty((self._size, self._size, 3), np.uint8)
        self._session = session

    @property
    def name(self) -> str:
        return self._layout.name

    @property
    def backend(self) -> str:
        return self._session.backend

    def points(self, image: Image, region: Region) -> Floats:
        """All points (n, 2) float32 in image pixels, the caller's own. `region` is the face's box as a square, without margin.

        Raises ModelError when the network gives something else than numbers.
        """
        wide = region._replace(size=region.size * self._layout.margin)
        transform = geometry.crop_transform(wide, self._size)
        align.crop(image, transform, self._size, out=self._crop)
        fill_planes(self._crop, self._planes, self._layout.scale, True)
        found = self._layout.read(sound(self._session.run()[self._output], self.name), self._size)
        return geometry.apply(geometry.invert(transform), found)

    def five(self, image: Image, mesh: Floats) -> Floats:
        """Eyes, nose tip and mouth corners (5, 2) float32 in image pixels, of the face with this mesh (468, 2 or 3).

        The mesh's own where the network lost the face.
        """
        known = geometry.five_points(mesh)
        around = geometry.region_from_landmarks(mesh)
        found = self.points(image, around._replace(size=around.size / geometry.REGION_MARGIN))
        five = np.stack([found[list(group)].mean(0) for group in self._layout.five]).astype(np.float32)
        apart = np.linalg.norm(five - known, axis=1).mean()
        return five if apart <= _APART * np.linalg.norm(known[1] - known[0]) else known


def _layout(session: Session, file: str) -> tuple[Layout, str]:
    """By the number of values in an output; what else a network gives, as heat maps, is left alone."""
    for layout in LAYOUTS:
        for output in session.specs.outputs:
            if _numbers(output) == layout.numbers:
                return layout, output.name
    known = ", ".join(layout.name for layout in LAYOUTS)
    got = described(session.specs)
    raise ModelError(f"{file} is no landmark network that this program knows ({got}): name a file like {known}, or keep to the mesh")


def _numbers(output: TensorSpec) -> int:
    return math.prod(output.shape)
