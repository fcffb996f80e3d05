"""Which vertices are hidden: a hand, a cup, hair or a brim, told by colours that the face has not shown before."""

from __future__ import annotations

from typing import Any

import numpy as np

from realtime.types import Array
from realtime.vision.mesh.light import FIRST_LOOK, TERMS, fit_light
from realtime.vision.mesh.maths import helper, kernel, neighbour_mean, ramp, spread

HIGHLIGHT = np.float32(0.85)
"""How much of a squared difference is forgiven where it is brighter and highlights are usual."""
UNCOVERED_SHARE = np.float32(0.12)
"""Of the skin in view that must count as hidden before it is asked whether it really is."""
ALIKE, NEARLY_ALIKE, DOUBTS = np.float32(0.9), np.float32(0.8), np.float32(4.0)
"""How skin-like it must be, as a share of what counts as visible, to be the face after all: at once, and for this many frames in a row.
Hands measure 0.4 to 0.75 on clips of signers, and more only while they come and go."""
GOING = np.float32(0.95)
"""Share of what counted as hidden a frame ago below which whatever hides it is going away, and is not asked: what is left of it there, and
what only still counts as hidden, looks like the face."""
OPENING = np.float32(0.3)
"""Share of the way that a vertex which is no longer hidden comes back in a frame. Hidden it is at once: a quick hand is painted over
otherwise, and nothing else closes on clips without hands."""
YOUNG, YOUNG_SHARE = np.float32(10.0), np.float32(0.015)
"""Frames after the first in which a face of which this share changes was covered when it was found, by what is moving away."""
BETTER, BETTER_SEEN = np.float32(0.12), np.float32(0.04)
"""How much more skin-like a new look at the face makes it, all of it and what counts as visible, when the old one is to be given up.
Measured: half a face that comes out from behind a board 0.15 to 0.57 and 0.05 to 0.4, by the board's colour; a board that comes before a
face 0.42 at most, but less than 0.02 on what stays visible; hands of signers 0.07 and less than nothing."""


@helper
def skin_like(residual: Array, v: int) -> Any:
    """1 where the light explains the vertex's colour, less the more levels it leaves."""
    error = np.float32(0.0)
    for c in range(3):
        error += residual[v, c] * residual[v, c]
    return np.exp(-error / np.float32(6 * 28.0 * 28.0))


@helper
def hair_cover(links: Any, hairline: Array, likeness: Array, out: Array) -> None:
    """Vertices of the forehead and temples whose colour is no skin's. likeness: (V,) 1 where the colour fits the skin."""
    near = np.empty(len(out), np.float32)
    for v in range(len(out)):
        out[v] = hairline[v] * (np.float32(1.0) - likeness[v])
    neighbour_mean(links, out, near)
    for v in range(len(out)):
        out[v] = ramp(0.35, 0.75, np.float32(0.5) * (out[v] + near[v]))


@helper
def surprise(links: Any, shine: Array, residual: Array, mean: Array, variance: Array, out: Array) -> None:
    """How far each vertex's colour is from its own past, in standard deviations, smoothed over the mesh.

    Brows, lids and lips change colour when the landmarks shift a little: their contrast to the neighbours is added to the variance.
    Where `shine` is 1 a brighter colour is most likely a highlight and counts for less.
    """
    count = len(out)
    grey, squares = np.empty(count, np.float32), np.empty(count, np.float32)
    near, near_squares = np.empty(count, np.float32), np.empty(count, np.float32)
    for v in range(count):
        grey[v] = (mean[v, 0] + mean[v, 1] + mean[v, 2]) / np.float32(3.0)
        squares[v] = grey[v] * grey[v]
    neighbour_mean(links, grey, near)
    neighbour_mean(links, squares, near_squares)
    for v in range(count):
        contrast = max(near_squares[v] - near[v] * near[v], np.float32(0.0))
        brighter = residual[v, 0] + residual[v, 1] + residual[v, 2] > mean[v, 0] + mean[v, 1] + mean[v, 2]
        doubt = np.float32(1.0) - (HIGHLIGHT * shine[v] if brighter else np.float32(0.0))
        out[v] = np.sqrt(doubt * _distance(residual, mean, v) / (variance[v] + np.float32(30.0) + np.float32(0.6) * contrast))
    neighbour_mean(links, out, near)
    for v in range(count):
        out[v] = np.float32(0.4) * out[v] + np.float32(0.6) * near[v]


@helper
def _distance(residual: Array, mean: Array, v: int) -> Any:
    """Mean squared difference over the three channels."""
    b, g, r = residual[v, 0] - mean[v, 0], residual[v, 1] - mean[v, 1], residual[v, 2] - mean[v, 2]
    return (b * b + g * g + r * r) / np.float32(3.0)


