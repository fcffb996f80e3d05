"""Contact sheets for eyes: the original above what came out."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from realtime.types import Floats, Image
from realtime.vision import geometry

TILE = 320
ROW = 6


class Sheet:
    """Collects pairs of face crops; keeps one of `every`."""

    def __init__(self, every: int = 1) -> None:
        self._every, self._seen = every, 0
        self._tiles: list[Image] = []

    def add(self, original: Image, output: Image, points: Floats, caption: str) -> None:
        self._seen += 1
        if (self._seen - 1) % self._every:
            return
        transform = geometry.crop_transform(geometry.region_from_landmarks(points)._replace(angle=0.0), TILE)
        method = cv2.INTER_CUBIC if geometry.scale_of(transform) > 1 else cv2.INTER_AREA
        pair = np.vstack([cv2.warpAffine(image, transform, (TILE, TILE), flags=method) for image in (original, output)])
        cv2.putText(pair, caption, (4, TILE - 6), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255, 255, 255), 1, cv2.LINE_AA)
        self._tiles.append(np.asarray(pair, np.uint8))

    def write(self, path: Path) -> None:
        """Write a PNG; nothing when no pair was added."""
        if not self._tiles:
            return
        blank = np.zeros_like(self._tiles[0])
        tiles = self._tiles + [blank] * (-len(self._tiles) % ROW)
        rows = [np.hstack(tiles[start : start + ROW]) for start in range(0, len(tiles), ROW)]
        path.parent.mkdir(parents=True, exist_ok=True)
        ok, data = cv2.imencode(".png", np.vstack(rows))
        assert ok
        path.write_bytes(data.tobytes())
