"""Keeps the live face's glasses: when to look for them, and what is remembered of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Array, Image, Patch
from realtime.vision.mesh import indices
from realtime.vision.mesh.frames import PLANES, add_dark_lenses, bare_vertices, find_frames, keep_frames, spread_frames
from realtime.vision.mesh.pose import RIGID
from realtime.vision.mesh.rims import BRIDGE_SHARE, SUNGLASSES, USUAL, bridge, dark_lenses, rim, skin_level, trace
from realtime.vision.mesh.shade import Mesh, Source
from realtime.vision.mesh.topology import Topology
from realtime.vision.mesh.window import ANGLES, HEIGHT, WIDTH, new_window, outline, place, unfold

WORN, NOT_WORN = 0.105, 0.085
"""Evidence from which a face wears glasses, and below which it has taken them off. Of 333 pictures of bare faces, with wrinkles, frowns and
hard light, the most is 0.088; of four with glasses the least 0.140; of drawn ones only half rims have less than 0.092."""
BROWS: Final = np.array((indices.RIGHT_BROW, indices.LEFT_BROW), np.int32)
EVERY: Final = 12
"""Frames from one decision to the next: 0.4 s at a camera's usual rate."""
PACE: Final = 0.35
"""Share of a new look in the evidence: a grimace may pass for a rim once."""
BRIGHT, NEARLY = 1.0, 0.94
"""What lines count for that are brighter than what is beside them. They may be skin between a rim and an eye: when dark ones alone are
nearly as clear as both, bright ones count for nothing."""
TURNED: Final = 0.5
"""Sine of the angle by which a head is turned aside, beyond which its far eye says nothing."""
REFRESH: Final = 6
"""Frames from one look at where the glasses are to the next."""
NO_BRIDGE: Final = 0.03
"""Contrast of the line across the nose up to which it is not taken for a bridge."""


class Glasses:
    """What one followed face wears. Not thread-safe."""

    def __init__(self, topology: Topology) -> None:
        self._window, self._xyz = new_window(), topology.xyz
        self._view, self._rotation = np.zeros((2, 4), np.float32), np.zeros((3, 3), np.float32)
        self._pixels = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        self._maps, self._near = np.zeros((HEIGHT, WIDTH, PLANES), np.float32), np.zeros((HEIGHT, WIDTH), np.float32)
        self._lines, self._rows = np.zeros((2, ANGLES, 3), np.float32), np.zeros(3, np.float32)
        self._brows = np.zeros((*BROWS.shape, 2), np.float32)
        self._bare = np.ones(len(topology.xyz), np.float32)
        self._bright = BRIGHT
        self._evidence, self._age, self.worn = -1.0, 0, False

    def forget(self) -> None:
        """Another face is in the picture."""
        self._evidence, self._age, self.worn = -1.0, 0, False

    def see(self, image: Image, points: Array) -> None:
        """Look at one more frame, where it is time to. image: BGR; points: (V, 3) landmarks."""
        decide = self._age % EVERY == 0
        if decide or self.worn:
            place(points, self._xyz, RIGID, self._rotation, self._view)
        decide = decide and abs(float(self._rotation[2, 0])) < TURNED
        if decide or (self.worn and self._age % REFRESH == 0):
            self._look(image, points, decide)
        self._age += 1

    def apart(self, mesh: Mesh, source: Source) -> tuple[Mesh, Source]:
        """The same, with less weight on vertices that glasses hide: their colours are not the face's."""
        if not self.worn:
            return mesh, source
        return mesh._replace(skin=mesh.skin * self._bare), source._replace(weight=source.weight * self._bare)

    def keep(self, image: Image, patch: Patch) -> None:
        """Open a painted patch where the glasses are."""
        if self.worn:
            keep_frames(image, patch.x, patch.y, self._view, self._maps, self._near, patch.alpha)

    def warm_up(self, image: Image, points: Array, patch: Patch) -> None:
        """Compile or load what only a face with glasses needs."""
        place(points, self._xyz, RIGID, self._rotation, self._view)
        add_dark_lenses(self._pixels, self._window.polar, 1.0, 1.0, self._maps)
        self._find(points, bridged=True, first=True)
        keep_frames(image, patch.x, patch.y, self._view, self._maps, self._near, patch.alpha)

    def _look(self, image: Image, points: Array, decide: bool) -> None:
        window, pixels, before = self._window, self._pixels, self.worn
        unfold(image, self._view, pixels)
        outline(points, BROWS, self._view, self._brows)
        clear, skin = float(bridge(pixels, self._rows)), float(skin_level(pixels))
        dark = float(dark_lenses(pixels, window.lens, skin))
        if decide:
            whole = self._trace(BRIGHT)
            self._decide(max(float(rim(self._lines)) + BRIDGE_SHARE * clear, SUNGLASSES * dark))
        if self.worn:
            if decide:
                self._bright = 0.0 if self._trace(0.0) > NEARLY * whole else BRIGHT
            self._trace(self._bright)
            self._find(points, clear > NO_BRIDGE, not before)
            if dark > 0:
                add_dark_lenses(pixels, window.polar, skin, dark, self._maps)
                spread_frames(self._maps, self._near)

    def _trace(self, bright: float) -> float:
        """How clear the lines are on the whole."""
        trace(self._pixels, self._window.rays, self._brows, bright, self._lines)
        return float(np.minimum(self._lines[..., 2], USUAL).mean())

    def _find(self, points: Array, bridged: bool, first: bool) -> None:
        window = self._window
        find_frames(self._pixels, self._lines, self._rows, window.rays, window.polar, bridged, first, self._maps)
        spread_frames(self._maps, self._near)
        bare_vertices(points, self._view, self._maps, self._bare)

    def _decide(self, new: float) -> None:
        self._evidence = new if self._evidence < 0 else self._evidence + PACE * (new - self._evidence)
        self.worn = self._evidence >= (NOT_WORN if self.worn else WORN)
