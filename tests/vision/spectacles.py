"""Glasses drawn on pictures of bare faces, for tests."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.topology import load_topology

FINE = 3
"""Times the picture's resolution at which the rims are drawn."""


@dataclass(frozen=True)
class Style:
    """Sizes in canonical units, about centimetres; colours BGR."""

    thick: float = 0.35
    colour: tuple[int, int, int] = (20, 20, 25)
    half: tuple[float, float] = (2.7, 2.0)
    """Half the width and half the height of a lens."""
    square: float = 3.5
    """Exponent of the superellipse: 2 is round."""
    lens: float = 0.0
    """How much of what is behind a lens it swallows, 0..1."""


BLACK, METAL, DARK = Style(), Style(0.15, (190, 195, 200), (2.5, 1.9), 2.0), Style(0.3, (15, 15, 15), (2.9, 2.4), 2.6, 0.93)


def put_on(image: np.ndarray, points: np.ndarray, style: Style = BLACK) -> tuple[np.ndarray, np.ndarray]:
    """A copy of the picture in which the face (468, 3) wears them, and how much of every pixel they are (h, w) float32."""
    height, width = image.shape[:2]
    rim, lens = (np.zeros((height * FINE, width * FINE), np.uint8) for _ in range(2))
    for side in (-1, 1):
        outline = _placed(points, *_lens(style, side))
        cv2.fillPoly(lens, [outline], 255)
        _line(rim, points, outline, style, closed=True)
        reach = 3.35 + style.half[0]
        _line(rim, points, _placed(points, *np.array([[side * reach, side * 7.3], [2.9, 2.9], [4.3, -3.0]])), style)
    gap = 3.35 - style.half[0]
    x = np.linspace(-gap, gap, 20)
    _line(rim, points, _placed(points, x, 2.6 + 0.5 * (1 - (x / gap) ** 2), np.full(20, 5.9)), style)
    rims, lenses = (cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255 for mask in (rim, lens))
    out = image * (1 - style.lens * lenses[..., None])
    out = out * (1 - rims[..., None]) + np.array(style.colour) * rims[..., None]
    return np.clip(out + 0.5, 0, 255).astype(np.uint8), np.maximum(rims, lenses * style.lens)


def _lens(style: Style, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    x, y = (size * np.sign(f) * abs(f) ** (2 / style.square) for size, f in zip(style.half, (np.cos(angle), np.sin(angle)), strict=True))
    x = side * 3.35 + x
    return x, y + 2.45, 5.6 - 0.035 * x**2


def _placed(points: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Canonical places in the picture, in pixels of the fine mask."""
    xyz, rotation = load_topology().xyz, np.empty((3, 3), np.float32)
    scale = fit_pose(np.ascontiguousarray(points, np.float32), xyz, RIGID, rotation)
    turned = scale * (np.stack([x, y, z], axis=1) - xyz[RIGID].mean(0)) @ rotation
    return np.rint((turned[:, :2] * (1, -1) + points[RIGID, :2].mean(0)) * FINE).astype(np.int32)


def _line(mask: np.ndarray, points: np.ndarray, path: np.ndarray, style: Style, closed: bool = False) -> None:
    scale = np.ptp(points[:, 1]) / np.ptp(load_topology().xyz[:, 1])
    cv2.polylines(mask, [path], closed, 255, max(1, round(style.thick * scale * FINE)))