@helper
def update_occlusion(links: Any, shine: Array, hair: Array, residual: Array, history: Any) -> None:
    """Advance `history.hidden`, `history.mean` and `history.variance` by one frame. residual: (V, 3) levels beside the light fit.

    Hidden areas are closed and grown by one or two rings; they close at once and open slowly; only what is visible is learned.
    """
    count = len(hair)
    fresh, spare = np.empty(count, np.float32), np.empty(count, np.float32)
    surprise(links, shine, residual, history.mean, history.variance, fresh)
    for v in range(count):
        fresh[v] = ramp(1.3, 2.3, fresh[v])
    spread(links, fresh, spare, 4)
    history.age[0] += np.float32(1.0)
    history.watched[0] = max(history.watched[0] - np.float32(1.0), np.float32(0.0))
    pace = max(np.float32(1.0) / history.age[0], np.float32(0.05))
    for v in range(count):
        new, before = ramp(0.15, 0.5, fresh[v]), history.hidden[v]
        learn = max(pace * ramp(0.3, 0.05, max(new, before - hair[v])), np.float32(0.002))
        wanted = max(hair[v], new)
        history.hidden[v] = wanted if wanted > before else before + OPENING * (wanted - before)
        error = _distance(residual, history.mean, v)
        for c in range(3):
            history.mean[v, c] += learn * (residual[v, c] - history.mean[v, c])
        history.variance[v] += learn * (min(error, np.float32(4.0) * history.variance[v] + np.float32(60.0)) - history.variance[v])


@kernel
def uncovered(skin: Array, hairline: Array, front: Array, likeness: Array, history: Any) -> Any:
    """Whether what counts as hidden is the face itself, and what was learned of it was something before it, a passer-by or a hand.

    A face that is found while half of it is covered looks unlike its past when it comes out; but then it looks like the other half.
    Counts in `history.doubt` for how many frames it has looked a little like it. A face that is new is not asked. One that comes out from
    behind a hand is not watched as a new one is: `history.watched` is set to -1.
    """
    inside, outside = np.float32(0.0), np.float32(0.0)
    like_inside, like_outside = np.float32(0.0), np.float32(0.0)
    for v in range(len(skin)):
        weight = skin[v] * front[v] * (np.float32(1.0) - hairline[v])
        inside += weight * history.hidden[v]
        outside += weight * (np.float32(1.0) - history.hidden[v])
        like_inside += weight * history.hidden[v] * likeness[v]
        like_outside += weight * (np.float32(1.0) - history.hidden[v]) * likeness[v]
    if history.watched[0] > 0 and inside > YOUNG_SHARE * (inside + outside):
        return True
    share = inside / max(inside + outside, np.float32(1e-6))
    asked = share > UNCOVERED_SHARE and share >= GOING * history.doubt[1]
    history.doubt[1] = share
    alike = like_inside * outside / max(like_outside * inside, np.float32(1e-6)) if asked else np.float32(0.0)
    history.doubt[0] = history.doubt[0] + np.float32(1.0) if alike > NEARLY_ALIKE else np.float32(0.0)
    if alike > ALIKE or history.doubt[0] >= DOUBTS:
        history.watched[0] = np.float32(-1.0)
        return True
    return False


@helper
def misled(basis: Array, skin: Array, hairline: Array, seen: Any, history: Any) -> Any:
    """Whether one light for all of the face, fitted anew, explains it so well that what was learned must have been of something before it.

    basis: (V, 8) of `light_basis`. Looked at only where much counts as hidden.
    """
    weight, shares = np.empty(len(skin), np.float32), np.zeros(2, np.float32)
    for v in range(len(skin)):
        weight[v] = skin[v] * seen.front[v] * (np.float32(1.0) - hairline[v])
        shares[0] += weight[v] * history.hidden[v]
        shares[1] += weight[v]
    if shares[0] <= UNCOVERED_SHARE * shares[1]:
        return False
    light, residual = np.empty((TERMS, 3), np.float32), np.empty((len(skin), 3), np.float32)
    fit_light(seen.target, basis, weight, FIRST_LOOK, light, residual)
    gain, gain_seen = np.float32(0.0), np.float32(0.0)
    for v in range(len(skin)):
        more = weight[v] * (skin_like(residual, v) - seen.likeness[v])
        gain += more
        gain_seen += more * (np.float32(1.0) - history.hidden[v])
    return gain > BETTER * shares[1] and gain_seen > BETTER_SEEN * (shares[1] - shares[0])
