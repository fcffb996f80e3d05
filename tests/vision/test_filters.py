from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.vision.filters import LandmarkFilter, OneEuroSettings
from tests.tracking.scene import MESH

SIZE = 200.0
FACE = MESH * np.float32(SIZE) + np.float32((320, 240, 0))
NOISE = 0.003 * SIZE  # per vertex, as the mesh network's on a quiet camera
UPPER, LOWER = [159, 386], [145, 374]  # lids
LIPS = list(range(300, 330))


def run(sequence: np.ndarray, fps: float = 30.0, smooth: LandmarkFilter | None = None) -> np.ndarray:
    smooth = smooth or LandmarkFilter()
    return np.stack([smooth.apply(points.copy(), i / fps) for i, points in enumerate(sequence.astype(np.float32))])


def noisy(sequence: np.ndarray, seed: int = 0) -> np.ndarray:
    """Noise of each vertex, and as much of the whole mesh: the crop's own wandering."""
    rng = np.random.default_rng(seed)
    return sequence + rng.normal(0, NOISE, sequence.shape) + rng.normal(0, NOISE, (len(sequence), 1, 3))


def still(frames: int) -> np.ndarray:
    return np.repeat(FACE[None], frames, axis=0)


def jitter(sequence: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(sequence[:, :, :2], axis=0), axis=2).mean())


def shift(sequence: np.ndarray, x: np.ndarray) -> np.ndarray:
    moved = sequence.copy()
    moved[:, :, 0] += x[:, None]
    return moved


@pytest.mark.parametrize(("fps", "share"), [(15, 0.65), (30, 0.55), (60, 0.45)])
def test_a_still_head_is_still(fps, share):
    raw = noisy(still(120))
    assert jitter(run(raw, fps)[10:]) < share * jitter(raw[10:])


@pytest.mark.parametrize(("fps", "share"), [(15, 0.5), (30, 0.35), (60, 0.25)])
def test_a_mesh_that_shakes_as_a_whole_is_still(fps, share):
    raw = still(120) + np.random.default_rng(5).normal(0, NOISE / 2, (120, 1, 3))
    assert jitter(run(raw, fps)[10:]) < share * jitter(raw[10:])


def test_a_still_head_keeps_its_place():
    error = run(noisy(still(120)))[20:] - FACE
    assert np.abs(error.mean(0)).max() < 2 * NOISE
    assert np.sqrt((error**2).mean()) < 1.4 * NOISE  # raw: NOISE twice over, 1.41


@pytest.mark.parametrize("fps", [15, 30, 60])
@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0])
def test_a_moving_head_is_not_lagged(fps, speed):
    seconds = 1.5
    frames = int(seconds * fps)
    path = speed * SIZE * np.arange(frames) / fps
    out = run(shift(still(frames), path), fps)
    lag = path[frames // 2 :] - (out[frames // 2 :, :, 0] - FACE[:, 0]).mean(1)
    # The cutoff follows the speed, so the lag stays near 1 / (2 pi beta) = 0.6% of the face at any speed.
    assert 0 <= lag.max() < 0.01 * SIZE


@pytest.mark.parametrize("step", [0.05, 0.1, 0.2, 0.4])
def test_a_sudden_move_is_not_lagged(step):
    # From rest to a steady speed at once: not even the first frame stays behind.
    path = step * SIZE * np.maximum(np.arange(40) - 20, 0)
    out = run(shift(still(40), path))
    lag = path - (out[:, :, 0] - FACE[:, 0]).mean(1)
    assert np.abs(lag).max() < 0.0101 * SIZE


def test_a_turning_head_is_not_lagged():
    angle = np.radians(60) * np.sin(2 * np.pi * 0.7 * np.arange(90) / 30)
    centred = FACE - FACE.mean(0)
    turned = np.stack([centred @ np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]).T for a in angle])
    error = np.linalg.norm((run(turned) - turned)[:, :, :2], axis=2)
    assert np.percentile(error, 98) < 0.02 * SIZE


def test_a_blink_passes_nearly_whole():
    # Closed within 100 ms, open again within 150 ms: three frames down, four up.
    close = np.array([0, 0.33, 0.67, 1, 1, 0.75, 0.5, 0.25, 0])
    opening = 0.05 * SIZE
    amount = np.zeros(60)
    amount[20:29] = close
    sequence = noisy(still(60)).astype(np.float32)
    sequence[:, UPPER, 1] += (opening * amount)[:, None]
    out = run(sequence)
    seen = (out[:, UPPER, 1] - FACE[UPPER, 1]).mean(1) / opening
    assert seen[20:29].max() > 0.85
    assert np.corrcoef(seen[15:35], amount[15:35])[0, 1] > 0.95
    assert abs(int(np.argmax(seen)) - 23.5) <= 1.5


