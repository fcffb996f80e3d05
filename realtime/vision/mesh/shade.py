"""One frame's vertex work: pose, light, occlusion, colour offsets, opacity.

Three compiled calls, not one: the compiler takes several times as long for the whole of it, and parts can be compiled side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from realtime.types import Array
from realtime.vision.mesh import colour
from realtime.vision.mesh.light import FIRST_LOOK, NEXT_LOOKS, TERMS, fit_light, light_at, light_basis
from realtime.vision.mesh.maths import helper, kernel, ramp
from realtime.vision.mesh.occlusion import YOUNG, hair_cover, misled, skin_like, uncovered, update_occlusion
from realtime.vision.mesh.pose import RIGID, fit_pose
from realtime.vision.mesh.sharpness import edge_blur
from realtime.vision.mesh.topology import Links, Topology

CAMERA_PACE = np.float32(0.1)
"""Share of a new frame in the running estimates of the camera's blur and contrast: hands and blinks must not show in them."""
BLUR_EVERY = 4
"""Frames from one measurement of the blur to the next: it looks at more pixels than all the rest, for what hardly changes."""
UNBLURRED = np.float32(0.04)
"""Share of the skin up to which, when it is hidden, the blur is measured: beyond it would be that of a hand's contour."""
NATURAL_BLUR = np.float32(0.005)
"""Edges of brows and lips are this soft, as a share of the face's height, in the sharpest pictures of many people."""
SAMPLING = np.float32(0.5)
"""Blur in pixels that drawing from the texture adds in any case."""


class Mesh(NamedTuple):
    """The arrays of `Topology` that the kernels need; shapes and meaning as there."""

    xyz: Array
    normals: Array
    dome: Array
    uv: Array
    skin: Array
    hairline: Array
    shine: Array
    sides: Array
    links: Links
    blur: Array
    rigid: Array


class Source(NamedTuple):
    """A fitted source person, per vertex. All float32 but `ring`."""

    colour: Array
    """(V, 3) BGR levels of the photo at the vertices."""
    fit: Array
    """(V, 3) its low-order light."""
    mean: Array
    """(3,) its skin level."""
    weight: Array
    """(V,) 1 where the photo shows what its light predicts: skin."""
    alpha: Array
    """(V,) opacity: the feather less what is hair or background in the photo."""
    ring: Array
    """(R,) int32: vertices in the feather, the boundary of the membrane."""
    membrane: Array
    """(V, R) harmonic interpolation from the ring to every vertex."""
    blur: Array
    """(1,) blur of the photo's edges, as a share of the face's height."""
    shape: Array
    """(V, 3) its place across and up on the canonical face, and how far it is drawn there: 0..1."""


class History(NamedTuple):
    """What is remembered of one face from frame to frame; changed in place. `age` 0: nothing yet."""

    age: Array
    """(1,) frames seen."""
    light: Array
    """(8, 3) coefficients, smoothed."""
    mean: Array
    """(V, 3) running mean of the residual beside the light fit."""
    variance: Array
    """(V,) its running variance, levels squared."""
    hidden: Array
    """(V,) 0..1 occlusion."""
    rim: Array
    """(V, 3) colour steps at the ring; the first R rows are in use."""
    points: Array
    """(V, 3) last landmarks."""
    blur: Array
    """(2,) blur of the face's edges in pixels, smoothed, and as it was measured last."""
    contrast: Array
    """(1,) the target's contrast as a share of the source's, smoothed."""
    doubt: Array
    """(2,) frames in a row in which what counts as hidden looked like the face, and its share of the skin; see `uncovered`."""
    watched: Array
    """(1,) frames left in which a change means that the face was covered when it was found."""
    shape: Array
    """(V, 2) running mean of the landmarks' places across and up on the canonical face."""
    looks: Array
    """(1,) how many frontal looks that mean stands for."""


class Shaded(NamedTuple):
    """What `shade` writes."""

    rotation: Array
    """(3, 3) as in `fit_pose`."""
    scale: Array
    """(1,) pixels for each canonical unit."""
    curve: Array
    """(3, 256) tone curve, levels."""
    offset: Array
    """(V, 3) to be added after the tone curve, levels."""
    alpha: Array
    """(V,) 0..1."""
    softness: Array
    """(1,) standard deviation in pixels of the blur that makes the source as soft as the frame."""


class Seen(NamedTuple):
    """What one frame shows of the target, float32; scratch that is filled anew each time."""

    front: Array
    """(V,) 1 where the face turns towards the camera."""
    target: Array
    """(V, 3) BGR levels of the frame at the vertices."""
    residual: Array
    """(V, 3) what the light leaves unexplained of them."""
    likeness: Array
    """(V,) how skin-like that is."""


def new_mesh(topology: Topology) -> Mesh:
    t = topology
    return Mesh(t.xyz, t.normals, t.dome, t.uv, t.skin, t.hairline, t.shine, t.sides, t.links, t.blur, RIGID)


