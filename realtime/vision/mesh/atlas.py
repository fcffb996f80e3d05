"""The source photo unwrapped into a texture: done once for each person, so written for clarity rather than speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from realtime.types import Array, Floats, Image
from realtime.vision.mesh.light import TERMS, fit_light, light_basis
from realtime.vision.mesh.paint import pack
from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.shade import Source
from realtime.vision.mesh.topology import Topology, smoothed, smoothstep

SIZE = 512
"""Side of the atlas in texels."""
SMALLEST = 64
FAR = 1e9


@dataclass(frozen=True)
class View:
    """One photo unwrapped: texture (S, S, 3) float32 levels, visible (S, S) float32 0..1, normals (V, 3) in camera axes."""

    texture: Floats
    visible: Floats
    normals: Floats


@dataclass(frozen=True)
class Atlas:
    """A fitted person: the texture at several scales, packed as `paint` wants it (largest first), and the vertex data."""

    levels: tuple[Array, ...]
    source: Source


def build_atlas(photos: Sequence[tuple[Image, Floats]], topology: Topology) -> Atlas:
    """photos: (BGR image, (V, 3) landmarks in its pixels), all of one person, at least one."""
    views = [unwrap(image, points, topology) for image, points in photos]
    texture = complete(*merge(views))
    levels = pyramid(texture)
    normals = views[int(np.argmax([view.visible.mean() for view in views]))].normals
    return Atlas(tuple(pack(level) for level in levels), describe(levels, normals, topology))


def unwrap(image: Image, points: Floats, topology: Topology) -> View:
    """Project the photo onto the mesh and unfold it."""
    rotation = np.empty((3, 3), np.float32)
    fit_pose(points, topology.xyz, RIGID, rotation)
    normals = topology.normals @ rotation
    attributes = np.zeros((len(points), CHANNELS), np.float32)
    attributes[:, :2] = points[:, :2]
    attributes[:, 2] = smoothstep(0.1, 0.45, normals[:, 2])
    flat = np.zeros((len(points), 3), np.float32)
    flat[:, :2] = topology.uv * SIZE - 0.5
    grid = new_grid(SIZE, SIZE)
    draw_grid(flat, attributes, topology.triangles, 0.0, 0.0, 1, grid, FAR, SIZE // 40)
    where = np.ascontiguousarray(grid.nodes[..., :2])
    texture = cv2.remap(image, where, None, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE)
    return View(texture.astype(np.float32), np.clip(grid.nodes[..., 2], 0, 1), normals)


def merge(views: Sequence[View]) -> tuple[Floats, Floats]:
    """Average the photos, each texel mostly from those that saw it best; all are brought to the light of the best one first."""
    best = max(views, key=lambda view: float(view.visible.mean()))
    total, weight = np.zeros_like(best.texture), np.full_like(best.visible, 1e-6)
    for view in views:
        share = cv2.GaussianBlur(view.visible, (0, 0), 6.0) ** 4
        total += share[..., None] * (view.texture + _light_step(view, best))
        weight += share
    return total / weight[..., None], np.max([view.visible for view in views], axis=0)


def _light_step(view: View, best: View) -> Floats:
    """Difference of the low-frequency colours of two photos, from where both see the face."""
    if view is best:
        return np.zeros_like(best.texture)
    both = np.minimum(view.visible, best.visible)
    mean = _low(both) + 1e-2
    return np.asarray(_low((best.texture - view.texture) * both[..., None]) / mean[..., None])


def _low(image: Array) -> Floats:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), SIZE / 13))


def complete(texture: Floats, visible: Floats) -> Image:
    """Fill what the photos do not show from the other half of the face, only where that is seen better. Returns (S, S, 3) uint8."""
    own = cv2.GaussianBlur(visible, (0, 0), SIZE / 57)
    own = np.maximum(own, 1 - own[:, ::-1])[..., None]
    mirrored, mirrored_own = texture[:, ::-1], own[:, ::-1]
    step = _low(texture * own) / (_low(own)[..., None] + 1e-3) - _low(mirrored * mirrored_own) / (_low(mirrored_own)[..., None] + 1e-3)
    return np.asarray(np.clip(texture * own + (mirrored + step) * (1 - own) + 0.5, 0, 255).astype(np.uint8))


def pyramid(texture: Image) -> list[Image]:
    """Each level smaller by the square root of two, down to SMALLEST."""
    sides = [round(len(texture) / 2 ** (step / 2)) for step in range(20)]
    return [cv2.resize(texture, (side, side), interpolation=cv2.INTER_AREA) for side in sides if side >= SMALLEST]


def describe(levels: Sequence[Image], normals: Floats, topology: Topology) -> Source:
    """The vertex colours of the atlas, their light, and where it shows skin. Thresholds in levels, chosen by eye."""
    small = cv2.GaussianBlur(levels[4], (0, 0), 1.5).astype(np.float32)
    where = (topology.uv * len(small) - 0.5)[None]
    colour = np.ascontiguousarray(cv2.remap(small, where, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[0])
    basis = np.empty((len(colour), TERMS), np.float32)
    coefficients, residual = np.empty((TERMS, 3), np.float32), np.empty_like(colour)
    light_basis(normals, basis)
    fit_light(colour, basis, topology.skin, 14.0, coefficients, residual)
    fit = basis @ coefficients
    mean = np.clip(topology.skin @ fit / topology.skin.sum(), 8, 247)
    error = (residual**2).sum(1)
    alpha = topology.feather * (1 - smoothstep(0.25, 0.55, _hair(error, topology)))
    ring, membrane = _membrane(alpha, topology.laplacian)
    return Source(
        colour=colour,
        fit=fit,
        mean=mean.astype(np.float32),
        weight=_skin_likeness(error, topology).astype(np.float32),
        alpha=alpha.astype(np.float32),
        ring=ring,
        membrane=membrane,
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
