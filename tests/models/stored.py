"""Pictures of synthetic people with stored landmarks, and their faces."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from realtime.types import Box, Face, Landmarks

DATA = Path(__file__).parents[1] / "data"


def picture(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(DATA / "landmarks.npz") as stored:
        return cv2.imread(str(DATA / f"{name}.jpg")), stored[name]


def face(points: np.ndarray) -> Face:
    low, high = points[:, :2].min(0), points[:, :2].max(0)
    return Face(Landmarks(points, 1.0), Box(*map(float, low), *map(float, high)), 1)
