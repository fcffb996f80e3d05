"""The plane of a pair of glasses in front of the eyes, unfolded by the head's pose into a small picture in which every pair lies alike.

Not by the mesh: rims stand a centimetre or two before the skin, and on a turned head in front of another part of it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel
from realtime.vision.mesh.pose import fit_pose
from realtime.vision.mesh.topology import smoothstep

WIDTH, HEIGHT = 128, 48
TEXEL: Final = 0.13
"""What a texel measures, in canonical units (about centimetres)."""
EYE = (3.2, 2.6)
"""Centre of an eye in canonical units: beside the middle of the face, and up."""
ABOVE: Final = 3.0
"""Units from there to the picture's upper edge."""
BEFORE, BOW = 5.2, 0.035
"""How far in front the glasses are in the middle, and how fast they bend back towards the temples: z = BEFORE - BOW * x * x."""
ANGLES, RADII, FLANK = 40, 18, 6
"""Rays around each eye, the places on each where a rim may be, and how many more lie on either side of those."""
NEAR_RIM, FAR_RIM = (2.0, 1.65, 1.7, 1.0), (3.5, 3.0, 3.3, 2.25)
"""Nearest and farthest a rim can be from the middle of the eye, in units: outwards, inwards, down, up. Nearer lie lids, bags and brows."""


class Window(NamedTuple):
    """What does not change from frame to frame. H = HEIGHT, W = WIDTH."""

    rays: Array
    """(2, ANGLES, RADII + 2 * FLANK, 2) float32 texel x and y on the rays around each eye, from outwards by way of down to inwards."""
    polar: Array
    """(2, H, W, 2) float32 of every texel as seen from each eye: the ray, and the place on it (0..RADII - 1 where a rim may be)."""
    lens: Array
    """(2, H, W) float32 0..1: the inside of each lens."""


def new_window() -> Window:
    x, y = _units()
    inner = np.stack([_oval(x - side * EYE[0], y, side, (1.75, 1.55, 1.45, 1.05), 0.15) for side in (-1, 1)])
    single = np.float32
    return Window(_rays().astype(single), _polar(x, y).astype(single), inner.astype(single))


def _units() -> tuple[Array, Array]:
    """Of every texel: units to the image's right of the middle of the face, and below the middle of the eyes."""
    x, y = np.meshgrid((np.arange(WIDTH) - 0.5 * (WIDTH - 1)) * TEXEL, (np.arange(HEIGHT) + 0.5) * TEXEL - ABOVE)
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
    eyes = []
    for side in (-1, 1):
        x = 0.5 * (WIDTH - 1) + side * (EYE[0] + out[:, None] * reach) / TEXEL
        y = (ABOVE + down[:, None] * reach) / TEXEL - 0.5
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
def place(points: Array, xyz: Array, rigid: Array, rotation: Array, view: Array) -> None:
    """Where the head's canonical places are in the picture: view (2, 4) float32, pixel x and y as an offset and shares of x, y and z.

    points: (V, 3) landmarks; xyz, rigid, rotation: as in `fit_pose`.
    """
    scale = fit_pose(points, xyz, rigid, rotation)
    for axis in range(2):
        size = scale if axis == 0 else -scale
        view[axis, 0] = np.float32(0.0)
        for n in range(3):
            view[axis, n + 1] = size * rotation[n, axis]
        for v in rigid:
            away = points[v, axis]
            for n in range(3):
                away -= view[axis, n + 1] * xyz[v, n]
            view[axis, 0] += away / np.float32(len(rigid))


@kernel
def unfold(image: Array, view: Array, out: Array) -> None:
    """Fill `out` (H, W, 3) float32 with BGR levels: means of four pixels about a texel apart.

    image: BGR; view: of `place`.
    """
    height, width = image.shape[0] - 1, image.shape[1] - 1
    reach = max(np.float32(0.25) * texel_size(view), np.float32(0.25))
    for row in range(HEIGHT):
        for column in range(WIDTH):
            px, py = _pixel(view, np.float32(column), np.float32(row))
            x, y = px + np.float32(0.5), py + np.float32(0.5)
            left, right = min(max(int(x - reach), 0), width), min(max(int(x + reach), 0), width)
            top, bottom = min(max(int(y - reach), 0), height), min(max(int(y + reach), 0), height)
            for c in range(3):
                total = np.int32(image[top, left, c]) + np.int32(image[top, right, c])
                total += np.int32(image[bottom, left, c]) + np.int32(image[bottom, right, c])
                out[row, column, c] = np.float32(0.25) * np.float32(total)


@helper
def _pixel(view: Array, column: np.float32, row: np.float32) -> Any:
    """Where a texel is in the picture, pixels."""
    x = (column - np.float32(0.5 * (WIDTH - 1))) * np.float32(TEXEL)
    y = np.float32(EYE[1] + ABOVE) - (row + np.float32(0.5)) * np.float32(TEXEL)
    z = np.float32(BEFORE) - np.float32(BOW) * x * x
    px = view[0, 0] + view[0, 1] * x + view[0, 2] * y + view[0, 3] * z
    py = view[1, 0] + view[1, 1] * x + view[1, 2] * y + view[1, 3] * z
    return px, py


@helper
def texel_size(view: Array) -> Any:
    """Pixels that a texel measures where the glasses face the camera."""
    square = np.float32(0.0)
    for n in range(1, 4):
        square += view[0, n] * view[0, n]
    return np.float32(TEXEL) * np.sqrt(square)


@helper
def texel_at(view: Array, px: np.float32, py: np.float32) -> Any:
    """The texel that is seen at a pixel: column and row, and their change a pixel to the right and a pixel down (four more values).

    By Newton's iteration: the glasses bend little, so three steps leave less than a hundredth of a texel.
    """
    column, row = np.float32(0.5 * (WIDTH - 1)), np.float32(0.5 * (HEIGHT - 1))
    a = b = c = d = np.float32(0.0)
    for _ in range(3):
        x, y = _pixel(view, column, row)
        bent = np.float32(-2.0 * BOW * TEXEL) * (column - np.float32(0.5 * (WIDTH - 1)))
        xx, xy = np.float32(TEXEL) * (view[0, 1] + bent * view[0, 3]), np.float32(-TEXEL) * view[0, 2]
        yx, yy = np.float32(TEXEL) * (view[1, 1] + bent * view[1, 3]), np.float32(-TEXEL) * view[1, 2]
        whole = xx * yy - xy * yx
        inverse = np.float32(1.0) / (whole if abs(whole) > np.float32(1e-4) else np.float32(1e-4))
        a, b, c, d = yy * inverse, -xy * inverse, -yx * inverse, xx * inverse
        column += a * (px - x) + b * (py - y)
        row += c * (px - x) + d * (py - y)
    return column, row, a, b, c, d


@kernel
def outline(points: Array, parts: Array, view: Array, out: Array) -> None:
    """out (2, n, 2) float32: the texels at which the vertices `parts` (2, n) int32 are seen.

    points: (V, 3) landmarks; view: of `place`."""
    for part in range(parts.shape[0]):
        for n in range(parts.shape[1]):
            v = parts[part, n]
            out[part, n, 0], out[part, n, 1], _, _, _, _ = texel_at(view, points[v, 0], points[v, 1])
