"""Choosing and rejecting."""

from __future__ import annotations

import math

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, spec
from realtime.builder.gate import Judgement, Verdict, fastest, judge, pending, time_sessions
from realtime.builder.roles import ROLES, Limit
from realtime.models.landmarks.fake import mesh_at

_LIMITS = (Limit("iou", 0.9, True), Limit("points", 0.03, False))


def test_passes_within_all_limits() -> None:
    assert judge({"iou": 0.9, "points": 0.03}, _LIMITS, 2.0).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("figures", "named"),
    [
        ({"iou": 0.5, "points": 0.0}, "iou 0.5, must be >= 0.9"),
        ({"iou": 1.0, "points": 0.1}, "points 0.1, must be <= 0.03"),
        ({"iou": math.nan, "points": 0.0}, "iou nan"),
        ({"iou": 1.0, "points": math.inf}, "points inf"),
        ({"iou": math.inf, "points": 0.0}, "iou inf"),
        ({"iou": 1.0}, "points nan"),
    ],
)
def test_says_which_limit_is_broken(figures: dict[str, float], named: str) -> None:
    got = judge(figures, _LIMITS, 2.0)
    assert got.verdict is Verdict.FAILED
    assert named in got.reason


def test_the_fastest_of_those_that_passed() -> None:
    slow, fast = judge({}, (), 10.0), judge({}, (), 5.0)
    broken = judge({}, _LIMITS, 1.0)
    assert fastest([slow, broken, fast]) == 2
    assert fastest([broken, None, pending("no GPU")]) is None


def test_a_lower_precision_must_be_clearly_faster() -> None:
    assert fastest([Judgement(Verdict.PASSED, ms=10.0), Judgement(Verdict.PASSED, ms=9.9)]) == 0
    assert fastest([Judgement(Verdict.PASSED, ms=10.0), Judgement(Verdict.PASSED, ms=9.0)]) == 1


def test_pending_says_why() -> None:
    assert pending("no GPU").reason == "not run: no GPU"


def test_sessions_are_timed_in_turns() -> None:
    sessions = [FakeSession([spec("x", 1)], [spec("y", 1)]) for _ in range(2)]
    times = time_sessions(sessions)
    assert all(time > 0 for time in times)
    assert sessions[0].runs == sessions[1].runs > 9


def test_detections_that_only_one_of_the_two_has_count_against_it() -> None:
    face = np.arange(14, dtype=np.float32)
    none = np.empty(0, np.float32)
    compare = ROLES["detector"].compare
    assert compare([face, none], [face, none]) == {"iou": pytest.approx(1.0), "points": 0.0}
    assert compare([face, face], [face, none])["iou"] == pytest.approx(0.5)
    assert compare([none, face], [face, face])["iou"] == pytest.approx(0.5)


def test_mesh_error_is_in_eye_distances() -> None:
    mesh = mesh_at(100, 100, 120)
    row = np.full((1, 3), mesh.presence, np.float32)
    eyes = float(np.linalg.norm(mesh.points[33, :2] - mesh.points[263, :2]))
    moved = mesh.points + np.float32([0.1 * eyes, 0, 0])
    figures = ROLES["landmarker"].compare([np.vstack([mesh.points, row])], [np.vstack([moved, row - 0.5])])
    assert figures == {"error": pytest.approx(0.1, rel=1e-3), "worst": pytest.approx(0.1, rel=1e-3), "presence": pytest.approx(0.5)}


def test_masks_and_embeddings() -> None:
    mask = np.zeros((1, 1, 4, 4), np.float32)
    mask[..., :2] = 1
    other = mask.copy()
    other[..., 2] = 1
    assert ROLES["segmenter"].compare([mask], [other]) == {"difference": pytest.approx(0.25), "iou": pytest.approx(2 / 3)}
    a, b = np.float32([1, 0]), np.float32([0.6, 0.8])
    assert ROLES["recogniser"].compare([a, a], [a, b]) == {"cosine": pytest.approx(0.8), "lowest": pytest.approx(0.6)}
    assert ROLES["network"].compare([a], [a]) == {"psnr": pytest.approx(120.0)}
    assert ROLES["network"].compare([a], [a + np.float32(0.1)]) == {"psnr": pytest.approx(20.0, rel=1e-3)}
