"""Low-order light: colour as a smooth function of the surface normal."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from realtime.compiled import emit
from realtime.types import Array
from realtime.vision.mesh.maths import helper, kernel

TERMS: Final = 8
"""As many as a register has lanes."""
FIRST_LOOK: Final = 14.0
NEXT_LOOKS: Final = 9.0
"""Residual in levels from which a vertex counts as an outlier: of a face that is new, and of one whose usual colours are known."""
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
    (Geman-McClure weights, three rounds). Writes coefficients (8, 3) and residual (V, 3). All are float32 and C-contiguous.
    """
    trust, normal, right = weight.copy(), np.empty((TERMS, TERMS), np.float32), np.empty((3, TERMS), np.float32)
    total = np.float32(0.0)
    for v in range(len(weight)):
        total += weight[v]
    for _ in range(3):
        _equations(basis, colour, trust, len(colour), normal, right)
        for i in range(TERMS):
            normal[i, i] += RIDGE[i] * (np.float32(0.02) * total + np.float32(1e-3))
        solve(normal, right.T, coefficients)
        for v in range(len(colour)):
            error = np.float32(0.0)
            for c in range(3):
                residual[v, c] = colour[v, c] - light_at(basis, v, coefficients, c)
                error += residual[v, c] * residual[v, c]
            doubt = np.float32(1.0) + error / np.float32(3.0 * scale * scale)
            trust[v] = weight[v] / (doubt * doubt)


@helper
def light_at(basis: Array, v: int, coefficients: Array, channel: int) -> Any:
    """One channel's level at a vertex by the fit."""
    level = np.float32(0.0)
    for i in range(TERMS):
        level += basis[v, i] * coefficients[i, channel]
    return level


@emit.intrinsic
def _equations(typing: Any, basis: Any, colour: Any, weight: Any, count: Any, normal: Any, right: Any) -> Any:
    """The normal equations: normal (8, 8) = basis' W basis, right (3, 8) = colour' W basis. All sums stay in registers."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        rows, colours, weights, *out = (emit.data(context, b, signature.args[n], args[n]) for n in (0, 1, 2, 4, 5))

        def vertex(v: Any, sums: list[Any]) -> list[Any]:
            terms = emit.load(b, emit.at(b, rows, b.mul(v, emit.number(TERMS))))
            weighted = b.fmul(terms, emit.splat(b, b.load(emit.at(b, weights, v))))
            levels = emit.at(b, colours, b.mul(v, emit.number(3)))
            factors = [emit.shuffled(b, terms, (i,) * TERMS) for i in range(TERMS)]
            factors += [emit.splat(b, b.load(emit.at(b, levels, c))) for c in range(3)]
            return [emit.multiply_add(b, factor, weighted, total) for factor, total in zip(factors, sums, strict=True)]

        sums = emit.loop(b, args[3], [emit.constant((0.0,) * TERMS)] * (TERMS + 3), vertex)
        for i, total in enumerate(sums):
            emit.store(b, total, emit.at(b, out[i // TERMS], i % TERMS * TERMS))
        return context.get_dummy_value()

    return types.void(basis, colour, weight, count, normal, right), generate


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
