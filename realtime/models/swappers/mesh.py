"""The embedded default: a face swap without a swap network, by a textured mesh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from realtime.errors import UsageError
from realtime.models.base import Identity
from realtime.models.swappers.glasses import Glasses
from realtime.models.swappers.ring import SMALLEST, PatchRing
from realtime.types import Array, Box, Face, Image, Landmarks, Patch, SourcePhoto
from realtime.vision.blend import paste
from realtime.vision.mesh import indices
from realtime.vision.mesh.atlas import Atlas, blank_atlas, build_atlas
from realtime.vision.mesh.beard import border, new_beard, show_hairs
from realtime.vision.mesh.grain import match_grain
from realtime.vision.mesh.grey import drain, is_grey
from realtime.vision.mesh.holes import cut_hole
from realtime.vision.mesh.maths import kernel
from realtime.vision.mesh.paint import paint
from realtime.vision.mesh.raster import CHANNELS, Grid, draw_grid, fit_grid, new_grid
from realtime.vision.mesh.shade import BLUR_EVERY, Source, new_history, new_mesh, new_seen, new_shaded, shade
from realtime.vision.mesh.shape import reshape
from realtime.vision.mesh.topology import Topology, load_topology

CELLS: Final = 80
"""About how many grid cells the longer side of a face has."""
HOLES: Final = tuple(
    (np.array(part, np.int32), np.float32(along), np.float32(across))
    for part, along, across in ((indices.LEFT_EYE, 1.05, 1.25), (indices.RIGHT_EYE, 1.05, 1.25), (indices.MOUTH, 1.1, 1.0))
)
"""Outlines left open and how much they are stretched: around the eyes so far that the frame's lashes show and no second ones, and no
farther, because lids are part of a likeness; of the mouth with its corners, where the line between a photo's closed lips would be drawn
out to dark triangles by a smile."""
ASIDE: Final = 0.6
"""Sine of the turn to one side from which a face can be turned away; a nod alone never is."""
AWAY, BACK = 0.61, 0.66
"""Cosine of the angle to the camera below which a face is turned away, and above which it is no longer. The mesh reads faces seen by half
from the side as 46 to 49 degrees and is right; full profiles as 50 to 68, and its eye, nose and contour lie beside the face's own."""
TEXELS: Final = 1.25
"""Fewest texels across the atlas for each pixel of the face's region: the smallest level that is at least this sharp is used."""


@dataclass(frozen=True)
class MeshIdentity:
    """A person fitted to the mesh; see `Identity`."""

    name: str
    atlas: Atlas


class Rectangle(NamedTuple):
    """Of the frame, in pixels."""

    x: int
    y: int
    width: int
    height: int


