"""The source photo unwrapped into a texture: done once for each person, so written for clarity rather than speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from realtime.types import Array, Floats, Image
from realtime.vision.mesh.describe import FAR, describe, fill_skin, fit_texture
from realtime.vision.mesh.even import even_light
from realtime.vision.mesh.paint import pack
from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.shade import Source
from realtime.vision.mesh.shape import own_shape
from realtime.vision.mesh.sharpness import edge_blur
from realtime.vision.mesh.topology import Topology, smoothstep

SIZE = 512
"""Side of the atlas in texels."""
SMALLEST = 30


@dataclass(frozen=True)
class View:
    """One photo unwrapped: texture (S, S, 3) float32 levels, visible (S, S) float32 0..1, normals (V, 3) in camera axes, the
    blur of its edges as a share of the face's height, and the shape as in `Source`."""

    texture: Floats
    visible: Floats
    normals: Floats
    blur: float
    shape: Floats


@dataclass(frozen=True)
class Atlas:
    """A fitted person: the texture at several scales, packed as `paint` wants it (largest first), and the vertex data."""

    levels: tuple[Array, ...]
    source: Source


def build_atlas(photos: Sequence[tuple[Image, Floats]], topology: Topology) -> Atlas:
    """photos: (BGR image, (V, 3) landmarks in its pixels), all of one person, at least one."""
    views = [unwrap(image, points, topology) for image, points in photos]
    texture, visible = merge(views)
    texture, seen = complete(texture, visible), np.maximum(visible, visible[:, ::-1])
    best = max(views, key=lambda view: float(view.visible.mean()))
    filled = fill_skin(texture, seen, fit_texture(texture, best.normals, topology), topology)
    even = even_light(filled, topology)
    source = describe(fit_texture(even.astype(np.float32), best.normals, topology), best.blur, best.shape, topology)
    return Atlas(tuple(pack(level) for level in pyramid(even)), source)


def blank_atlas(count: int) -> Atlas:
    """A grey person of `count` vertices, for warming up."""
    single = np.float32
    colour, ones, ring = np.full((count, 3), 128, single), np.ones(count, single), np.zeros(1, np.int32)
    membrane, blur, shape = np.zeros((count, 1), single), np.zeros(1, single), np.zeros((count, 3), single)
    source = Source(colour, colour, colour[0].copy(), ones, ones, ring, membrane, blur, shape)
    return Atlas((pack(np.full((SMALLEST, SMALLEST, 3), 128, np.uint8)),), source)


def unwrap(image: Image, points: Floats, topology: Topology) -> View:
    """Project the photo onto the mesh and unfold it."""
    rotation = np.empty((3, 3), np.float32)
    scale = fit_pose(points, topology.xyz, RIGID, rotation)
    normals = topology.normals @ rotation
    attributes = np.zeros((len(points), CHANNELS), np.float32)
    attributes[:, :2] = points[:, :2]
    attributes[:, 2] = smoothstep(0.1, 0.45, normals[:, 2])
    flat = np.zeros((len(points), 3), np.float32)
    flat[:, :2] = topology.uv * SIZE - 0.5
    grid = new_grid(SIZE, SIZE)
    draw_grid(flat, attributes, topology.triangles, 0, 0, 1, grid, FAR, SIZE // 40)
    where = np.ascontiguousarray(grid.nodes[..., :2])
    texture = cv2.remap(image, where, None, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE)
    height = float(np.ptp(points[:, 1]))
    blur = float(edge_blur(image, points, np.float32(height))) / height
    shape = own_shape(points, topology.xyz, RIGID, rotation, scale, topology.own)
    return View(texture.astype(np.float32), np.clip(grid.nodes[..., 2], 0, 1), normals, blur, shape)


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
    """Blurred by a thirteenth of the atlas, worked out on a small copy."""
    small = cv2.GaussianBlur(cv2.resize(image, (64, 64), interpolation=cv2.INTER_AREA), (0, 0), 64 / 13)
    return np.asarray(cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_LINEAR))


def complete(texture: Floats, visible: Floats) -> Floats:
    """Fill what the photos do not show from the other half of the face, only where that is seen better."""
    own = cv2.GaussianBlur(visible, (0, 0), SIZE / 57)
    own = np.maximum(own, 1 - own[:, ::-1])[..., None]
    mirrored, mirrored_own = texture[:, ::-1], own[:, ::-1]
    step = _low(texture * own) / (_low(own)[..., None] + 1e-3) - _low(mirrored * mirrored_own) / (_low(mirrored_own)[..., None] + 1e-3)
    return np.asarray(np.clip(texture * own + (mirrored + step) * (1 - own), 0, 255).astype(np.float32))


def pyramid(texture: Image) -> list[Image]:
    """Each level smaller by the square root of two, down to SMALLEST."""
    sides = [round(len(texture) / 2 ** (step / 2)) for step in range(20)]
    return [cv2.resize(texture, (side, side), interpolation=cv2.INTER_AREA) for side in sides if side >= SMALLEST]
