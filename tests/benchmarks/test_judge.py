"""The judge of swapped faces can tell good from bad: each measure on pictures and meshes of which the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import judge
from realtime.models.landmarks.fake import FakeLandmarker, mesh_at
from realtime.types import Box

FACE = mesh_at(160, 120, 120).points


class Recogniser:
    """Knows a picture by its mean colour."""

    name, same_person = "colour", 0.5

    def embed(self, image, points):
        mean = image.reshape(-1, 3).mean(0) + 1
        return (mean / np.linalg.norm(mean)).astype(np.float32)


def grey(level=100):
    return np.full((240, 320, 3), level, np.uint8)


def mesh(**places):
    """A face of which the named vertices (v33, ...) lie elsewhere."""
    points = FACE.copy()
    for name, place in places.items():
        points[int(name[1:]), :2] = place
    return points


def test_displacement_is_in_distances_of_the_eyes_corners():
    points = mesh(v33=(100, 100), v263=(150, 100))
    assert judge.displacement(points, points) == 0
    assert judge.displacement(points, points + np.float32([3, 4, 0])) == pytest.approx(0.1)


def test_openness_of_eyes_and_mouth_is_a_ratio_of_lengths():
    eyes = {"v159": (110, 95), "v145": (110, 105), "v33": (100, 100), "v133": (120, 100)}
    other = {"v386": (140, 95), "v374": (140, 100), "v362": (130, 100), "v263": (150, 100)}
    assert judge.eye_openness(mesh(**eyes, **other)) == pytest.approx((0.5 + 0.25) / 2)
    assert judge.mouth_openness(mesh(v13=(125, 140), v14=(125, 150), v33=(100, 100), v263=(150, 100))) == pytest.approx(0.2)


def test_correlation_is_not_a_number_where_nothing_varies_or_too_little_is_known():
    assert judge.correlation([(x, 2 * x + 1) for x in range(6)]) == pytest.approx(1)
    assert judge.correlation([(x, -x) for x in range(6)]) == pytest.approx(-1)
    assert math.isnan(judge.correlation([(x, 1.0) for x in range(6)]))
    assert math.isnan(judge.correlation([(0, 0), (1, 1)]))


def test_changes_are_counted_outside_the_box_only():
    before, after = grey(), grey()
    after[20:40, 30:50] = 200
    assert judge.changed_outside(before, after, Box(30, 20, 50, 40)) == 0
    assert judge.changed_outside(before, after, Box(30, 20, 40, 40)) == pytest.approx(200 / (240 * 320))


def test_changes_inside_an_outline_are_a_mean_of_levels():
    before, after = grey(), grey()
    after[60:100, 60:100] += 8
    outline = np.float32([[65, 65], [95, 65], [95, 95], [65, 95]])
    assert judge.changed_inside(before, after, outline) == pytest.approx(8)
    assert judge.changed_inside(before, after, outline + np.float32([120, 0])) == 0
    assert math.isnan(judge.changed_inside(before, after, None))


def pasted(level, soft):
    """A disc of another grey in the face's place, with a hard or a soft edge."""
    rows, columns = np.mgrid[:240, :320]
    distance = np.hypot(columns - 160, rows - 120)
    alpha = np.clip((40 - distance) / 30, 0, 1) if soft else (distance < 40)
    return np.repeat((100 + (level - 100) * alpha)[..., None], 3, 2).astype(np.uint8)


def test_a_hard_edge_is_a_seam_and_a_soft_one_is_less_of_one():
    assert judge.seam(grey(), grey(), FACE) == 0
    hard, soft = (judge.seam(grey(), pasted(180, kind), FACE) for kind in (False, True))
    assert hard > 5 and soft < hard / 2


def test_flicker_sees_trembling_pictures_and_not_a_still_one():
    meshes = [FACE] * 9
    still = [grey()[..., 0]] * 9
    trembling = [grey(100 + 6 * (n % 2))[..., 0] for n in range(9)]
    rising = [grey(100 + 3 * n)[..., 0] for n in range(9)]
    assert judge.flicker(still, meshes) == 0
    assert judge.flicker(trembling, meshes) == pytest.approx(6, abs=0.2)
    assert judge.flicker(rising, meshes) == pytest.approx(0, abs=0.1)
    assert math.isnan(judge.flicker(still[:4], meshes[:4]))


def test_a_score_of_a_frame_that_was_not_touched():
    judged = judge.Judge(FakeLandmarker([mesh_at(160, 120, 120)]), Recogniser())
    blue = grey()
    blue[..., 0] = 250
    seen = judged.see(grey(), FACE)
    score = judged.score(judged.embedding(blue, FACE), grey(), seen, grey())
    assert score.identity == score.base < 0.99 and score.kept == pytest.approx(1)
    assert score.landmarks == 0 and score.seam == 0 and score.outside == 0 and math.isnan(score.hand)
    assert score.eyes[0] == score.eyes[1] and score.mouth[0] == score.mouth[1]
    turned = judged.score(judged.embedding(blue, FACE), grey(), seen, blue)
    assert turned.identity == pytest.approx(1) and turned.outside > 0.5