def new_history(count: int) -> History:
    single = np.float32
    return History(
        np.zeros(1, single),
        np.zeros((TERMS, 3), single),
        np.zeros((count, 3), single),
        np.zeros(count, single),
        np.zeros(count, single),
        np.zeros((count, 3), single),
        np.zeros((count, 3), single),
        np.zeros(2, single),
        np.ones(1, single),
        np.zeros(2, single),
        np.zeros(1, single),
        np.zeros((count, 2), single),
        np.zeros(1, single),
    )


def new_shaded(count: int) -> Shaded:
    single = np.float32
    curve, offset, alpha = np.zeros((3, 256), single), np.zeros((count, 3), single), np.zeros(count, single)
    return Shaded(np.eye(3, dtype=single), np.ones(1, single), curve, offset, alpha, np.zeros(1, single))


def new_seen(count: int) -> Seen:
    single = np.float32
    return Seen(np.zeros(count, single), np.zeros((count, 3), single), np.zeros((count, 3), single), np.zeros(count, single))


def shade(image: Array, points: Array, mesh: Mesh, source: Source, history: History, seen: Seen, out: Shaded) -> None:
    """Work out light, occlusion, colour and opacity of every vertex for one frame.

    image: BGR; points: (V, 3) landmarks in pixels. Updates `history`, fills `seen` and `out`.
    """
    first = look(image, points, mesh, source, history, seen, out)
    occlude(mesh, seen, history, first)
    if not first and uncovered(mesh.skin, mesh.hairline, seen.front, seen.likeness, history):
        history.age[0] = 0.0
        first = look(image, points, mesh, source, history, seen, out)
        occlude(mesh, seen, history, first)
    tint(mesh, source, seen, history, first, out)


@kernel
def look(image: Array, points: Array, mesh: Mesh, source: Source, history: History, seen: Seen, out: Shaded) -> Any:
    """Softness, pose and light of the frame's face; whether it is the first of a sequence."""
    size = _extent(points)
    if history.age[0] > 0 and _jumped(points, history.points, size):
        history.age[0] = np.float32(0.0)
    first = history.age[0] == 0
    _copy(points, history.points)
    out.softness[0] = _softness(image, points, source, history, first)
    out.scale[0] = fit_pose(points, mesh.xyz, mesh.rigid, out.rotation)
    _front(mesh.dome, out.rotation, seen.front)
    basis = np.empty((len(points), TERMS), np.float32)
    light_basis(_rotated(mesh.normals, out.rotation), basis)
    colour.sample_colours(image, points, max(1, int(size * np.float32(0.0234))), seen.target)
    _target_light(basis, mesh.skin, seen, history, first)
    if not first and misled(basis, mesh.skin, mesh.hairline, seen, history):
        history.age[0], first = np.float32(0.0), True
        _target_light(basis, mesh.skin, seen, history, first)
    return first


@helper
def _softness(image: Array, points: Array, source: Source, history: History, first: bool) -> Any:
    """Blur still missing when the source's own, scaled to this face, has been taken off the frame's.

    What is measured counts from the next frame on: only then is it known whether a hand had come.
    """
    height = _range(points, 1)
    covered = not first and history.doubt[1] > UNBLURRED
    if covered:
        history.blur[1] = history.blur[0]
    history.blur[0] += CAMERA_PACE * (history.blur[1] - history.blur[0])
    if int(history.age[0]) % BLUR_EVERY == 0 and not covered:
        history.blur[1] = edge_blur(image, points, height)
    if first:
        history.blur[0] = history.blur[1]
    own = max(source.blur[0], NATURAL_BLUR) * height
    return np.sqrt(max(history.blur[0] * history.blur[0] - own * own - SAMPLING * SAMPLING, np.float32(0.0)))


@helper
def _extent(points: Array) -> Any:
    """Longer side of the landmarks' bounding box, pixels."""
    return max(_range(points, 0), _range(points, 1))


@helper
def _range(points: Array, axis: int) -> Any:
    low = high = points[0, axis]
    for v in range(len(points)):
        low, high = min(low, points[v, axis]), max(high, points[v, axis])
    return high - low


@helper
def _copy(values: Array, out: Array) -> None:
    """out (V, C) = values; a loop because numba takes seconds to compile an assignment of slices."""
    for v in range(values.shape[0]):
        for c in range(values.shape[1]):
            out[v, c] = values[v, c]


@helper
def _jumped(points: Array, before: Array, size: np.float32) -> Any:
    """The mean landmark moved by more than 0.3 face sizes: not the same face, or a cut."""
    total = np.float32(0.0)
    for v in range(len(points)):
        total += abs(points[v, 0] - before[v, 0]) + abs(points[v, 1] - before[v, 1])
    return total > np.float32(0.6) * size * np.float32(len(points))


@helper
def _rotated(vectors: Array, rotation: Array) -> Array:
    out = np.empty((len(vectors), 3), np.float32)
    for v in range(len(vectors)):
        for j in range(3):
            out[v, j] = vectors[v, 0] * rotation[0, j] + vectors[v, 1] * rotation[1, j] + vectors[v, 2] * rotation[2, j]
    return out


