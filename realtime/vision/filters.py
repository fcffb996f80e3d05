"""Smoothing of landmark sequences: still when the head is still, no lag when it moves.

The One-Euro filter (Casiez, Roussel, Vogel: "1 Euro Filter", CHI 2012) is a low-pass whose cutoff rises with speed. Here it is split in
two. The motion of the head as a whole (an affine map of the mesh, which takes in turning and nodding) is one movement with one speed,
averaged over every vertex, so it can be smoothed hard at rest. What is left is the change of expression: each vertex has its own speed
there, so a blink or an opening mouth passes while the cheeks beside it stay still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from realtime.compiled import compiled, inner
from realtime.types import Floats

_TAU = 2.0 * np.pi
_FAST = {"reassoc", "contract", "arcp", "nsz"}  # not nnan or ninf: a bad number must stay visible


@dataclass(frozen=True, slots=True)
class OneEuroSettings:
    """Cutoffs in Hz; speeds are in face sizes per second, so the same numbers fit every face size and resolution."""

    min_cutoff: float = 1.0
    """Cutoff of the head's motion at rest."""
    beta: float = 25.0
    """Hz of cutoff gained per face size a second."""
    d_cutoff: float = 3.0
    """Cutoff of the head's speed estimate."""
    shape_min_cutoff: float = 1.0
    shape_beta: float = 150.0
    shape_d_cutoff: float = 6.0
    """The same three for the change of expression; quicker, because a blink closes within 100 ms. On clips of people this keeps eye and
    mouth opening better than one filter for all at the same stillness; most of a mesh network's jitter is of the mesh as a whole."""
    jump: float = 0.25
    """Mean displacement, in face sizes, from which the filter starts anew."""
    lag: float = 0.01
    """Face sizes that the smoothed head may stay behind at most: at the start of a quick move the speed is not known yet."""
    gap: float = 0.5
    """Seconds without a sample after which the filter starts anew."""

    def __post_init__(self) -> None:
        for name in ("min_cutoff", "d_cutoff", "shape_min_cutoff", "shape_d_cutoff", "jump", "lag", "gap"):
            if not getattr(self, name) > 0:
                raise ValueError(f"expected {name} above 0, got {getattr(self, name)}")


class LandmarkFilter:
    """Smooths a mesh over time, in place, at any and varying frame rate. Deterministic; holds the state of one face."""

    def __init__(self, settings: OneEuroSettings | None = None) -> None:
        self._settings = settings or OneEuroSettings()
        self._state: Floats | None = None
        self._at = 0.0

    @staticmethod
    def warm_up() -> None:
        """Compile or load the machine code, otherwise done at the second mesh: two seconds the first time ever, then hundredths."""
        mesh = np.zeros((4, 3), np.float32)
        mesh[:, 0] = range(4)
        smooth = LandmarkFilter()
        smooth.apply(smooth.apply(mesh, 0.0), 0.01)

    def reset(self) -> None:
        """Forget the face: the next mesh passes unchanged."""
        self._state = None

    def apply(self, points: Floats, at: float, size: float | None = None) -> Floats:
        """Replace `points`, (n, 3) float32 C-contiguous and finite, by their smoothed values and return them.

        `at` is the time of the sample in seconds, `size` the longer side of the face's box when known. The array stays the caller's. A mesh
        further than `jump` from the last one, or later than `gap`, passes unchanged and becomes the new state.
        """
        size = _extent(points) if size is None else size
        dt = at - self._at
        self._at = at
        if self._state is None or dt > self._settings.gap or self._state.shape != points.shape or size <= 0:
            return self._restart(points)
        # Repeated or reordered time stamps count as a millisecond: the filter then hardly moves instead of dividing by zero.
        if not self._step(points, size, max(dt, 1e-3)):
            return self._restart(points)
        return points

    def _restart(self, points: Floats) -> Floats:
        self._state = points.copy()
        self._motion = np.zeros((len(points), 2), np.float32)
        self._change = np.zeros((len(points), 2), np.float32)
        self._carried = np.empty((len(points), 3), np.float32)
        return points

    def _step(self, points: Floats, size: float, dt: float) -> bool:
        s = self._settings
        return bool(
            _one_euro(
                points, self._state, self._carried, self._motion, self._change, size, dt, s.min_cutoff, s.beta, s.d_cutoff,
                s.shape_min_cutoff, s.shape_beta, s.shape_d_cutoff, s.jump, s.lag,
            )
        )  # fmt: skip


