"""What the swap needs to know about a source's texture at the vertices: colours, light, what is skin and what is not."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from realtime.types import Array, Floats, Image
from realtime.vision.mesh import indices
from realtime.vision.mesh.light import TERMS, fit_light, light_basis
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.shade import Source
from realtime.vision.mesh.topology import Topology, smoothed, smoothstep

SIDE = 128
"""Side in texels of the small copies on which skin is told from hair and filled in."""
FAR = 1e9
BRIGHTNESS_KEPT, COLOUR_KEPT = 0.35, 0.06
"""Natural logarithms of the differences in brightness and in the mix of colours that belong to the face, not to its light."""


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
    fit, depth, plain, _ = _at_texels(light, topology)
    small = cv2.resize(texture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    strange = cv2.GaussianBlur(_strangeness(small, fit), (0, 0), 1.0)
    hidden = smoothstep(0.8, 0.2, cv2.resize(seen, (SIDE, SIDE), interpolation=cv2.INTER_AREA)) * smoothstep(6.0, 4.0, depth)
    other = np.maximum(smoothstep(5.2, 3.5, depth) * plain * smoothstep(0.7, 1.5, strange), hidden)
    keep = cv2.erode((1 - other).astype(np.float32), None)
    keep = (cv2.GaussianBlur(keep, (0, 0), 1.0) * (depth >= 0)).astype(np.float32)
    skin = fit + _spread(small - fit, keep**2, (2.0, 5.0, 12.0))
    weight = cv2.resize(keep, texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)[..., None]
    smooth = cv2.resize(skin, texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(texture * weight + smooth * (1 - weight), 0, 255), np.float32)


def even_light(texture: Floats, light: Light, topology: Topology) -> Image:
    """Take strong light of the photo's own off the skin: broad differences of brightness, and of colour, beyond what faces have.

    The frame's light is put on later by adding to colours; a photo lit hard from one side or in two colours would turn blotchy there.
    Colours are followed more closely than brightness, which makes the shape: shaded parts of dark skin are much redder than lit ones, and
    would be orange patches on a pale face.
    """
    _, _, _, skin = _at_texels(light, topology)
    small = cv2.resize(texture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    broad = _spread(small, skin + 1e-4, (6.0, 14.0)) + 4
    mean = (broad * skin[..., None]).sum((0, 1)) / skin.sum()
    near = _spread(small, skin + 1e-4, (2.5, 6.0, 14.0)) + 4
    brightness, colour = np.log(mean / broad).mean(2, keepdims=True), np.log(mean / near)
    colour -= colour.mean(2, keepdims=True)
    gain = np.exp(_beyond(brightness, BRIGHTNESS_KEPT) + _beyond(colour, COLOUR_KEPT)).astype(np.float32)
    full = cv2.resize(gain, texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(texture * full + 0.5, 0, 255).astype(np.uint8))


def _beyond(values: Array, limit: float) -> Array:
    """What exceeds the limit either way, at most a factor of two (in logarithms)."""
    return np.asarray(np.clip(values - np.clip(values, -limit, limit), -np.log(2), np.log(2)))


def _strangeness(colour: Floats, skin: Floats) -> Floats:
    """How unlike skin under this light: 1 for two thirds of the expected brightness, or a tenth more or less of blue or red in the mix."""
    brightness, expected = colour.sum(2) + 12, skin.sum(2) + 12
    light = np.log(brightness / expected)
    light = np.where(light < 0, light / 0.4, light / 1.2)  # highlights are skin
    mix = (colour + 4) / brightness[..., None] - (skin + 4) / expected[..., None]
    return np.asarray(np.sqrt(light**2 + (mix[..., 0] ** 2 + mix[..., 2] ** 2) / 0.07**2), np.float32)


def _at_texels(light: Light, topology: Topology) -> tuple[Floats, Floats, Floats, Floats]:
    """The light (SIDE, SIDE, 3), the distance to the oval (negative beyond it) and where plain skin is expected,
    at the border and inside, at every texel."""
    attributes = np.zeros((len(topology.uv), CHANNELS), np.float32)
    attributes[:, :3], attributes[:, 3] = light.fit, topology.depth + 1
    features = [*indices.LEFT_BROW, *indices.RIGHT_BROW, *indices.LEFT_EYE, *indices.RIGHT_EYE, *indices.OUTER_LIPS]
    to_features = np.linalg.norm(topology.xyz[:, None] - topology.xyz[features][None], axis=2).min(1)
    attributes[:, 4] = smoothstep(-5.0, -3.5, topology.xyz[:, 1]) * smoothstep(0.4, 1.2, to_features)
    attributes[:, 5] = topology.skin
    flat = np.zeros((len(topology.uv), 3), np.float32)
    flat[:, :2] = topology.uv * SIDE - 0.5
    grid = new_grid(SIDE, SIDE)
    draw_grid(flat, attributes, topology.triangles, 0, 0, 1, grid, FAR, SIDE // 16)
    inside = grid.depth < FAR
    nodes = grid.nodes
    return nodes[..., :3].copy(), np.where(inside, nodes[..., 3] - 1, -1), nodes[..., 4].copy(), nodes[..., 5].copy()


def _spread(values: Floats, weight: Floats, sigmas: tuple[float, ...]) -> Floats:
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
