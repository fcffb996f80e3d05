"""The measured pipeline: what it says of a run whose ages are known, and that the real one runs."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import live, scaling
from benchmarks.cells import OURS, THEIRS, Cell, Sides
from benchmarks.gpu import Sleeping, Slowed
from benchmarks.harness import Limit
from benchmarks.live import Case, Outcome, Viewer, measure, people
from benchmarks.peers import rows_of
from benchmarks.simulated import rows_of as simulated_rows
from benchmarks.stamp import Stamped
from realtime.backends.fake import FakeSession, spec
from realtime.models.detectors.fake import FakeDetector, face_at
from realtime.sources.synthetic import SyntheticSource
from realtime.types import OutputFrame, State, StreamFormat

STAGES = {"infer": 5.0, "blend": 1.0}


def aged(grows_by=0.0, noise=2.0, count=1200):
    """Two minutes of frames whose age grows by so many milliseconds a minute."""
    times = np.linspace(0, 120, count)
    ages = 10 + grows_by * times / 60 + np.random.default_rng(1).normal(0, noise, count)
    return Outcome(fps=30, times=times.tolist(), ages=ages.tolist(), stages=STAGES, faces=1.0, swapped=1.0)


def test_the_slope_of_a_growing_age_is_told_from_noise():
    slope, error = aged(3.0).slope()
    assert slope == pytest.approx(3, abs=0.3) and error < 0.3
    slope, error = aged(0.0).slope()
    assert abs(slope) < 3 * error
    assert np.isnan(Outcome(times=[0.0, 1.0], ages=[1.0, 2.0]).slope()).all()


@pytest.mark.parametrize(("grows_by", "kept"), [(0.0, True), (5.0, False)])
def test_an_age_that_grows_misses_the_limit(grows_by, kept):
    point = scaling.Point("rate", "30 fps", Case(), aged(grows_by))
    (row,) = (row for row in scaling.rows_of(point, {"growth": Limit(most=0.5)}) if row.metric == "growth of the age beyond noise")
    assert row.ok is kept


def test_every_axis_varies_one_thing_and_is_drawn():
    for axis in scaling.AXES:
        varied = scaling.cases(axis, Case(), 600.0)
        assert len(set(varied.values())) == len(varied) >= (1 if axis == scaling.TIME else 2)
    watched = replace(aged(), memory=[(0.0, 300.0), (1.0, 310.0)])
    names = [chart.name for chart in scaling.charts([scaling.Point("faces", "2 faces", Case(faces=2), watched)])]
    assert names == ["faces-age", "faces-cost", "faces-timeline", "faces-memory"]


@pytest.mark.parametrize(("grows_by", "kept"), [(0.0, True), (5.0, False)])
def test_memory_that_grows_over_time_misses_the_limit(grows_by, kept):
    outcome = replace(aged(), memory=[(float(n), 300.0 + 100.0 * (n < 10) + grows_by * (n > 70)) for n in range(100)])
    point = scaling.Point(scaling.TIME, "10 minutes", Case(), outcome)
    (row,) = (row for row in scaling.rows_of(point, {"memory": Limit(most=2.0)}) if row.metric == "growth of memory")
    assert row.ok is kept


def test_a_run_without_frames_misses_its_limits():
    rows = simulated_rows("fast", Outcome(), {"fast_p50": Limit(most=22), "fast_fps": Limit(least=29.5)})
    assert sum(not row.ok for row in rows) == 2


def test_the_ratio_is_that_of_rounds_and_limits_are_for_one_face():
    sides = Sides({OURS: [4.0, 5.0, 6.0], THEIRS: [90.0] * 3}, {OURS: [1.0, 2.0, 9.0], THEIRS: [20.0, 40.0, 50.0]})
    limits = {"ratio_720p": Limit(least=12), "overhead_720p": Limit(most=1)}
    rows = {row.metric: row for row in rows_of(Cell("720p", 1, each=1), sides, limits)}
    assert rows["insightface over ours"].value == pytest.approx(20) and rows["insightface over ours"].ok
    assert rows["ours: overhead"].value == 2.0 and not rows["ours: overhead"].ok
    assert rows["ours: total"].value == 5.0
    assert all(row.limit is None for row in rows_of(Cell("720p", 3, each=1), sides, limits))
    alone = Sides({OURS: [4.0]}, {OURS: [1.0]})
    assert [row.metric for row in rows_of(Cell(), alone, limits)] == ["ours: total", "ours: overhead"]


def test_a_simulated_network_takes_its_time_and_a_detector_too():
    session = Sleeping(FakeSession([spec("x", 1)], [spec("y", 1)], lambda feeds: {"y": feeds["x"] + 1}), 0.05)
    start = time.perf_counter()
    outputs = session.run({"x": np.float32([2])})
    assert outputs["y"][0] == 3 and time.perf_counter() - start >= 0.05
    start = time.perf_counter()
    assert len(Slowed(FakeDetector([[face_at(50, 50, 40)]]), 0.05).detect(np.zeros((100, 100, 3), np.uint8))) == 1
    assert time.perf_counter() - start >= 0.05


def test_the_viewer_reads_what_the_camera_painted():
    viewer = Viewer()
    viewer.open(StreamFormat(640, 480, 30, live=True))
    with Stamped(SyntheticSource(size=(640, 480), fps=100)) as source:
        source.open()
        frame = source.read(5)
    assert frame is not None
    viewer.write(OutputFrame(-1, 0.0, State.STARTING, frame.image, frame.image[..., 0]))
    assert viewer.counted_from is None, "a placeholder is no frame of the camera"
    viewer.write(OutputFrame(0, frame.captured_at, State.SWAPPED, frame.image, frame.image[..., 0]))
    viewer.write(OutputFrame(1, 0.0, State.SWAPPED, frame.image, np.zeros((720, 640), np.uint8)))
    (_, read, blank) = viewer.seen
    assert blank.age is None
    assert viewer.counted_from == read.at + live.WARM_UP
    assert read.age == pytest.approx(read.at - frame.captured_at, abs=2e-6)


@pytest.mark.parametrize("faces", [1, 2, 4, 8])
def test_several_people_fill_the_picture(faces):
    assert people(Case(width=640, height=480, faces=faces)).shape == (480, 640, 3)


@pytest.mark.models
@pytest.mark.usefixtures("models")
def test_a_short_run_of_the_real_pipeline():
    """Fast or slow: the time that counts begins with the first frame, however long a busy machine takes to start."""
    outcome = measure(Case(width=640, height=480, fps=15, seconds=1.5, swap_ms=5, detect_ms=3))
    assert outcome.fps > 0 and outcome.core > 0
    assert len(outcome.ages) == len(outcome.times) > 0 and min(outcome.ages) > 5
    assert outcome.swapped > 0 and outcome.detections >= 1
