"""The one pass over full-resolution pixels: texture, tone curve, offset and opacity, from a coarse grid of attributes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array, Image
from realtime.vision.mesh.maths import kernel
from realtime.vision.mesh.raster import CHANNELS

LANE: Final = np.uint64(0x00FF00FF00FF00FF)
HALF: Final = np.uint64(0x0080008000800080)


def pack(texture: Image) -> Array:
    """(S, S, 3) uint8 BGR -> (S, S) uint64 with one channel in each of the 16-bit lanes, blue lowest.

    A product with a weight of 0..256 stays inside its lane, so that one multiplication serves all channels.
    """
    lanes = texture.astype(np.uint64)
    return np.ascontiguousarray(lanes[..., 0] | lanes[..., 1] << np.uint64(16) | lanes[..., 2] << np.uint64(32))


@kernel
def fetch(texture: Array, u: int, v: int) -> Any:
    """Bilinear sample; u, v: int texel coordinates with 16 fractional bits, 0 <= texel < S - 1. Result in the low byte of each lane."""
    x, y = u >> 16, v >> 16
    fx, fy = (u >> 8) & 255, (v >> 8) & 255
    both = (fx * fy + 128) >> 8
    total = texture[y, x] * np.uint64(256 - fx - fy + both) + texture[y, x + 1] * np.uint64(fx - both)
    total += texture[y + 1, x] * np.uint64(fy - both) + texture[y + 1, x + 1] * np.uint64(both)
    return ((total + HALF) >> np.uint64(8)) & LANE


@kernel
def paint(nodes: Array, step: int, texture: Array, curve: Array, colour: Array, alpha: Array) -> None:
    """Fill a patch from the grid's nodes.

    nodes: (rows, columns, CHANNELS) as in `raster`, `step` pixels apart, reaching at least over the patch; texture: packed (S, S);
    curve: (3, 256) int32 levels * 64; colour: (h, w, 3) uint8 out, written only where the opacity can be more than zero;
    alpha: (h, w) uint8 out, written everywhere.
    """
    scale = np.empty(CHANNELS, np.float32)
    scale[0] = scale[1] = len(texture) * 65536.0
    scale[2] = scale[3] = scale[4] = 64.0 * 256.0
    scale[5] = 255.0 * 65536.0
    shift = np.zeros(CHANNELS, np.float32)
    shift[0] = shift[1] = -32768.0
    high = np.float32((len(texture) - 1.01) * 65536.0)
    corners = np.empty((4, CHANNELS), np.float32)
    for row in range((alpha.shape[0] + step - 1) // step):
        for column in range((alpha.shape[1] + step - 1) // step):
            y, x = row * step, column * step
            if nodes[row, column, 5] + nodes[row, column + 1, 5] + nodes[row + 1, column, 5] + nodes[row + 1, column + 1, 5] <= 0:
                alpha[y : y + step, x : x + step] = 0
                continue
            for c in range(CHANNELS):
                corners[0, c] = nodes[row, column, c] * scale[c] + shift[c]
                corners[1, c] = nodes[row, column + 1, c] * scale[c] + shift[c]
                corners[2, c] = nodes[row + 1, column, c] * scale[c] + shift[c]
                corners[3, c] = nodes[row + 1, column + 1, c] * scale[c] + shift[c]
            for i in range(4):
                for c in range(2):
                    corners[i, c] = min(max(corners[i, c], np.float32(0.0)), high)
            _cell(corners, step, texture, curve, colour[y : y + step, x : x + step], alpha[y : y + step, x : x + step])


@kernel
def _cell(corners: Array, step: int, texture: Array, curve: Array, colour: Array, alpha: Array) -> None:
    """One cell: attributes are bilinear between its corners (top left, top right, bottom left, bottom right), in fixed point."""
    inverse = np.float32(1.0) / np.float32(step)
    for i in range(alpha.shape[0]):
        t = np.float32(i) * inverse
        u, du = _row(corners, 0, t, inverse)
        v, dv = _row(corners, 1, t, inverse)
        b, db = _row(corners, 2, t, inverse)
        g, dg = _row(corners, 3, t, inverse)
        r, dr = _row(corners, 4, t, inverse)
        a, da = _row(corners, 5, t, inverse)
        for j in range(alpha.shape[1]):
            texel = fetch(texture, u, v)
            colour[i, j, 0] = _level(curve[0, texel & np.uint64(255)] + (b >> 8))
            colour[i, j, 1] = _level(curve[1, (texel >> np.uint64(16)) & np.uint64(255)] + (g >> 8))
            colour[i, j, 2] = _level(curve[2, (texel >> np.uint64(32)) & np.uint64(255)] + (r >> 8))
            alpha[i, j] = min(max(a >> 16, 0), 255)
            u += du
            v += dv
            b += db
            g += dg
            r += dr
            a += da


@kernel
def _row(corners: Array, channel: int, t: np.float32, inverse: np.float32) -> Any:
    left = corners[0, channel] + (corners[2, channel] - corners[0, channel]) * t
    right = corners[1, channel] + (corners[3, channel] - corners[1, channel]) * t
    return np.int64(left), np.int64((right - left) * inverse)


@kernel
def _level(value: int) -> Any:
    return np.uint8(min(max((value + 32) >> 6, 0), 255))
