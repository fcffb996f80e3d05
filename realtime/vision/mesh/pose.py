"""Head pose: the similarity between the canonical face and the landmarks of a frame."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh import indices
from realtime.vision.mesh.maths import kernel

RIGID: Final = np.array(indices.RIGID, np.int32)
POLAR_STEPS: Final = 12
"""Newton's iteration doubles its digits each step; even a nearly flat face is at float32 precision after ten."""


@kernel
def fit_pose(points: Array, xyz: Array, rigid: Array, rotation: Array) -> Any:
    """Least-squares similarity from canonical to image (Umeyama 1991): returns the scale, writes `rotation`.

    points: (V, 3) landmarks, x right, y down, z away from the camera, pixels; xyz: (V, 3) canonical; rigid: vertices to use.
    rotation: (3, 3) float32 out. A canonical row vector v turns into camera axes (x right, y up, z to the camera) as v @ rotation,
    and scale * v @ rotation is its landmark with y and z negated, up to the translation.
    """
    here, there = np.zeros(3, np.float64), np.zeros(3, np.float64)
    for v in rigid:
        here += xyz[v]
        there[0] += points[v, 0]
        there[1] -= points[v, 1]
        there[2] -= points[v, 2]
    here /= len(rigid)
    there /= len(rigid)
    cross = np.zeros((3, 3), np.float64)
    spread = 0.0
    for v in rigid:
        b = (points[v, 0] - there[0], -points[v, 1] - there[1], -points[v, 2] - there[2])
        for i in range(3):
            a = xyz[v, i] - here[i]
            spread += a * a
            for j in range(3):
                cross[i, j] += a * b[j]
    nearest_rotation(cross, rotation)
    trace = 0.0
    for i in range(3):
        for j in range(3):
            trace += rotation[i, j] * cross[i, j]
    return np.float32(trace / spread)


@kernel
def nearest_rotation(matrix: Array, rotation: Array) -> None:
    """The orthogonal polar factor of a (3, 3) float64 matrix by Newton's iteration X <- (X + X^-T) / 2 with norm scaling (Higham 1986).

    Points that lie in a plane leave the matrix singular, and mirrored ones turn its determinant negative: the identity then.
    """
    x = matrix.copy()
    inverse = np.empty((3, 3), np.float64)
    for _ in range(POLAR_STEPS):
        determinant = _inverse_transpose(x, inverse)
        size = np.sqrt((x * x).sum())
        if determinant <= 1e-9 * size * size * size:
            rotation[:] = np.float32(0.0)
            rotation[0, 0] = rotation[1, 1] = rotation[2, 2] = np.float32(1.0)
            return
        gamma = np.sqrt(np.sqrt((inverse * inverse).sum()) / size)
        for i in range(3):
            for j in range(3):
                x[i, j] = 0.5 * (gamma * x[i, j] + inverse[i, j] / gamma)
    rotation[:] = x.astype(np.float32)


@kernel
def _inverse_transpose(x: Array, out: Array) -> Any:
    """out = x^-T from the cofactors; returns the determinant (out is meaningless when that is 0)."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            c, d = (j + 1) % 3, (j + 2) % 3
            out[i, j] = x[a, c] * x[b, d] - x[a, d] * x[b, c]
    determinant = x[0, 0] * out[0, 0] + x[0, 1] * out[0, 1] + x[0, 2] * out[0, 2]
    out /= determinant
    return determinant
