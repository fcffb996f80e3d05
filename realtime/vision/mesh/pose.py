"""Head pose: the similarity between the canonical face and the landmarks of a frame."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh import indices
from realtime.vision.mesh.maths import helper, kernel

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
    ax, ay, az, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for v in rigid:
        ax, ay, az = ax + xyz[v, 0], ay + xyz[v, 1], az + xyz[v, 2]
        bx, by, bz = bx + points[v, 0], by - points[v, 1], bz - points[v, 2]
    share = 1.0 / len(rigid)
    ax, ay, az, bx, by, bz = ax * share, ay * share, az * share, bx * share, by * share, bz * share
    cross = np.empty((3, 3), np.float64)
    for i in range(3):
        for j in range(3):
            cross[i, j] = 0.0
    spread = 0.0
    for v in rigid:
        a = (xyz[v, 0] - ax, xyz[v, 1] - ay, xyz[v, 2] - az)
        b = (points[v, 0] - bx, -points[v, 1] - by, -points[v, 2] - bz)
        for i in range(3):
            spread += a[i] * a[i]
            for j in range(3):
                cross[i, j] += a[i] * b[j]
    nearest_rotation(cross, rotation)
    trace = 0.0
    for i in range(3):
        for j in range(3):
            trace += rotation[i, j] * cross[i, j]
    return np.float32(trace / spread)


@helper
def nearest_rotation(matrix: Array, rotation: Array) -> None:
    """The orthogonal polar factor of a (3, 3) float64 matrix by Newton's iteration X <- (X + X^-T) / 2 with norm scaling (Higham 1986).

    Points that lie in a plane leave the matrix singular, and mirrored ones turn its determinant negative: the identity then.
    """
    x, inverse = np.empty((3, 3), np.float64), np.empty((3, 3), np.float64)
    for i in range(3):
        for j in range(3):
            x[i, j] = matrix[i, j]
    for _ in range(POLAR_STEPS):
        determinant = _cofactors(x, inverse)
        size = _norm(x)
        if determinant <= 1e-9 * size * size * size:
            for i in range(3):
                for j in range(3):
                    rotation[i, j] = np.float32(1.0) if i == j else np.float32(0.0)
            return
        gamma = np.sqrt(_norm(inverse) / (determinant * size))
        for i in range(3):
            for j in range(3):
                x[i, j] = 0.5 * (gamma * x[i, j] + inverse[i, j] / (determinant * gamma))
    for i in range(3):
        for j in range(3):
            rotation[i, j] = x[i, j]


@helper
def _norm(x: Array) -> Any:
    """Frobenius norm of a (3, 3) matrix."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += x[i, j] * x[i, j]
    return np.sqrt(total)


@helper
def _cofactors(x: Array, out: Array) -> Any:
    """out = the cofactors of x, its transposed inverse times its determinant, which is returned; (3, 3) both."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            c, e = (j + 1) % 3, (j + 2) % 3
            out[i, j] = x[a, c] * x[b, e] - x[a, e] * x[b, c]
    return x[0, 0] * out[0, 0] + x[0, 1] * out[0, 1] + x[0, 2] * out[0, 2]