class MeshSwapper:
    """Draws the source's unwrapped photo on the mesh of the frame's face; implements `Swapper`.

    The eyes and the inside of the mouth stay the frame's own. Not thread-safe: one thread fits, uses and swaps.
    """

    def __init__(self, topology: Topology | None = None, glasses: bool = False) -> None:
        """glasses: those of the live face are kept."""
        self._topology = topology if topology is not None else load_topology()
        self._glasses = Glasses(self._topology) if glasses else None
        self._mesh = new_mesh(self._topology)
        count = len(self._topology.uv)
        self._history = new_history(count)
        self._seen, self._shaded = new_seen(count), new_shaded(count)
        self._drawn = np.zeros((count, 3), np.float32)
        self._grain = np.full(2, -1, np.float32)
        self._jaw, self._beard = border(self._topology), new_beard()
        self._grey = self._away = False
        self._attributes = np.zeros((count, CHANNELS), np.float32)
        self._attributes[:, :2] = self._topology.uv
        self._grid = self._fitted = new_grid(1, 1)
        self._ring = PatchRing()
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
        self._away = False

    def fork(self) -> MeshSwapper:
        """See `Swapper.fork`. The topology is shared."""
        return MeshSwapper(self._topology, self._glasses is not None)

    def swap(self, image: Image, face: Face) -> Patch | None:
        """See `Swapper.swap`: None, too, for a face that is turned away. About 1 ms for a face of 250 pixels."""
        if self._atlas is None:
            raise RuntimeError("no identity is in use: call use() with a fitted identity first")
        points = np.ascontiguousarray(face.landmarks.points, np.float32)
        area = Rectangle(*region(points, image.shape[0], image.shape[1]))
        if area.width < SMALLEST or area.height < SMALLEST:
            return None
        shaded = self._shaded
        self._shade(image, points, self._atlas.source)
        if self._turned_away(shaded.rotation):
            return None
        patch = self._ring.take(*area)
        self._attributes[:, 2:5], self._attributes[:, 5] = shaded.offset, shaded.alpha
        longer = max(area.width, area.height)
        step = max(1, round(longer / CELLS))
        grid = self._fitting_grid(area, step)
        draw_grid(self._shaped(points), self._attributes, self._topology.triangles, area.x, area.y, step, grid, 4.0 * step / longer, 3)
        paint(grid.nodes, step, self._level(longer, float(shaded.softness[0])), shaded.curve, patch.colour, patch.alpha)
        self._show_hairs(image, points, patch)
        for outline, along, across in HOLES:
            cut_hole(patch.alpha, points, outline, area.x, area.y, along, across, max(1, longer // 90))
        if self._glasses is not None:
            self._glasses.keep(image, patch)
        self._match_grain(image, points, patch)
        self._match_grey(image, points, patch)
        return patch

    def warm_up(self) -> None:
        """Compile or load every kernel, so that the first frame is not late: seconds the first time ever, then tenths of a second."""
        swapper = MeshSwapper(self._topology, self._glasses is not None)
        image = np.full((160, 160, 3), 128, np.uint8)
        points = self._topology.xyz * np.array([6, -6, -6], np.float32) + np.array([80, 80, 0], np.float32)
        swapper.use(MeshIdentity("", blank_atlas(len(points))))
        for _ in range(2):
            patch = swapper.swap(image, Face(Landmarks(points, 1.0), Box(0, 0, 160, 160), 0))
            assert patch is not None
            paste(image, patch.x, patch.y, patch.colour, patch.alpha)
        if swapper._glasses is not None and patch is not None:
            swapper._glasses.warm_up(image, points, patch)

    def _shade(self, image: Image, points: Array, source: Source) -> None:
        """With the glasses looked at first, where there are any: those of another face are forgotten."""
        mesh, age, glasses = self._mesh, self._history.age, self._glasses
        if glasses is None:
            shade(image, points, mesh, source, self._history, self._seen, self._shaded)
            return
        begun = age[0] > 0
        if not begun:
            glasses.forget()
        glasses.see(image, points)
        shade(image, points, *glasses.apart(mesh, source), self._history, self._seen, self._shaded)
        if begun and age[0] == 1:
            glasses.forget()

    def _shaped(self, points: Array) -> Array:
        """The landmarks with the source's nose and cheeks."""
        assert self._atlas is not None
        mesh, shaded, history = self._mesh, self._shaded, self._history
        pose = shaded.rotation, shaded.scale[0]
        reshape(points, mesh.xyz, mesh.rigid, *pose, self._atlas.source.shape, history.age, history.shape, history.looks, self._drawn)
        return self._drawn

    def _turned_away(self, rotation: Array) -> bool:
        """Whether the head is turned so far aside that the mesh is a guess; it has to come back a little further than it went."""
        limit = BACK if self._away else AWAY
        self._away = bool(abs(rotation[0, 2]) > ASIDE and rotation[2, 2] < limit)
        if self._away and self._history.age[0] == 1:
            self._history.age[0] = 0  # what is measured on a face's first frame is measured on the first that shows it
        return self._away

    def _show_hairs(self, image: Image, points: Array, patch: Patch) -> None:
        """The grain is that of the last measurement: it changes little, and this one needs the finished patch."""
        begun = self._history.age[0] == 1
        if begun:
            self._beard.fill(-1)
        noise = 0.0 if begun else max(float(self._grain[0]), 0.0)
        show_hairs(image, points, self._jaw, patch.x, patch.y, noise, self._beard, patch.colour, patch.alpha)

    def _match_grain(self, image: Image, points: Array, patch: Patch) -> None:
        """Measured as seldom as the blur, and anew when `shade` begins anew."""
        age = int(self._history.age[0])
        if age == 1:
            self._grain.fill(-1)
        measure, skin = age % BLUR_EVERY == 1, self._topology.skin
        match_grain(image, points, skin, patch.x, patch.y, patch.colour, patch.alpha, measure, self._grain)

    def _match_grey(self, image: Image, points: Array, patch: Patch) -> None:
        """The face in a black-and-white picture is black and white; looked at as seldom as the blur."""
        if int(self._history.age[0]) % BLUR_EVERY == 1:
            self._grey = is_grey(image, points)
        if self._grey:
            drain(patch.colour)

    def _fitting_grid(self, area: Rectangle, step: int) -> Grid:
        """The grid's arrays cut to size from buffers that only ever grow; most often those of the frame before."""
        rows, columns = -(-area.height // step) + 1, -(-area.width // step) + 1
        if self._fitted.ids.shape != (rows, columns):
            if self._grid.ids.size < rows * columns:
                self._grid = new_grid(1, 2 * rows * columns)
            self._fitted = fit_grid(self._grid, rows, columns)
        return self._fitted

    def _level(self, longer: int, softness: float) -> Array:
        """The smallest atlas level that is sharp enough for a face whose region is `longer` pixels and wants that much blur.

        Texels w pixels wide, drawn bilinearly, blur by w / 2 to w / 2.5 (standard deviation).
        """
        assert self._atlas is not None
        needed, levels = TEXELS * longer / math.hypot(1.0, 2.5 * softness), self._atlas.levels
        return next((level for level in reversed(levels) if len(level) >= needed), levels[0])


@kernel
def region(points: Array, height: int, width: int) -> tuple[int, int, int, int]:
    """x, y, width, height of the landmarks' bounding box and a little more, within the image."""
    low_x, high_x, low_y, high_y = points[0, 0], points[0, 0], points[0, 1], points[0, 1]
    for v in range(len(points)):
        low_x, high_x = min(low_x, points[v, 0]), max(high_x, points[v, 0])
        low_y, high_y = min(low_y, points[v, 1]), max(high_y, points[v, 1])
    pad = 0.04 * max(high_x - low_x, high_y - low_y)
    x0, y0 = max(int(np.floor(low_x - pad)), 0), max(int(np.floor(low_y - pad)), 0)
    x1, y1 = min(int(np.ceil(high_x + pad)), width), min(int(np.ceil(high_y + pad)), height)
    return x0, y0, x1 - x0, y1 - y0