@helper
def _front(dome: Array, rotation: Array, out: Array) -> None:
    """1 where the face turns towards the camera, fading to 0 at its outline."""
    for v in range(len(dome)):
        facing = dome[v, 0] * rotation[0, 2] + dome[v, 1] * rotation[1, 2] + dome[v, 2] * rotation[2, 2]
        out[v] = ramp(0.05, 0.35, facing)


@helper
def _target_light(basis: Array, skin: Array, seen: Seen, history: History, first: bool) -> None:
    """The target's light into `history.light`, what it leaves unexplained into `residual`, how skin-like that is into `likeness`.

    With a history the fit is to the colour less its running mean, so that a hand is a clear outlier.
    """
    target, residual, count = seen.target, seen.residual, len(seen.target)
    trust, usual = np.empty(count, np.float32), np.empty((count, 3), np.float32)
    for v in range(count):
        trust[v] = skin[v] * seen.front[v] * (np.float32(1.0) if first else np.float32(1.0) - history.hidden[v])
        for c in range(3):
            usual[v, c] = target[v, c] - (np.float32(0.0) if first else history.mean[v, c])
    light = np.empty((TERMS, 3), np.float32)
    fit_light(usual, basis, trust, FIRST_LOOK if first else NEXT_LOOKS, light, residual)
    keep = np.float32(0.0) if first else np.float32(0.5)
    for i in range(TERMS):
        for c in range(3):
            history.light[i, c] = keep * history.light[i, c] + (np.float32(1.0) - keep) * light[i, c]
    for v in range(count):
        for c in range(3):
            residual[v, c] = target[v, c] - light_at(basis, v, history.light, c)
        seen.likeness[v] = skin_like(residual, v)


@kernel
def occlude(mesh: Mesh, seen: Seen, history: History, first: bool) -> None:
    """Which vertices are hidden, into `history`."""
    hair = np.empty(len(seen.likeness), np.float32)
    hair_cover(mesh.links, mesh.hairline, seen.likeness, hair)
    if not first:
        update_occlusion(mesh.links, mesh.shine, hair, seen.residual, history)
        return
    history.age[0], history.doubt[0] = np.float32(1.0), np.float32(0.0)
    history.watched[0] = np.float32(0.0) if history.watched[0] < 0 else YOUNG
    _copy(seen.residual, history.mean)
    for v in range(len(hair)):
        history.hidden[v] = hair[v]
        history.variance[v] = np.float32(60.0)


@kernel
def tint(mesh: Mesh, source: Source, seen: Seen, history: History, first: bool, out: Shaded) -> None:
    """Tone curve, then the offsets: remaining low-order light, mid-frequency skin colour, and the steps at the border. And the opacity."""
    target, residual, front, count = seen.target, seen.residual, seen.front, len(seen.target)
    fit, level = np.empty((count, 3), np.float32), np.empty(3, np.float32)
    for v in range(count):
        for c in range(3):
            fit[v, c] = target[v, c] - residual[v, c]
    colour.weighted_mean(fit, mesh.skin, level)
    colour.tone_curve(source.mean, level, out.curve)
    weight, known = np.empty(count, np.float32), np.empty(count, np.float32)
    for v in range(count):
        weight[v] = front[v] * source.alpha[v] * (np.float32(1.0) - history.hidden[v])
    ratio = colour.contrast(out.curve, source.colour, source.fit, residual, weight)
    history.contrast[0] += (np.float32(1.0) if first else CAMERA_PACE) * (ratio - history.contrast[0])
    colour.flatten(out.curve, source.mean, level, history.contrast[0])
    step = np.empty((count, 3), np.float32)
    for v in range(count):
        known[v] = seen.likeness[v] * source.weight[v] * (np.float32(1.0) - history.hidden[v])
        weight[v] = known[v] * mesh.skin[v] * front[v]
        for c in range(3):
            out.offset[v, c] = fit[v, c] - colour.toned(out.curve, c, source.fit[v, c])
            left = target[v, c] - out.offset[v, c] - colour.toned(out.curve, c, source.colour[v, c])
            step[v, c] = min(max(left, np.float32(-60.0)), np.float32(60.0))
    middle = np.empty((count, 3), np.float32)
    colour.blur_weighted(mesh.blur, step, weight, 0.06, middle)
    for v in range(count):
        weight[v] = known[v] * mesh.sides[v] * front[v]
    colour.take_shading(middle, step, weight, history.contrast[0], abs(out.rotation[0, 2]))
    for v in range(count):
        for c in range(3):
            out.offset[v, c] += middle[v, c]
    keep = np.float32(0.0) if first else np.float32(0.5)
    for j in range(len(source.ring)):
        v = source.ring[j]
        for c in range(3):
            rim = (step[v, c] - middle[v, c]) * np.sqrt(known[v])
            rim = min(max(rim, np.float32(-40.0)), np.float32(40.0))
            history.rim[j, c] = keep * history.rim[j, c] + (np.float32(1.0) - keep) * rim
    colour.add_membrane(source.membrane, history.rim, out.offset)
    for v in range(count):
        out.alpha[v] = source.alpha[v] * front[v] * (np.float32(1.0) - history.hidden[v])
