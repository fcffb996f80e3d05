"""What the swap needs to know about a source's texture at the vertices: colours, light, what is skin and what is not."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from realtime.types import Array, Floats
from realtime.vision.mesh import indices
from realtime.vision.mesh.light import TERMS, fit_light, light_basis
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.shade import Source
from realtime.vision.mesh.topology import Topology, smoothed, smoothstep

SIDE = 128
"""Side in texels of the small copies on which skin is told from hair and filled in."""
FAR = 1e9


class Light(NamedTuple):
    """The texture's colours (V, 3), their low-order light (V, 3), and the squared distance between the two (V,)."""

    colour: Floats
    fit: Floats
    error: Floats


def fit_texture(texture: Floats, normals: Floats, topology: Topology) -> Light:
    """texture: (S, S, 3); normals: (V, 3) of the head in the photo."""
    small = cv2.GaussianBlur(cv2.resize(texture, (SIDE, SIDE), interpolation=cv2.INTER_AREA), (0, 0), 1.5)
    where = (topology.uv * SIDE - 0.5)[None]
    colour = cv2.remap(small, where, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[0]
    basis = np.empty((len(colour), TERMS), np.float32)
    coefficients, residual = np.empty((TERMS, 3), np.float32), np.empty((len(colour), 3), np.float32)
    light_basis(normals, basis)
    fit_light(np.ascontiguousarray(colour), basis, topology.skin, 14.0, coefficients, residual)
    return Light(np.ascontiguousarray(colour), basis @ coefficients, (residual**2).sum(1))


def fill_skin(texture: Floats, seen: Floats, light: Light, topology: Topology) -> Floats:
    """Replace what is not skin along the border (hair, ears, background seen past the cheek) by the skin around it.

    texture: (S, S, 3); seen: (S, S) 0..1, how well the photo shows each texel. Beards, below the mouth, are left.
    Thresholds in canonical units and as in `_strangeness`, chosen by eye.
    """
    fit, depth, plain = _at_texels(light, topology)
    small = cv2.resize(texture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    strange = cv2.GaussianBlur(_strangeness(small, fit), (0, 0), 1.0)
    hidden = smoothstep(0.8, 0.2, cv2.resize(seen, (SIDE, SIDE), interpolation=cv2.INTER_AREA)) * smoothstep(6.0, 4.0, depth)
    other = np.maximum(smoothstep(5.2, 3.5, depth) * plain * smoothstep(0.7, 1.5, strange), hidden)
    keep = cv2.erode((1 - other).astype(np.float32), None)
    keep = (cv2.GaussianBlur(keep, (0, 0), 1.0) * (depth >= 0)).astype(np.float32)
    skin = fit + spread(small - fit, keep**2, (2.0, 5.0, 12.0))
    weight = cv2.resize(keep, texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)[..., None]
    smooth = cv2.resize(skin, texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(texture * weight + smooth * (1 - weight), 0, 255), np.float32)


def _strangeness(colour: Floats, skin: Floats) -> Floats:
    """How unlike skin under this light: 1 for two thirds of the expected brightness, or a tenth more or less of blue or red in the mix."""
    brightness, expected = colour.sum(2) + 12, skin.sum(2) + 12
    light = np.log(brightness / expected)
    light = np.where(light < 0, light / 0.4, light / 1.2)  # highlights are skin
    mix = (colour + 4) / brightness[..., None] - (skin + 4) / expected[..., None]
    return np.asarray(np.sqrt(light**2 + (mix[..., 0] ** 2 + mix[..., 2] ** 2) / 0.07**2), np.float32)


def _at_texels(light: Light, topology: Topology) -> tuple[Floats, Floats, Floats]:
    """The light (SIDE, SIDE, 3), the distance to the oval (negative beyond it) and where plain skin is expected at the border, at every
    texel."""
    features = indices.LEFT_BROW + indices.RIGHT_BROW + indices.LEFT_EYE + indices.RIGHT_EYE + indices.OUTER_LIPS
    plain = smoothstep(-5.0, -3.5, topology.xyz[:, 1]) * smoothstep(0.4, 1.2, distance(topology, features))
    drawn, inside = at_texels(np.column_stack([light.fit, topology.depth, plain]), topology)
    return drawn[..., :3].copy(), np.where(inside, drawn[..., 3], -1), drawn[..., 4].copy()


def distance(topology: Topology, part: tuple[int, ...]) -> Floats:
    """(V,) from each vertex to the nearest of some, in canonical units."""
    return np.asarray(np.linalg.norm(topology.xyz[:, None] - topology.xyz[list(part)][None], axis=2).min(1))


def at_texels(values: Array, topology: Topology) -> tuple[Floats, Array]:
    """(V, n) values of the vertices -> (SIDE, SIDE, n) of the texels and of some beyond the face, and (SIDE, SIDE) bool, which are on it.

    n is CHANNELS at most.
    """
    count = values.shape[1]
    attributes = np.zeros((len(topology.uv), CHANNELS), np.float32)
    attributes[:, :count] = values
    flat = np.zeros((len(topology.uv), 3), np.float32)
    flat[:, :2] = topology.uv * SIDE - 0.5
    grid = new_grid(SIDE, SIDE)
    draw_grid(flat, attributes, topology.triangles, 0, 0, 1, grid, FAR, SIDE // 16)
    return grid.nodes[..., :count].copy(), grid.depth < FAR


def spread(values: Floats, weight: Floats, sigmas: tuple[float, ...]) -> Floats:
    """Weighted means of ever wider neighbourhoods, each filling what the narrower ones do not reach."""
    total, reach = np.zeros_like(values), np.zeros_like(weight)
    for sigma in sigmas:
        share = cv2.GaussianBlur(weight, (0, 0), sigma)
        mean = cv2.GaussianBlur(values * weight[..., None], (0, 0), sigma) / (share[..., None] + 1e-4)
        step = np.clip(share * 4, 0, 1) * (1 - reach)
        total += mean * step[..., None]
        reach += step
    return total


def describe(light: Light, blur: float, shape: Floats, topology: Topology) -> Source:
    """blur: of the photo's edges as a share of the face's height; shape: (V, 3) as in `Source`."""
    mean = np.clip(topology.skin @ light.fit / topology.skin.sum(), 8, 247)
    alpha = topology.feather * (1 - smoothstep(0.25, 0.55, _hair(light.error, topology)))
    ring, membrane = _membrane(alpha, topology.laplacian)
    return Source(
        colour=light.colour,
        fit=light.fit,
        mean=mean.astype(np.float32),
        weight=_skin_likeness(light.error, topology).astype(np.float32),
        alpha=alpha.astype(np.float32),
        ring=ring,
        membrane=membrane,
        blur=np.array([blur], np.float32),
        shape=shape,
    )


def _skin_likeness(error: Floats, topology: Topology) -> Array:
    """Strict below the mouth, where a beard must stay out of the colour match."""
    strict = np.exp(-error / (3 * 2 * 28.0**2))
    return np.asarray(np.where(topology.xyz[:, 1] > -2.5, np.exp(-error / (6 * 45.0**2)), strict))


def _hair(error: Floats, topology: Topology) -> Array:
    """Near the border and above the jaw, colours far from the skin's are hair or background that must not be painted."""
    edge = smoothstep(4.0, 2.0, topology.depth) * (topology.xyz[:, 1] > -4)
    return smoothed(topology.links, (1 - np.exp(-error / (6 * 40.0**2))) * edge, 4)


def _membrane(alpha: Array, laplacian: Array) -> tuple[Array, Floats]:
    """The ring (R,) of vertices in the feather, and the (V, R) matrix that spreads their values harmonically over the rest."""
    ring, free = np.flatnonzero(alpha < 0.7), np.flatnonzero(alpha >= 0.7)
    matrix = np.zeros((len(alpha), len(ring)), np.float32)
    matrix[ring] = np.eye(len(ring))
    matrix[free] = np.linalg.solve(laplacian[np.ix_(free, free)], -laplacian[np.ix_(free, ring)])
    return ring.astype(np.int32), matrix