def _extent(points: Floats) -> float:
    """The longer side of the bounding box in x and y: the face's size."""
    spread = points[:, :2].max(axis=0) - points[:, :2].min(axis=0)
    return float(spread.max())


@inner(inline="always")
def _gain(cutoff, dt):  # type: ignore[no-untyped-def]
    """Weight of the new sample in a first-order low-pass: 1 / (1 + tau / dt) with tau = 1 / (2 pi cutoff)."""
    turns = _TAU * cutoff * dt
    return turns / (1.0 + turns)


@inner(fastmath=_FAST)
def _copy(values, out):  # type: ignore[no-untyped-def]
    """out (n, 3) = values; a loop because numba takes seconds to compile an assignment of slices, for the error that it might raise."""
    for i in range(len(values)):
        for k in range(3):
            out[i, k] = values[i, k]


@inner(fastmath=_FAST)
def _blank():  # type: ignore[no-untyped-def]
    """Zeros (3, 3); one shape for all, because numba compiles each kind of array anew."""
    return np.zeros((3, 3))


@inner(inline="always")
def _weight(one, other, inverse_width):  # type: ignore[no-untyped-def]
    """Of a vertex, from where it is and where it was carried to: Geman and McClure's, 1 where the two agree."""
    dx, dy = one[0] - other[0], one[1] - other[1]
    w = 1.0 / (1.0 + (dx * dx + dy * dy) * inverse_width)
    return w * w


@inner(fastmath=_FAST)
def _means(points, state, carried, inverse_width):  # type: ignore[no-untyped-def]
    """Weighted means (3, 3): of the state in the first row, of the points in the second."""
    total = 0.0
    mean = _blank()
    for i in range(len(points)):
        w = _weight(points[i], carried[i], inverse_width)
        total += w
        for k in range(3):
            mean[0, k] += w * state[i, k]
            mean[1, k] += w * points[i, k]
    for k in range(3):
        mean[0, k] /= total
        mean[1, k] /= total
    return mean


@inner(fastmath=_FAST)
def _moments(points, state, carried, inverse_width, mean):  # type: ignore[no-untyped-def]
    """The two sides of the normal equations, (3, 3) each: state times state, displacement times state."""
    a, b = _blank(), _blank()
    for i in range(len(points)):
        w = _weight(points[i], carried[i], inverse_width)
        s = (state[i, 0] - mean[0, 0], state[i, 1] - mean[0, 1], state[i, 2] - mean[0, 2])
        for j in range(3):
            # Fit the displacement, so that the ridge pulls towards "did not move" rather than towards a point.
            d = points[i, j] - mean[1, j] - s[j]
            for k in range(3):
                a[j, k] += w * s[j] * s[k]
                b[j, k] += w * d * s[k]
    return a, b


@inner(fastmath=_FAST)
def _solved(a, b):  # type: ignore[no-untyped-def]
    """b times the inverse of a, both (3, 3), a symmetric; a slight ridge keeps a flat mesh solvable."""
    m = _blank()
    ridge = 1e-3 * (a[0, 0] + a[1, 1] + a[2, 2]) + 1e-9
    for k in range(3):
        a[k, k] += ridge
    c00 = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    c01 = a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2]
    c02 = a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1]
    c11 = a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0]
    c12 = a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2]
    c22 = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    det = a[0, 0] * c00 + a[0, 1] * (a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]) + a[0, 2] * (a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0])
    for j in range(3):
        b0, b1, b2 = b[j, 0] / det, b[j, 1] / det, b[j, 2] / det
        m[j, 0] = b0 * c00 + b1 * c01 + b2 * c02
        m[j, 1] = b0 * c01 + b1 * c11 + b2 * c12
        m[j, 2] = b0 * c02 + b1 * c12 + b2 * c22
    return m


