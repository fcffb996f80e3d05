"""What the benchmarks of the whole program make of a run whose figures are known."""

from __future__ import annotations

import sys

import pytest

from benchmarks import latency, profiles
from benchmarks.harness import Limit
from realtime.errors import RealtimeError


def report(**changes):
    known = {
        "fps": 29.9,
        "dropped": 2,
        "frames_in": 900,
        "frames_out": 898,
        "age_ms": {"p50": 8.0, "p95": 12.0, "p99": 30.0},
        "states": {"starting": 18, "swapped": 880},
        "first_swap_seconds": 2.5,
        "roles": {"detector": {"model": "yunet_320"}, "landmarker": {"model": "mesh"}},
    }
    return known | changes


def samples(grows=0.0, core=0.25):
    """Four a second over a minute; memory fills up in the first ten seconds, and then grows by so many MB a minute."""
    times = [n / 4 for n in range(241)]
    return [(at, 100 + 30 * min(at, 10.0) + grows * max(at - 10, 0) / 60, 3.0 * min(at, 2.0) + core * at) for at in times]


def by_metric(rows):
    return {row.metric: row for row in rows}


def test_a_camera_that_lost_frames_or_came_late_misses_its_limits():
    limits = {"camera_30_dropped": Limit(most=0), "camera_30_p50": Limit(most=9), "camera_30_p99": Limit(most=25)}
    rows = by_metric(latency.camera(30, [report(), report(), report(dropped=0)], limits))
    assert not rows["frames dropped"].ok and rows["frames dropped"].note == "3 rounds 0 to 2, 2700 in all"
    assert rows["age p50"].ok and not rows["age p99"].ok and rows["age p95"].limit is None
    assert rows["swapped"].value == pytest.approx(100 * 880 / 898)
    nothing = latency.camera(30, [report(frames_out=0, states={})], {})
    assert by_metric(nothing)["swapped"].value == 0


def test_a_moment_in_which_the_machine_did_something_else_is_told_but_is_not_the_figure():
    late = {"p50": 20.0, "p95": 90.0, "p99": 300.0}
    rows = by_metric(latency.camera(30, [report(), report(age_ms=late), report()], {"camera_30_p50": Limit(most=9)}))
    assert rows["age p50"].value == 8 and rows["age p50"].ok and rows["age p50"].note == "3 rounds 8 to 20"


def test_the_share_of_a_core_leaves_the_start_out():
    assert latency.Outcome(report(), samples(core=0.25)).core() == pytest.approx(0.25)
    short = latency.Outcome(report(), samples()[:4]).core()
    assert short != short, "a run that ended within the warm-up says nothing"


@pytest.mark.parametrize(("grows", "kept"), [(0.0, True), (20.0, False)])
def test_memory_that_fills_up_at_the_start_is_no_growth_and_what_goes_on_is(grows, kept):
    limits = {"memory_growth_mb": Limit(most=5), "memory_mb": Limit(most=450), "start_seconds": Limit(most=2)}
    rows = by_metric(latency.memory(latency.Outcome(report(), samples(grows)), limits))
    assert rows["growth"].ok is kept and rows["growth"].value == pytest.approx(0.75 * grows * 50 / 60, abs=0.3)
    assert rows["most"].value == pytest.approx(400 + grows * 50 / 60)
    assert not rows["to the first swapped frame"].ok


def test_a_file_is_as_fast_as_the_median_of_its_rounds_and_lacks_the_most_frames_of_any():
    rounds = [report(fps=fps, frames_out=frames) for fps, frames in ((140.0, 900), (155.0, 898), (300.0, 900))]
    rows = by_metric(latency.file_rows(rounds, {"file_fps": Limit(least=150), "file_missing": Limit(most=0)}))
    assert rows["frames out"].value == 155.0 and rows["frames out"].ok and "3 rounds 140 to 300" in rows["frames out"].note
    assert rows["frames missing"].value == 2 and not rows["frames missing"].ok


def test_a_profile_is_told_with_its_models(monkeypatch):
    monkeypatch.setattr(latency, "program", lambda *arguments: latency.Outcome(report(), samples()))
    rows = by_metric(profiles.profile("fast", 60))
    assert rows["frames out"].note == "yunet_320, mesh"
    assert rows["share of one core"].value == pytest.approx(25) and rows["memory"].value == pytest.approx(400)


def test_the_program_that_fails_is_a_sentence_with_what_it_said():
    with pytest.raises(RealtimeError, match=r"(?s)the measured program failed: .*no such camera at all"):
        latency.program("--input", "no such camera at all")


def test_the_film_that_is_played_has_every_frame(tmp_path, monkeypatch):
    av = pytest.importorskip("av")
    monkeypatch.setattr(latency, "FILE_FRAMES", 12)
    monkeypatch.setattr(latency, "SIZE", (320, 240))
    latency.make_file(tmp_path / "moving.mp4")
    with av.open(str(tmp_path / "moving.mp4")) as film:
        frames = [frame.to_ndarray(format="gray") for frame in film.decode(video=0)]
    assert len(frames) == 12 and frames[0].shape == (240, 320)
    assert (frames[0] != frames[11]).any(), "it moves"


def test_a_process_is_watched_until_it_ends():
    import subprocess

    with subprocess.Popen([sys.executable, "-c", "x = bytearray(50_000_000); import time; time.sleep(1)"]) as process:
        seen = latency.watched(process)
    assert process.returncode == 0 and seen
    assert [at for at, _, _ in seen] == sorted(at for at, _, _ in seen)
    assert max(size for _, size, _ in seen) > 50
