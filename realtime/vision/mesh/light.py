"""Low-order light: colour as a smooth function of the surface normal."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.maths import kernel

TERMS: Final = 8
RIDGE: Final = np.array([1e-3, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0, 2.0], np.float32)
"""Relative ridge per term: the mean is free, directions are held a little, products more (few normals face sideways)."""


@kernel
def light_basis(normals: Array, basis: Array) -> None:
    """Low-order spherical-harmonic terms (Ramamoorthi and Hanrahan 2001, unscaled): (V, 3) normals -> (V, 8)."""
    for v in range(len(normals)):
        x, y, z = normals[v, 0], normals[v, 1], normals[v, 2]
        basis[v, 0] = np.float32(1.0)
        basis[v, 1] = x
        basis[v, 2] = y
        basis[v, 3] = z
        basis[v, 4] = x * y
        basis[v, 5] = x * z
        basis[v, 6] = y * z
        basis[v, 7] = x * x - y * y


@kernel
def fit_light(colour: Array, basis: Array, weight: Array, scale: float, coefficients: Array, residual: Array) -> None:
    """Robust ridge regression colour ~ basis @ coefficients, blind to brows, beard, hair and hands.

    colour: (V, 3) BGR levels; basis: (V, 8); weight: (V,); scale: residual in levels from which a vertex counts as an outlier
    (Geman-McClure weights, three rounds). Writes coefficients (8, 3) and residual (V, 3), both float32.
    """
    count = len(colour)
    total = np.float32(0.0)
    for v in range(count):
        total += weight[v]
    for step in range(3):
        normal = np.zeros((TERMS, TERMS), np.float32)
        right = np.zeros((TERMS, 3), np.float32)
        for v in range(count):
            w = weight[v]
            if step > 0:
                error = residual[v, 0] ** 2 + residual[v, 1] ** 2 + residual[v, 2] ** 2
                w /= (np.float32(1.0) + error / np.float32(3.0 * scale * scale)) ** 2
            _accumulate(basis[v], colour[v], w, normal, right)
        for i in range(TERMS):
            normal[i, i] += RIDGE[i] * (np.float32(0.02) * total + np.float32(1e-3))
        solve(normal, right, coefficients)
        for v in range(count):
            for c in range(3):
                fit = np.float32(0.0)
                for i in range(TERMS):
                    fit += basis[v, i] * coefficients[i, c]
                residual[v, c] = colour[v, c] - fit


@kernel
def _accumulate(row: Array, colour: Array, weight: np.float32, normal: Array, right: Array) -> None:
    for i in range(TERMS):
        a = weight * row[i]
        for j in range(TERMS):
            normal[i, j] += a * row[j]
        for c in range(3):
            right[i, c] += a * colour[c]


@kernel
def solve(matrix: Array, right: Array, out: Array) -> None:
    """Solve a small symmetric positive definite system by Cholesky; matrix (n, n) is overwritten, right and out are (n, m)."""
    size = len(matrix)
    for j in range(size):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j])
        for i in range(j + 1, size):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for c in range(right.shape[1]):
        for i in range(size):
            total = right[i, c]
            for k in range(i):
                total -= matrix[i, k] * out[k, c]
            out[i, c] = total / matrix[i, i]
        for i in range(size - 1, -1, -1):
            total = out[i, c]
            for k in range(i + 1, size):
                total -= matrix[k, i] * out[k, c]
            out[i, c] = total / matrix[i, i]
