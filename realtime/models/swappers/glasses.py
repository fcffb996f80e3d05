"""Keeps the live face's glasses: when to look for them, and what is remembered of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Array, Image
from realtime.vision.mesh.frames import add_dark_lenses, find_frames, keep_frames
from realtime.vision.mesh.rims import BRIDGE_SHARE, SUNGLASSES, bridge, dark_lenses, rim, skin_level, trace
from realtime.vision.mesh.topology import Topology
from realtime.vision.mesh.window import ANGLES, HEIGHT, WIDTH, new_window, unfold

WORN, NOT_WORN = 0.112, 0.085
"""Evidence from which a face wears glasses, and below which it has taken them off. Of 350 pictures of bare faces, with wrinkles, frowns and
hard light, the most is 0.106; of four with glasses the least 0.121; of drawn ones, rims of skin's own colour have 0.07 to 0.19."""
EVERY: Final = 12
"""Frames from one decision to the next: 0.4 s at a camera's usual rate."""
PACE: Final = 0.35
"""Share of a new look in the evidence: a grimace may pass for a rim once."""
TURNED: Final = 0.5
"""Sine of the angle by which a head is turned aside, beyond which its far eye says nothing."""
REFRESH: Final = 4
"""Frames from one look at where the glasses are to the next."""
NO_BRIDGE: Final = 0.03
"""Contrast of the line across the nose up to which it is not taken for a bridge."""


class Glasses:
    """What one followed face wears. Not thread-safe."""

    def __init__(self, topology: Topology) -> None:
        self._window = new_window(topology)
        self._pixels = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        self._mask = np.zeros((HEIGHT, WIDTH), np.float32)
        self._lines = np.zeros((2, ANGLES, 3), np.float32)
        self._rows = np.zeros(3, np.float32)
        self._evidence, self._age, self.worn = -1.0, 0, False

    def keep(self, image: Image, points: Array, rotation: Array, nodes: Array, anew: bool) -> None:
        """Lower the opacity of the swap's grid where there are glasses.

        image: BGR frame; points: (V, 3) landmarks; rotation: (3, 3) of `fit_pose`; nodes: of `Grid`; anew: another face, or none before.
        """
        if anew:
            self._evidence, self._age, self.worn = -1.0, 0, False
        decide = self._age % EVERY == 0 and abs(float(rotation[2, 0])) < TURNED
        if decide or (self.worn and self._age % REFRESH == 0):
            self._look(image, points, decide)
        self._age += 1
        if self.worn:
            keep_frames(nodes, self._mask)

    def warm_up(self, nodes: Array) -> None:
        """Compile or load what only a face with glasses needs."""
        window = self._window
        find_frames(self._lines, self._rows, window.rays, window.polar, True, True, self._mask)
        add_dark_lenses(self._pixels, window.polar, 1.0, 1.0, self._mask)
        keep_frames(nodes, self._mask)

    def _look(self, image: Image, points: Array, decide: bool) -> None:
        window, pixels, before = self._window, self._pixels, self.worn
        unfold(image, points, window.corners, window.weights, pixels)
        trace(pixels, window.rays, self._lines)
        clear, skin = float(bridge(pixels, self._rows)), float(skin_level(pixels))
        dark = float(dark_lenses(pixels, window.lens, skin))
        if decide:
            self._decide(max(float(rim(self._lines)) + BRIDGE_SHARE * clear, SUNGLASSES * dark))
        if self.worn:
            find_frames(self._lines, self._rows, window.rays, window.polar, clear > NO_BRIDGE, not before, self._mask)
            if dark > 0:
                add_dark_lenses(pixels, window.polar, skin, dark, self._mask)

    def _decide(self, new: float) -> None:
        self._evidence = new if self._evidence < 0 else self._evidence + PACE * (new - self._evidence)
        self.worn = self._evidence >= (NOT_WORN if self.worn else WORN)
