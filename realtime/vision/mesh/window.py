"""The surroundings of the eyes, unfolded by the mesh into a small picture in which every face's eyes lie in the same places."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import kernel
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.topology import Topology, smoothstep

WIDTH, HEIGHT = 128, 48
LEFT, TOP, TEXEL = 0.08, 0.205, 0.84 / 128
"""Corner in texture coordinates, and what a texel measures there."""
UNIT: Final = 0.047
"""Texture coordinates of one canonical unit (about a centimetre) near the eyes."""
EYE = (3.72, 0.36)
"""Centre of an eye: units from the middle of the face, and v."""
ANGLES, RADII, FLANK = 40, 18, 6
"""Rays around each eye, the places on each where a rim may be, and how many more lie on either side of those."""
NEAR_RIM, FAR_RIM = (2.3, 1.85, 1.75, 1.05), (3.9, 3.4, 3.3, 2.6)
"""Nearest and farthest a rim can be from the middle of the eye, in units: outwards, inwards, down, up. Nearer lie lids, bags and brows."""
FAR_AWAY = 1e9


class Window(NamedTuple):
    """What does not change from frame to frame. H = HEIGHT, W = WIDTH."""

    corners: Array
    """(H, W, 3) int32 vertices of the triangle at each texel."""
    weights: Array
    """(H, W, 3) float32 their shares."""
    rays: Array
    """(2, ANGLES, RADII + 2 * FLANK, 2) float32 texel x and y on the rays around each eye, from outwards by way of down to inwards."""
    polar: Array
    """(2, H, W, 2) float32 of every texel as seen from each eye: the ray, and the place on it (0..RADII - 1 where a rim may be)."""
    lens: Array
    """(2, H, W) float32 0..1: the inside of each lens."""


def new_window(topology: Topology) -> Window:
    corners, weights = _unfold(topology)
    x, y = _units()
    inner = np.stack([_oval(x - side * EYE[0], y, side, (2.0, 1.8, 1.5, 1.1), 0.15) for side in (-1, 1)])
    single = np.float32
    return Window(corners, weights, _rays().astype(single), _polar(x, y).astype(single), inner.astype(single))


def _unfold(topology: Topology) -> tuple[Array, Array]:
    """Triangle corners and barycentric weights at every texel."""
    flat = np.zeros((len(topology.uv), 3), np.float32)
    flat[:, :2] = (topology.uv - (LEFT, TOP)) / TEXEL - 0.5
    grid = new_grid(HEIGHT, WIDTH)
    draw_grid(flat, np.zeros((len(flat), CHANNELS), np.float32), topology.triangles, 0, 0, 1, grid, FAR_AWAY, 4)
    corners = topology.triangles[np.maximum(grid.ids - 1, 0)]
    a, b, c = (flat[corners[..., n], :2] for n in range(3))
    place = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), axis=2).astype(np.float32)
    whole = _cross(b - a, c - a)
    second, third = _cross(place - a, c - a) / whole, _cross(b - a, place - a) / whole
    weights = np.stack([1 - second - third, second, third], axis=2)
    return np.ascontiguousarray(corners, np.int32), np.ascontiguousarray(weights, np.float32)


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _units() -> tuple[Array, Array]:
    """Of every texel: units to the image's right of the middle of the face, and below the middle of the eyes."""
    u, v = LEFT + TEXEL * (np.arange(WIDTH) + 0.5), TOP + TEXEL * (np.arange(HEIGHT) + 0.5)
    x, y = np.meshgrid((u - 0.5) / UNIT, (v - EYE[1]) / UNIT)
    return x, y


def _oval(x: Array, y: Array, side: int, reach: tuple[float, float, float, float], soft: float) -> Array:
    """1 inside an oval that reaches that far outwards, inwards, down and up, fading over `soft` of its size."""
    outwards, inwards, down, up = reach
    size = np.hypot(x / np.where(x * side > 0, outwards, inwards), y / np.where(y > 0, down, up))
    return smoothstep(1.0, 1.0 - soft, size)


def _reach(out: Array, down: Array) -> list[Array]:
    """The nearest and the farthest a rim can be in a direction from the eye."""
    return [
        np.asarray(1 / np.hypot(out / np.where(out > 0, r[0], r[1]), down / np.where(down > 0, r[2], r[3]))) for r in (NEAR_RIM, FAR_RIM)
    ]


def _rays() -> Array:
    angle = np.arange(ANGLES) * (2 * np.pi / ANGLES)
    out, down = np.cos(angle), np.sin(angle)
    near, far = _reach(out, down)
    reach = near[:, None] + (far - near)[:, None] * (np.arange(-FLANK, RADII + FLANK) / (RADII - 1))
    texels = UNIT / TEXEL
    eyes = []
    for side in (-1, 1):
        x = (0.5 + side * UNIT * EYE[0] - LEFT) / TEXEL - 0.5 + side * out[:, None] * reach * texels
        y = (EYE[1] - TOP) / TEXEL - 0.5 + down[:, None] * reach * texels
        eyes.append(np.stack([np.clip(x, 0, WIDTH - 1.01), np.clip(y, 0, HEIGHT - 1.01)], axis=2))
    return np.stack(eyes)


def _polar(x: Array, y: Array) -> Array:
    eyes = []
    for side in (-1, 1):
        out, far = side * x - EYE[0], np.hypot(x - side * EYE[0], y) + 1e-6
        near_rim, far_rim = _reach(out / far, y / far)
        ray = np.arctan2(y, out) % (2 * np.pi) * (ANGLES / (2 * np.pi))
        eyes.append(np.stack([ray, (far - near_rim) / (far_rim - near_rim) * (RADII - 1)], axis=2))
    return np.stack(eyes)


@kernel
def unfold(image: Array, points: Array, corners: Array, weights: Array, out: Array) -> None:
    """Fill `out` (H, W, 3) float32 with BGR levels: means of four pixels about a texel apart.

    image: BGR; points: (V, 3) landmarks in pixels; corners, weights: of `Window`.
    """
    height, width = image.shape[0] - 1, image.shape[1] - 1
    low = high = points[0, 0]
    for v in range(len(points)):
        low, high = min(low, points[v, 0]), max(high, points[v, 0])
    reach = max(np.float32(0.0025) * (high - low), np.float32(0.25))
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            x = y = np.float32(0.5)
            for n in range(3):
                v, share = corners[row, column, n], weights[row, column, n]
                x += share * points[v, 0]
                y += share * points[v, 1]
            left, right = min(max(int(x - reach), 0), width), min(max(int(x + reach), 0), width)
            top, bottom = min(max(int(y - reach), 0), height), min(max(int(y + reach), 0), height)
            for c in range(3):
                total = np.int32(image[top, left, c]) + np.int32(image[top, right, c])
                total += np.int32(image[bottom, left, c]) + np.int32(image[bottom, right, c])
                out[row, column, c] = np.float32(0.25) * np.float32(total)
