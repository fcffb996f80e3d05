"""Benchmarks of networks and of what is around them, on as little as shows that they measure what they say."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

from benchmarks import contest, engines, finishes, fullsize, marking, models, quality
from benchmarks.cells import OURS, THEIRS, Cell
from benchmarks.harness import Limit
from realtime.sources.synthetic import bundled_person


@pytest.fixture(scope="module")
def scene():
    return models.Scene()


def test_the_scene_is_a_face_of_the_same_size_that_moves_to_and_fro(scene):
    played = scene.played()
    faces = [next(played)[1].box for _ in range(2 * models.STEPS - 1)]
    assert all(abs(face.width - models.FACE) < 30 for face in faces)
    assert faces[0] == faces[-1] != faces[models.STEPS // 2]
    first, again = next(scene.played())[0], next(scene.played())[0]
    first[...] = 0
    assert again.any(), "each frame is a copy"


def test_what_is_around_networks_is_measured_without_the_networks_and_limits_are_theirs(scene, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "DISTINCT", ("inswapper_128",))
    monkeypatch.setattr(models, "_insightface", lambda path: lambda image, face: 1.0)
    limits = {"around_128": Limit(most=1000), "insightface_over_ours": Limit(least=1e9)}
    rows = {(row.name, row.metric): row for row in models.around_each(tmp_path, scene, Namespace(frames=2, rounds=2), limits)}
    around = {name: row for (name, metric), row in rows.items() if metric == "around the network"}
    assert around.keys() == {"inswapper_128", "inswapper_128 in 4 passes", "dfm, 160 pixels", models.INSIGHTFACE}
    assert all(row.value > 0 and row.note.startswith("2 rounds") for row in around.values())
    assert around["inswapper_128"].limit == limits["around_128"] and around[models.INSIGHTFACE].value == 1000
    ratio = rows["inswapper_128", "insightface over ours"]
    assert ratio.value == pytest.approx(1000 / around["inswapper_128"].value, rel=0.7) and not ratio.ok


def test_a_network_of_the_published_size_is_timed_and_left_out_where_memory_is_short(tmp_path, monkeypatch, capsys):
    (row,) = fullsize.of_published_size(tmp_path, ["w600k_mbf"], 1)
    assert row.name == "w600k_mbf at full size" and 0.1 < row.value < 60_000 and "0.438 G multiply-adds; best of 1" in row.note
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(fullsize, "ROOM", 2**50)
    assert fullsize.of_published_size(tmp_path, ["recognisers"], 1) == []
    assert capsys.readouterr().out.count("of memory") == 2


@pytest.mark.parametrize(
    ("has", "limit", "told"),
    [
        ([], None, {"with AMX": "this processor has none", "with AVX-512 VNNI": "this processor has none"}),
        (["avx512_vnni"], Limit(least=2.5), {"with AMX": "this processor has none"}),
        (["amx_int8", "avx512_vnni"], Limit(least=8), {"with AVX-512 VNNI": "this processor has better"}),
    ],
)
def test_what_a_processor_has_no_instructions_for_is_told_and_not_asked_of_it(has, limit, told, monkeypatch):
    monkeypatch.setattr(engines, "instructions", lambda: has)
    limits = {"twin_amx": Limit(least=8), "twin_vnni": Limit(least=2.5), "path": Limit(least=1.5)}
    assert engines.bound(limits) == limit
    rows = {row.metric: row for row in engines.unshown(limits)}
    assert {metric: row.note.partition("put to the test: ")[2] for metric, row in rows.items()} == told
    assert all(row.ok and np.isnan(row.value) for row in rows.values())


@pytest.mark.models
@pytest.mark.usefixtures("models")
def test_our_side_of_the_contest_swaps_and_leaves_networks_out(monkeypatch):
    monkeypatch.setattr(contest, "find_spec", lambda name: None)
    sides = contest.measure(Cell(rounds=1, each=2))
    assert sides.overhead.keys() == {OURS} and THEIRS not in sides.total
    assert len(sides.total[OURS]) == len(sides.overhead[OURS]) == 2
    assert all(0 < overhead < total for overhead, total in zip(sides.overhead[OURS], sides.total[OURS], strict=True))


def test_every_step_without_a_network_is_measured_and_only_what_a_camera_may_have_has_a_limit(scene):
    rows = {row.name: row for row in finishes.plain_steps(scene, 128, 2, {"live_128": Limit(most=1000)})}
    assert all(row.value > 0 for row in rows.values())
    assert [name for name, row in rows.items() if row.limit is None] == ["poisson, 128 pixels"]


def test_a_mark_costs_time_and_quality_and_wraps_nothing():
    assert marking.cost("small", (320, 240), 3, None).value > 0
    person = bundled_person()
    weak, strong = (marking.quality(person, strength, Limit(least=45)) for strength in (1, 2))
    assert weak.ok and weak.value == pytest.approx(48.1, abs=0.3) and strong.value == pytest.approx(weak.value - 6, abs=0.3)
    assert marking.wrapped(Limit(most=0)).ok


def test_an_outline_moves_evenly_between_keyframes_and_is_nowhere_beside_them():
    square = np.float32([[0, 0], [10, 0], [10, 10]])
    keys = {10: square, 20: square + 10}
    np.testing.assert_allclose(quality.outline_at(keys, 15), square + 5)
    np.testing.assert_allclose(quality.outline_at(keys, 10), square)
    assert quality.outline_at(keys, 9) is None and quality.outline_at(keys, 21) is None and quality.outline_at({}, 1) is None