def test_a_blink_does_not_move_the_rest_of_the_face():
    amount = np.zeros(60)
    amount[20:29] = np.array([0, 0.33, 0.67, 1, 1, 0.75, 0.5, 0.25, 0])
    sequence = still(60).astype(np.float32)
    sequence[:, UPPER, 1] += (0.05 * SIZE * amount)[:, None]
    rest = np.delete(run(sequence) - FACE, UPPER, axis=1)
    assert np.abs(rest).max() < 0.001 * SIZE


def test_a_talking_mouth_keeps_its_opening():
    # Four syllables a second, of a tenth of the face.
    opening = 0.1 * SIZE * (0.5 - 0.5 * np.cos(2 * np.pi * 4 * np.arange(90) / 30))
    sequence = noisy(still(90)).astype(np.float32)
    sequence[:, LIPS, 1] += opening[:, None]
    seen = (run(sequence)[:, LIPS, 1] - FACE[LIPS, 1]).mean(1)
    slope = np.polyfit(opening[10:], seen[10:], 1)[0]
    assert slope > 0.9
    assert np.corrcoef(opening[10:], seen[10:])[0, 1] > 0.97


def test_smoothing_works_in_place_and_returns_the_callers_array():
    smooth = LandmarkFilter()
    smooth.apply(FACE.copy(), 0.0)
    points = FACE + np.float32(1)
    assert smooth.apply(points, 1 / 30) is points
    assert not np.array_equal(points, FACE + np.float32(1))


def test_a_jump_starts_anew():
    smooth = LandmarkFilter()
    smooth.apply(FACE.copy(), 0.0)
    far = FACE + np.float32((0.3 * SIZE, 0, 0))
    assert np.array_equal(smooth.apply(far.copy(), 1 / 30), far)


def test_a_gap_starts_anew():
    smooth = LandmarkFilter()
    smooth.apply(FACE.copy(), 0.0)
    later = FACE + np.float32((5, 0, 0))
    assert np.array_equal(smooth.apply(later.copy(), 2.0), later)


def test_reset_forgets():
    smooth = LandmarkFilter()
    smooth.apply(FACE.copy(), 0.0)
    smooth.reset()
    later = FACE + np.float32((5, 0, 0))
    assert np.array_equal(smooth.apply(later.copy(), 1 / 30), later)


def test_time_that_stands_still_or_goes_back_is_harmless():
    smooth = LandmarkFilter()
    for at in (1.0, 1.0, 0.5, 0.51):
        out = smooth.apply(FACE + np.float32(at), at)
        assert np.isfinite(out).all() and np.abs(out - FACE).max() < 2


def test_the_frame_rate_may_vary():
    times = np.cumsum(np.random.default_rng(2).uniform(0.008, 0.1, 80))
    smooth = LandmarkFilter()
    speed = 1.0 * SIZE
    lags = []
    for at in times:
        points = FACE + np.float32((speed * at, 0, 0))
        wanted = points.copy()
        lags.append(float((wanted - smooth.apply(points, float(at)))[:, 0].mean()))
    assert max(lags[20:]) < 0.015 * SIZE


@settings(max_examples=40, deadline=None)
@given(
    st.floats(20, 2000), st.floats(-1e4, 1e4), st.floats(0.001, 0.4), st.floats(0, 0.1), st.integers(0, 1000), st.booleans()
)
def test_output_stays_between_the_samples(size, place, dt, spread, seed, flat):
    """Smoothing never invents motion: each vertex stays within the range of its samples, give or take the affine fit."""
    rng = np.random.default_rng(seed)
    face = MESH * np.float32((1, 1, 0 if flat else 1))
    sequence = np.stack([(face + rng.normal(0, spread, 3)) * size + place for _ in range(6)]).astype(np.float32)
    out = run(sequence, fps=1 / dt)
    slack = 0.02 * size + 1e-4 * abs(place) + 1e-3
    assert (out >= sequence.min(0) - slack).all() and (out <= sequence.max(0) + slack).all()


@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0])
def test_the_same_at_every_size(scale):
    raw = noisy(still(40))
    assert np.allclose(run(raw * scale) / scale, run(raw), atol=0.002 * SIZE)


@pytest.mark.parametrize("wrong", ["min_cutoff", "d_cutoff", "shape_min_cutoff", "shape_d_cutoff", "jump", "gap"])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=wrong):
        OneEuroSettings(**{wrong: 0.0})
