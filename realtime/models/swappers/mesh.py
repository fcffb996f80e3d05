"""The embedded default: a face swap without a swap network, by a textured mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from realtime.errors import UsageError
from realtime.models.base import Identity
from realtime.types import Array, Face, Floats, Image, Landmarks, Patch, SourcePhoto
from realtime.types import Box as FaceBox
from realtime.vision.blend import paste
from realtime.vision.mesh import indices
from realtime.vision.mesh.atlas import Atlas, build_atlas
from realtime.vision.mesh.paint import paint
from realtime.vision.mesh.raster import CHANNELS, Grid, draw_grid, new_grid
from realtime.vision.mesh.shade import new_history, new_mesh, new_shaded, shade
from realtime.vision.mesh.topology import Topology, load_topology

PATCHES: Final = 5
"""Patch buffers used in turn: one more than `Patch` promises to stay valid."""
SMALLEST: Final = 16
"""Width and height in pixels below which a face is not swapped."""
CELLS: Final = 80
"""About how many grid cells the longer side of a face has."""
HOLES: Final = tuple(np.array(part, np.intp) for part in (indices.LEFT_EYE, indices.RIGHT_EYE, indices.INNER_LIPS))
TEXELS: Final = 1.03
"""Fewest texels per pixel of the face: the smallest atlas level that is at least this sharp is used."""


@dataclass(frozen=True)
class MeshIdentity:
    """A person fitted to the mesh; see `Identity`."""

    name: str
    atlas: Atlas


@dataclass(frozen=True)
class Rectangle:
    x: int
    y: int
    width: int
    height: int


class MeshSwapper:
    """Draws the source's unwrapped photo on the mesh of the frame's face; implements `Swapper`.

    The eyes and the inside of the mouth stay the frame's own. Not thread-safe: one thread fits, uses and swaps.
    """

    def __init__(self, topology: Topology | None = None) -> None:
        self._topology = topology if topology is not None else load_topology()
        self._mesh = new_mesh(self._topology)
        count = len(self._topology.uv)
        self._history = new_history(count)
        self._shaded = new_shaded(count)
        self._attributes = np.zeros((count, CHANNELS), np.float32)
        self._attributes[:, :2] = self._topology.uv
        self._grid = new_grid(1, 1)
        self._buffers = [np.empty(0, np.uint8) for _ in range(PATCHES)]
        self._hole = np.empty(0, np.uint8)
        self._turn = 0
        self._atlas: Atlas | None = None

    @property
    def name(self) -> str:
        return "mesh"

    def fit(self, photos: Sequence[SourcePhoto]) -> MeshIdentity:
        """Several photos are averaged, each part of the face mostly from those that show it best. Raises UsageError without a photo."""
        if not photos:
            raise UsageError("no source photo was given; pass one or several photos of one person with --source")
        atlas = build_atlas([(photo.image, photo.landmarks.points) for photo in photos], self._topology)
        return MeshIdentity(photos[0].name, atlas)

    def use(self, identity: Identity) -> None:
        """Raises TypeError for an identity that another swapper has fitted."""
        if not isinstance(identity, MeshIdentity):
            raise TypeError(f"expected a MeshIdentity, got {type(identity).__name__}")
        self._atlas = identity.atlas
        self.reset()

    def reset(self) -> None:
        self._history.age[0] = 0

    def swap(self, image: Image, face: Face) -> Patch | None:
        """See `Swapper.swap`. About 1 ms for a face of 250 pixels."""
        if self._atlas is None:
            raise RuntimeError("no identity is in use: call use() with a fitted identity first")
        points = np.ascontiguousarray(face.landmarks.points, np.float32)
        area = _region(points, image)
        if area is None:
            return None
        patch = self._patch(area)
        shaded, source = self._shaded, self._atlas.source
        shade(image, points, self._mesh, source, self._history, shaded)
        self._attributes[:, 2:5], self._attributes[:, 5] = shaded.offset, shaded.alpha
        longer = max(area.width, area.height)
        step = max(2, round(longer / CELLS))
        grid = self._fitting_grid(area, step)
        draw_grid(points, self._attributes, self._topology.triangles, area.x, area.y, step, grid, 4.0 * step / longer, 3)
        curve = (shaded.curve * 64.0 + 0.5).astype(np.int32)
        paint(grid.nodes, step, self._level(longer), curve, patch.colour, patch.alpha)
        for part in HOLES:
            self._cut(patch, points[part, :2], longer)
        return patch

    def warm_up(self) -> None:
        """Compile or load every kernel, so that the first frame is not late: seconds the first time ever, then tenths of a second."""
        swapper = MeshSwapper(self._topology)
        image = np.full((160, 160, 3), 128, np.uint8)
        points = self._topology.xyz * np.array([6, -6, -6], np.float32) + np.array([80, 80, 0], np.float32)
        face = Face(Landmarks(points, 1.0), FaceBox(0, 0, 160, 160), 0)
        swapper._atlas = build_atlas([(image, points)], self._topology)
        for _ in range(2):
            patch = swapper.swap(image, face)
            assert patch is not None
            paste(image, patch.x, patch.y, patch.colour, patch.alpha)

    def _patch(self, area: Rectangle) -> Patch:
        """The next buffer of the ring, grown with room to spare when the face is larger than ever before."""
        self._turn = (self._turn + 1) % PATCHES
        pixels = area.width * area.height
        if self._buffers[self._turn].size < 4 * pixels:
            self._buffers[self._turn] = np.empty(6 * pixels, np.uint8)
        buffer, shape = self._buffers[self._turn], (area.height, area.width)
        return Patch(area.x, area.y, buffer[: 3 * pixels].reshape(*shape, 3), buffer[3 * pixels : 4 * pixels].reshape(shape))

    def _fitting_grid(self, area: Rectangle, step: int) -> Grid:
        rows, columns = -(-area.height // step) + 1, -(-area.width // step) + 1
        if self._grid.ids.shape != (rows, columns):
            self._grid = new_grid(rows, columns)
        return self._grid

    def _level(self, longer: int) -> Array:
        """The smallest atlas level that is sharp enough for a face whose region is `longer` pixels."""
        assert self._atlas is not None
        sharp = [level for level in self._atlas.levels if len(level) >= TEXELS * longer]
        return sharp[-1] if sharp else self._atlas.levels[0]

    def _cut(self, patch: Patch, outline: Floats, longer: int) -> None:
        """Lower the opacity inside one eye or the mouth to nothing, with a soft edge."""
        soft = max(3, longer // 60 | 1)
        height, width = patch.alpha.shape
        x0, y0 = np.maximum(outline.min(0) - (patch.x, patch.y) - soft, 0).astype(int)
        x1, y1 = np.minimum(outline.max(0) - (patch.x, patch.y) + soft + 2, (width, height)).astype(int)
        if x1 <= x0 or y1 <= y0:
            return
        if self._hole.size < (y1 - y0) * (x1 - x0):
            self._hole = np.empty(2 * (y1 - y0) * (x1 - x0), np.uint8)
        hole = self._hole[: (y1 - y0) * (x1 - x0)].reshape(y1 - y0, x1 - x0)
        hole[:] = 0
        corners = ((outline - (patch.x + x0, patch.y + y0)) * 16).round().astype(np.int32)
        cv2.fillPoly(hole, [corners], 255, shift=4)
        cv2.blur(hole, (soft, soft), hole)
        inside = patch.alpha[y0:y1, x0:x1]
        cv2.subtract(inside, hole, inside)


def _region(points: Floats, image: Image) -> Rectangle | None:
    """The landmarks' bounding box and a little more, within the image; None when less than SMALLEST is left."""
    low, high = points[:, :2].min(0), points[:, :2].max(0)
    pad = 0.04 * float((high - low).max())
    height, width = image.shape[:2]
    x0, y0 = max(int(np.floor(low[0] - pad)), 0), max(int(np.floor(low[1] - pad)), 0)
    x1, y1 = min(int(np.ceil(high[0] + pad)), width), min(int(np.ceil(high[1] + pad)), height)
    if x1 - x0 < SMALLEST or y1 - y0 < SMALLEST:
        return None
    return Rectangle(x0, y0, x1 - x0, y1 - y0)
