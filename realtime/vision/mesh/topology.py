"""Everything that depends on the canonical face alone: triangles, texture coordinates, normals and per-vertex weights."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from realtime.types import Array, Floats
from realtime.vision.mesh import indices

LIGHT_BLUR = 1.3
"""Standard deviation, in canonical units (about cm), of the blur that matches mid-frequency skin colour."""


class Links(NamedTuple):
    """Who neighbours whom along mesh edges, in compressed rows: the neighbours of v are `target[start[v] : start[v + 1]]`."""

    start: Array
    """(V + 1,) int32."""
    target: Array
    """(E,) int32."""


@dataclass(frozen=True)
class Topology:
    """The canonical face mesh of V = 468 vertices. All arrays are shared and must not be written."""

    triangles: Array
    """(T, 3) int32, counter-clockwise seen from the front with y up."""
    uv: Floats
    """(V, 2) texture coordinates in 0..1, v downwards; mirrored vertices lie at u and 1 - u."""
    xyz: Floats
    """(V, 3) canonical positions."""
    links: Links
    normals: Floats
    """(V, 3) smoothed unit normals, for light."""
    dome: Floats
    """(V, 3) unit normals of an ellipsoid around the face: how far the surface turns away, free of the nose's own slopes."""
    depth: Floats
    """(V,) distance to the oval along mesh edges."""
    feather: Floats
    """(V,) 0 on the oval to 1 inside: opacity of the face before anything is known about a frame."""
    hairline: Floats
    """(V,) 0..1: where hair or a brim may cover the forehead and temples."""
    skin: Floats
    """(V,) 0..1: how surely the vertex shows plain skin; 0 on eyes, brows, lips."""
    shine: Floats
    """(V,) 0..1: the ridge of the nose, where highlights come and go."""
    sides: Floats
    """(V,) 0..1: cheeks, temples and jaw, away from what a face does with its eyes."""
    own: Floats
    """(V,) 0..1: how far a source keeps its own shape there: nose and cheeks, less brows; not what is the frame's or moves in speech."""
    blur: Floats
    """(V, V) Gaussian weights over the surface, corrected for vertex density; rows sum to one."""
    laplacian: Array
    """(V, V) float64 graph Laplacian plus a small diagonal: solving it spreads boundary values smoothly and lets them fade."""


def load_topology(path: Path | None = None) -> Topology:
    """The package's own canonical face, or the one in an .npz file with `tri` (T, 3), `uv` (V, 2) and `xyz` (V, 3)."""
    data = path if path is not None else resources.files(__package__) / "face_topology.npz"
    with data.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return build_topology(arrays["tri"], arrays["uv"], arrays["xyz"])


