"""The one pass over full-resolution pixels: texture, tone curve, offset and opacity, from a coarse grid of attributes.

Several values travel in the bit lanes of one unsigned 64-bit integer, so that one addition steps them all and one multiplication
weighs all colour channels of a texel. Lanes never borrow from each other because every lane stays non-negative.

| word | lanes, lowest first | fixed point |
|---|---|---|
| texel | blue, green, red, 16 bits each | levels |
| place | u, v, 32 bits each | texels, 16 fractional bits |
| shade | blue, green, red offset, opacity, 16 bits each | (levels + 256) * 64; opacity * 128, one level more than wanted |
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array, Image
from realtime.vision.mesh.maths import kernel

U: Final = np.uint64
ROUND: Final = np.uint64(0x0080008000800080)
TONE_SCALE: Final = 64
"""Fixed point of tones and offsets: 1/64 level."""
BIAS: Final = 256
"""Levels added to an offset to keep its lane positive."""
CLIP: Final = np.clip(np.arange(1024) - BIAS, 0, 255).astype(np.uint8)
"""Biased level -> pixel."""


def pack(texture: Image) -> Array:
    """(S, S, 3) uint8 BGR -> (S, S) uint64 texels."""
    lanes = texture.astype(np.uint64)
    return np.ascontiguousarray(lanes[..., 0] | lanes[..., 1] << U(16) | lanes[..., 2] << U(32))


@kernel
def pack_curve(curve: Array, tones: Array) -> None:
    """(3, 256) float32 levels -> (3, 256) uint64, each channel in its own lane."""
    for c in range(3):
        for level in range(256):
            tones[c, level] = U(int(curve[c, level] * np.float32(TONE_SCALE) + np.float32(0.5))) << U(16 * c)


@kernel
def paint(nodes: Array, step: int, texture: Array, tones: Array, colour: Array, alpha: Array) -> None:
    """Fill a patch from the grid's nodes; attributes are bilinear inside each cell.

    nodes: (rows, columns, CHANNELS) as in `raster`, `step` pixels apart, reaching at least over the patch; texture: packed (S, S);
    tones: (3, 256) from `pack_curve`; colour: (h, w, 3) uint8 out, written only where the opacity can be more than zero;
    alpha: (h, w) uint8 out, written everywhere.
    """
    height, width = alpha.shape
    texels, flat, pixels, opacity = texture.reshape(-1), tones.reshape(-1), colour.reshape(-1), alpha.reshape(-1)
    for at in range(len(opacity)):
        opacity[at] = 0
    for row in range((height + step - 1) // step):
        for column in range((width + step - 1) // step):
            a, b = nodes[row, column], nodes[row, column + 1]
            c, d = nodes[row + 1, column], nodes[row + 1, column + 1]
            if a[5] + b[5] + c[5] + d[5] > 0:
                place, shade = _place(a, b, c, d, step, len(texture)), _shade(a, b, c, d, step)
                y, x = row * step, column * step
                first, rows, columns = y * width + x, min(step, height - y), min(step, width - x)
                _cell(place, shade, texels, len(texture), flat, pixels, opacity, first, width, rows, columns)


@kernel
def _place(a: Array, b: Array, c: Array, d: Array, step: int, size: int) -> Any:
    """Texture place at the first pixel, its change per column, per row, and per both, from the corners' u and v (0..1)."""
    start, across, down, both = U(0), U(0), U(0), U(0)
    inverse, scale = np.float32(1.0) / np.float32(step), np.float32(size * 65536.0)
    low, high = np.float32(256.0), np.float32((size - 1.01) * 65536.0)
    for k in range(2):
        p = min(max(a[k] * scale - np.float32(32768.0), low), high)
        q = min(max(b[k] * scale - np.float32(32768.0), low), high)
        r = min(max(c[k] * scale - np.float32(32768.0), low), high)
        s = min(max(d[k] * scale - np.float32(32768.0), low), high)
        lane = U(32 * k)
        start += U(np.int64(p)) << lane
        across += U(np.int64((q - p) * inverse)) << lane
        down += U(np.int64((r - p) * inverse)) << lane
        both += U(np.int64((s - r - q + p) * inverse * inverse)) << lane
    return start, across, down, both


@kernel
def _shade(a: Array, b: Array, c: Array, d: Array, step: int) -> Any:
    """The same for offsets (levels) and opacity (0..1)."""
    start, across, down, both = U(0), U(0), U(0), U(0)
    inverse = np.float32(1.0) / np.float32(step)
    for k in range(4):
        scale = np.float32(TONE_SCALE) if k < 3 else np.float32(255 * 128)
        bias = np.float32((BIAS + 0.5) * TONE_SCALE) if k < 3 else np.float32(128)
        p, q, r, s = a[k + 2], b[k + 2], c[k + 2], d[k + 2]
        lane = U(16 * k)
        start += U(np.int64(p * scale + bias)) << lane
        across += U(np.int64((q - p) * inverse * scale)) << lane
        down += U(np.int64((r - p) * inverse * scale)) << lane
        both += U(np.int64((s - r - q + p) * inverse * inverse * scale)) << lane
    return start, across, down, both


@kernel
def _cell(
    place: Any,
    shade: Any,
    texels: Array,
    side: int,
    tones: Array,
    pixels: Array,
    opacity: Array,
    first: int,
    width: int,
    rows: int,
    columns: int,
) -> None:
    """One cell of rows x columns pixels, the first of them at index `first` of the flat patch."""
    size = U(side)
    place_row, place_step, place_down, place_both = place
    shade_row, shade_step, shade_down, shade_both = shade
    row = U(first)
    for _ in range(rows):
        uv, light = place_row, shade_row
        for j in range(columns):
            # weights of the four texels, summing to 256: no lane overflows
            fx, fy = (uv >> U(8)) & U(255), (uv >> U(40)) & U(255)
            corner = (fx * fy + U(128)) >> U(8)
            at = (uv >> U(48)) * size + ((uv >> U(16)) & U(0xFFFF))
            texel = texels[at] * (U(256) - fx - fy + corner) + texels[at + U(1)] * (fx - corner) + ROUND
            at += size
            texel += texels[at] * (fy - corner) + texels[at + U(1)] * corner
            sums = light + tones[(texel >> U(8)) & U(255)]
            sums += tones[U(256) + ((texel >> U(24)) & U(255))] + tones[U(512) + ((texel >> U(40)) & U(255))]
            pixel = row + U(j)
            pixels[pixel * U(3)] = CLIP[(sums >> U(6)) & U(1023)]
            pixels[pixel * U(3) + U(1)] = CLIP[(sums >> U(22)) & U(1023)]
            pixels[pixel * U(3) + U(2)] = CLIP[(sums >> U(38)) & U(1023)]
            level = np.int64(light >> U(55))
            opacity[pixel] = level - 1 if level > 0 else 0
            uv += place_step
            light += shade_step
        row += U(width)
        place_row += place_down
        place_step += place_both
        shade_row += shade_down
        shade_step += shade_both