@inner(fastmath=_FAST)
def _carry(points, state, carried, scale):  # type: ignore[no-untyped-def]
    """Write into `carried` the state moved by the affine map (3 x 3 and shift) that best takes it onto the points.

    Weighted least squares on centred coordinates; weights from the distances found in `carried` by the pass before (Geman-McClure with
    width `scale`), so that a moving mouth or lid does not pull the head along.
    """
    inverse_width = 1.0 / (scale * scale)
    mean = _means(points, state, carried, inverse_width)
    a, b = _moments(points, state, carried, inverse_width, mean)
    m = _solved(a, b)
    for i in range(len(points)):
        s0, s1, s2 = state[i, 0] - mean[0, 0], state[i, 1] - mean[0, 1], state[i, 2] - mean[0, 2]
        for j in range(3):
            carried[i, j] = mean[1, j] + state[i, j] - mean[0, j] + m[j, 0] * s0 + m[j, 1] * s1 + m[j, 2] * s2


@compiled(
    "boolean(float32[:,::1], float32[:,::1], float32[:,::1], float32[:,::1], float32[:,::1], float64, float64, float64, float64,"
    " float64, float64, float64, float64, float64, float64)",
    fastmath=_FAST,
)
def _one_euro(points, state, carried, motion, change, size, dt, cut, beta, d_cut, shape_cut, shape_beta, shape_d_cut, jump, lag):  # type: ignore[no-untyped-def]
    """One step: `points` and `state` become the smoothed mesh; False, with nothing changed, when the mesh has jumped.

    `motion` and `change` are low-passed velocities in pixels a second, of the head and of the expression. Like the published filter's
    common implementations they start from the smoothed position, so that any lag left over raises the speed and closes itself.
    """
    n = len(points)
    moved = 0.0
    for i in range(n):
        dx, dy = points[i, 0] - state[i, 0], points[i, 1] - state[i, 1]
        moved += np.sqrt(dx * dx + dy * dy)
    if moved > jump * size * n:
        return False
    _copy(points, carried)  # first pass: every weight 1
    _carry(points, state, carried, size)
    _carry(points, state, carried, 0.01 * size)  # 1% of the face: several times the network's noise, less than a closing lid

    per_second = 1.0 / dt
    gain = _gain(d_cut, dt)
    energy = 0.0
    for i in range(n):
        mx = motion[i, 0] + gain * ((carried[i, 0] - state[i, 0]) * per_second - motion[i, 0])
        my = motion[i, 1] + gain * ((carried[i, 1] - state[i, 1]) * per_second - motion[i, 1])
        motion[i, 0], motion[i, 1] = mx, my
        energy += mx * mx + my * my
    head = _gain(cut + beta * np.sqrt(energy / n) / size, dt)
    moved = 0.0  # this time of the head alone
    for i in range(n):
        dx, dy = carried[i, 0] - state[i, 0], carried[i, 1] - state[i, 1]
        moved += np.sqrt(dx * dx + dy * dy)
    if (1.0 - head) * moved > lag * size * n:
        head = 1.0 - lag * size * n / moved

    gain = _gain(shape_d_cut, dt)
    rise = shape_beta / size
    for i in range(n):
        rx, ry, rz = points[i, 0] - carried[i, 0], points[i, 1] - carried[i, 1], points[i, 2] - carried[i, 2]
        cx = change[i, 0] + gain * (rx * per_second - change[i, 0])
        cy = change[i, 1] + gain * (ry * per_second - change[i, 1])
        change[i, 0], change[i, 1] = cx, cy
        own = _gain(shape_cut + rise * np.sqrt(cx * cx + cy * cy), dt)
        state[i, 0] += head * (carried[i, 0] - state[i, 0]) + own * rx
        state[i, 1] += head * (carried[i, 1] - state[i, 1]) + own * ry
        state[i, 2] += head * (carried[i, 2] - state[i, 2]) + own * rz
    _copy(state, points)
    return True
