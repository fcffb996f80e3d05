"""Texture coordinates of the canonical face: an as-rigid-as-possible flattening. Of `make_topology.py`."""

from __future__ import annotations

import numpy as np
from topology_surface import FOREHEAD, VERTICES, Ints, Reals, borders

DENSE = (33, 133, 159, 145, 263, 362, 386, 374, 1, 98, 327, 61, 291, 0, 17)
"""Eyes, nose and mouth: the parts drawn with more texels."""


def unwrapped(xyz: Reals, triangles: Ints, partner: Ints, rounds: int = 30) -> Reals:
    """Texture coordinates (468, 2) in 0..1, u to the image's right, v down, symmetric about u = 0.5, no triangle folded.

    Alternates the best rotation of every flattened triangle with the vertices that fit the rotated ones best.
    """
    flat = flattened(xyz, triangles) * density(xyz)[triangles].mean(1)[:, None, None]
    cot = np.stack([cotangent(flat[:, (k + 1) % 3] - flat[:, k], flat[:, (k + 2) % 3] - flat[:, k]) for k in range(3)], 1)
    inverse = np.linalg.inv(laplacian(triangles, cot) + 1 / VERTICES)
    uv = embedded(triangles)
    for _ in range(rounds):
        uv = inverse @ wanted_edges(flat, uv, triangles, cot)
        uv = (uv + uv[partner] * (-1, 1)) / 2
    return np.asarray((uv - (uv.max(0) + uv.min(0)) / 2) / np.ptp(uv, axis=0).max() * (1, -1) * 0.98 + 0.5)


def density(xyz: Reals) -> Reals:
    """How many times finer than elsewhere the texture should be at each vertex."""
    distance = np.min([np.linalg.norm(xyz - xyz[i], axis=1) for i in DENSE], 0)
    return np.asarray(1 + 0.4 * np.exp(-(distance**2) / (2 * 1.5**2)))


def embedded(triangles: Ints) -> Reals:
    """A start without folds: the border on a circle, each inner vertex at the mean of its neighbours (Tutte 1963)."""
    oval = np.array(borders(triangles)[0])
    turn = 2 * np.pi * (np.arange(len(oval)) - oval.tolist().index(FOREHEAD)) / len(oval)
    graph = -laplacian(triangles, np.ones(triangles.shape))
    inner = np.setdiff1d(np.arange(VERTICES), oval)
    uv = np.zeros((VERTICES, 2))
    uv[oval] = np.stack([-np.sin(turn), np.cos(turn)], 1)  # the border runs anticlockwise, as its triangles do
    uv[inner] = np.linalg.solve(graph[np.ix_(inner, inner)], -graph[np.ix_(inner, oval)] @ uv[oval])
    return uv


def flattened(xyz: Reals, triangles: Ints) -> Reals:
    """Every triangle in a plane of its own: (n, 3, 2), anticlockwise."""
    e, f = xyz[triangles[:, 1]] - xyz[triangles[:, 0]], xyz[triangles[:, 2]] - xyz[triangles[:, 0]]
    base = np.linalg.norm(e, axis=1)
    flat = np.zeros((len(triangles), 3, 2))
    flat[:, 1, 0], flat[:, 2, 0] = base, (e * f).sum(1) / base
    flat[:, 2, 1] = np.linalg.norm(np.cross(e, f), axis=1) / base
    return flat


def cotangent(u: Reals, v: Reals) -> Reals:
    """Of the angle between u and v; kept positive (no folds at obtuse angles) and bounded (slivers of closed lids and lips)."""
    return np.asarray(np.clip((u * v).sum(1) / np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]), 0.05, 5))


def laplacian(triangles: Ints, weights: Reals) -> Reals:
    """(468, 468); `weights` (n, 3) belong to the corners and act on the edges opposite."""
    result = np.zeros((VERTICES, VERTICES))
    for k in range(3):
        i, j, w = triangles[:, (k + 1) % 3], triangles[:, (k + 2) % 3], weights[:, k]
        for p, q in ((i, j), (j, i)):
            np.add.at(result, (p, q), -w)
            np.add.at(result, (p, p), w)
    return result


def wanted_edges(flat: Reals, uv: Reals, triangles: Ints, cot: Reals) -> Reals:
    """Right-hand side of the fit: for each vertex the weighted sum of its edges in the flattened triangles, rotated as in `uv`."""
    u, _, vt = np.linalg.svd(jacobians(flat, uv[triangles]))
    u[:, :, 1] *= np.linalg.det(u @ vt)[:, None]
    rotated = flat @ np.swapaxes(u @ vt, 1, 2)
    result = np.zeros((VERTICES, 2))
    for k in range(3):
        edge = (rotated[:, (k + 1) % 3] - rotated[:, (k + 2) % 3]) * cot[:, k : k + 1]
        np.add.at(result, triangles[:, (k + 1) % 3], edge)
        np.add.at(result, triangles[:, (k + 2) % 3], -edge)
    return result


def jacobians(flat: Reals, corners: Reals) -> Reals:
    """(n, 2, 2): what takes each flattened triangle to its corners in the texture."""
    sides = [np.stack([t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]], 2) for t in (corners, flat)]
    return np.asarray(sides[0] @ np.linalg.inv(sides[1]))