def canonical_face() -> Floats:
    """(V, 3) float32: positions of the vertices alone, in canonical units."""
    with (resources.files(__package__) / "face_topology.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return np.asarray(arrays["xyz"], np.float32)


def build_topology(triangles: Array, uv: Array, xyz: Array) -> Topology:
    """Derive the per-vertex weights. The distances below are in canonical units and were chosen by eye on photographs."""
    xyz = xyz.astype(np.float64)
    triangles = _wound(xyz, triangles)
    adjacent = _adjacency(triangles, len(xyz))
    away = _unit(xyz * (1.0, 0.6, 1.0) + (0.0, 0.0, 4.0))
    depth = _depth(xyz, adjacent)
    single = np.float32
    return Topology(
        triangles=np.ascontiguousarray(triangles, np.int32),
        uv=np.ascontiguousarray(uv, single),
        xyz=xyz.astype(single),
        links=_links(adjacent),
        normals=_normals(xyz, triangles, adjacent).astype(single),
        dome=away.astype(single),
        depth=depth.astype(single),
        feather=_feather(xyz, depth).astype(single),
        hairline=np.clip(smoothstep(4.3, 5.5, xyz[:, 1]) + smoothstep(4.8, 5.8, np.abs(xyz[:, 0])), 0, 1).astype(single),
        skin=_skin(xyz, depth).astype(single),
        shine=smoothstep(1.5, 0.9, _distance(xyz, indices.NOSE_RIDGE)).astype(single),
        sides=_sides(xyz, depth).astype(single),
        own=_own(xyz, depth).astype(single),
        blur=_blur(xyz).astype(single),
        laplacian=np.diag(adjacent.sum(1).astype(float)) - adjacent + 0.05 * np.eye(len(xyz)),
    )


def smoothstep(low: float, high: float, x: Array) -> Array:
    """0 up to `low`, 1 from `high` on (or the reverse when low > high), a cubic in between (Hermite's 3t^2 - 2t^3)."""
    t = np.clip((x - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def smoothed(links: Links, values: Array, steps: int) -> Array:
    """`steps` times the mean of each vertex and its neighbours' average; values (V,) or (V, C)."""
    count = np.diff(links.start)
    for _ in range(steps):
        total = np.add.reduceat(values[links.target], links.start[:-1], axis=0)
        values = 0.5 * (values + total / (count if values.ndim == 1 else count[:, None]))
    return values


def _wound(xyz: Array, triangles: Array) -> Array:
    """All triangles the same way round; a mesh listed clockwise is turned over as a whole."""
    faces = np.cross(xyz[triangles[:, 1]] - xyz[triangles[:, 0]], xyz[triangles[:, 2]] - xyz[triangles[:, 0]])
    return triangles if faces[:, 2].sum() > 0 else triangles[:, ::-1]


def _adjacency(triangles: Array, count: int) -> Array:
    adjacent = np.zeros((count, count), bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        adjacent[triangles[:, a], triangles[:, b]] = adjacent[triangles[:, b], triangles[:, a]] = True
    return adjacent


def _links(adjacent: Array) -> Links:
    rows, columns = np.nonzero(adjacent)
    start = np.searchsorted(rows, np.arange(len(adjacent) + 1))
    return Links(start.astype(np.int32), columns.astype(np.int32))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _normals(xyz: Array, triangles: Array, adjacent: Array) -> Array:
    """Area-weighted vertex normals, smoothed so that light sees the shape of the face rather than of single triangles."""
    faces = np.cross(xyz[triangles[:, 1]] - xyz[triangles[:, 0]], xyz[triangles[:, 2]] - xyz[triangles[:, 0]])
    normals = np.zeros_like(xyz)
    for corner in range(3):
        np.add.at(normals, triangles[:, corner], faces)
    return _unit(smoothed(_links(adjacent), _unit(normals), 4))


def _depth(xyz: Array, adjacent: Array) -> Array:
    """Distance to the oval along edges: Bellman-Ford, 40 rounds being more than the mesh is wide."""
    length = np.where(adjacent, np.linalg.norm(xyz[:, None] - xyz[None], axis=2), np.inf)
    depth = np.full(len(xyz), np.inf)
    depth[list(indices.OVAL)] = 0
    for _ in range(40):
        depth = np.minimum(depth, (length + depth[None]).min(1))
    return depth


def _feather(xyz: Array, depth: Array) -> Array:
    """A border of 1.3 units, wider on the forehead where it meets the hair."""
    return smoothstep(0.0, 1.0, (depth - 0.1) / (1.2 + 0.5 * smoothstep(4.0, 6.0, xyz[:, 1])))


def _distance(xyz: Array, part: tuple[int, ...]) -> Array:
    return np.asarray(np.linalg.norm(xyz[:, None] - xyz[list(part)][None], axis=2).min(1))


def _skin(xyz: Array, depth: Array) -> Array:
    eyes = smoothstep(0.2, 0.8, _distance(xyz, indices.LEFT_EYE + indices.RIGHT_EYE))
    brows = smoothstep(0.3, 0.8, _distance(xyz, indices.LEFT_BROW + indices.RIGHT_BROW))
    lips = smoothstep(0.1, 0.6, _distance(xyz, indices.OUTER_LIPS + indices.INNER_LIPS))
    beard = np.where(xyz[:, 1] < -3.0, 0.5, 1.0)
    return np.asarray(eyes * brows * lips * smoothstep(0.1, 0.5, depth) * beard)


def _sides(xyz: Array, depth: Array) -> Array:
    eyes = _distance(xyz, indices.LEFT_EYE + indices.RIGHT_EYE + indices.LEFT_BROW + indices.RIGHT_BROW)
    return smoothstep(6.5, 5.0, depth) * smoothstep(1.5, 3.0, eyes)


def _own(xyz: Array, depth: Array) -> Array:
    eyes = smoothstep(0.3, 1.2, _distance(xyz, indices.LEFT_EYE + indices.RIGHT_EYE))
    lips = smoothstep(0.1, 0.9, _distance(xyz, indices.OUTER_LIPS + indices.INNER_LIPS))
    brows = 1 - 0.6 * smoothstep(1.6, 0.6, _distance(xyz, indices.LEFT_BROW + indices.RIGHT_BROW))
    return np.asarray(eyes * lips * brows * smoothstep(0.3, 2.0, depth) * smoothstep(-3.0, -1.5, xyz[:, 1]))


def _blur(xyz: Array) -> Array:
    squared = ((xyz[:, None] - xyz[None]) ** 2).sum(2)
    density = np.exp(-squared / 0.5).sum(1)
    weight = np.exp(-squared / (2 * LIGHT_BLUR**2)) / density[None]
    return np.asarray(weight / weight.sum(1, keepdims=True))
