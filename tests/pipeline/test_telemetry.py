from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from realtime.errors import SinkError, UsageError
from realtime.pipeline.telemetry import FrameLog, Series, Telemetry
from realtime.types import Frame, Patch, State, Verdict

PICTURE = np.zeros((2, 2, 3), np.uint8)


def verdict(seq: int, state: State, captured_at: float, **times: float) -> Verdict:
    return Verdict(Frame(seq, captured_at, PICTURE), state, reason="because", times=times)


def test_series_keeps_the_newest_in_order():
    series = Series(kept=3)
    for value in range(5):
        series.add(value)
    assert series.values.tolist() == [2, 3, 4]
    assert series.percentile(100) == 4


def test_an_empty_series_has_no_percentile():
    assert Series().percentile(50) is None


def test_report_counts_and_times():
    telemetry = Telemetry()
    telemetry.started_at = 9.0
    for n in range(5):
        telemetry.captured(0.001)
        state = State.LOST if n == 1 else State.SWAPPED
        telemetry.sent(verdict(n, state, 10 + n * 0.1, infer=0.004, swap=0.002), 0.003, 10 + n * 0.1 + 0.02)
    report = telemetry.report(dropped=2, seconds=0.5, roles={"swapper": {"model": "fake", "backend": "none"}})
    assert (report["frames_in"], report["frames_out"], report["dropped"], report["lost_frames"]) == (5, 5, 2, 1)
    assert report["fps"] == pytest.approx(10)
    assert report["age_ms"] == {"p50": 20, "p95": 20, "p99": 20, "max": 20}
    assert report["stage_ms"] == {"capture": 1, "infer": 4, "blend": 3}
    assert report["part_ms"]["swap"] == 2
    assert report["reasons"] == {"because": 1}
    assert report["part_ms"]["detect"] is None
    assert report["first_swap_seconds"] == pytest.approx(1.02)
    json.dumps(report)


def test_failures_are_counted_by_what_was_raised_and_forgotten_when_they_end():
    telemetry = Telemetry()
    for n, failed in enumerate([True, True, False]):
        one = Verdict(Frame(n, 1.0, PICTURE), State.STARTING, reason="lost the device", failed=failed)
        telemetry.sent(one, 0.003, 1.1)
        assert telemetry.failing is failed
    assert telemetry.report(0, 1.0, {})["failures"] == {"lost the device": 2}
    telemetry.hanging(5.0)
    assert telemetry.report(0, 1.0, {})["failing"] is True
    telemetry.sent(verdict(4, State.SWAPPED, 1.0), 0.003, 1.1)
    assert telemetry.report(0, 1.0, {})["failing"] is False


def test_report_of_nothing_is_still_a_report():
    report = Telemetry().report(0, 0.0, {})
    assert report["frames_out"] == 0
    assert report["fps"] is None
    json.dumps(report)


def test_frame_log_is_one_json_line_a_frame(tmp_path):
    path = tmp_path / "frames.jsonl"
    with FrameLog(path) as log:
        log.write(verdict(3, State.SWAPPED, 1.0, infer=0.004), 0.0125)
        log.write(verdict(4, State.LOST, 1.0), 0.01)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {"seq": 3, "state": "swapped", "reason": "because", "age_ms": 12.5, "faces": 0, "times_ms": {"infer": 4.0}}
    assert second["state"] == "lost"


def test_how_many_faces_were_swapped_is_told(tmp_path):
    telemetry = Telemetry()
    patch = Patch(0, 0, PICTURE, PICTURE[..., 0])
    with FrameLog(tmp_path / "frames.jsonl") as log:
        for n, faces in enumerate((0, 3, 2)):
            one = Verdict(Frame(n, 1.0, PICTURE), State.SWAPPED, (patch,) * faces)
            telemetry.sent(one, 0.003, 1.1)
            log.write(one, 0.01)
    assert telemetry.report(0, 1.0, {})["faces"] == {"mean": pytest.approx(1.67), "most": 3}
    assert [json.loads(line)["faces"] for line in (tmp_path / "frames.jsonl").read_text().splitlines()] == [0, 3, 2]
    assert Telemetry().report(0, 1.0, {})["faces"] == {"mean": None, "most": 0}


def test_hidden_frames_are_those_that_show_neither_swap_nor_camera():
    telemetry = Telemetry()
    for n, state in enumerate([State.STARTING, State.SWAPPED, State.LOST, State.FAILED, State.PAUSED]):
        telemetry.sent(verdict(n, state, 1.0), 0.003, 1.1)
    assert telemetry.report(0, 1.0, {})["hidden_frames"] == 4
    assert telemetry.report(0, 1.0, {}, (State.STARTING, State.LOST, State.FAILED))["hidden_frames"] == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_full_disk_under_the_frame_log_is_one_sentence():
    log = FrameLog(Path("/dev/full"))
    with pytest.raises(SinkError, match="cannot write the frame log /dev/full: the disk is full"):
        for n in range(1000):
            log.write(verdict(n, State.SWAPPED, 1.0), 0.01)
    with pytest.raises(SinkError, match="the disk is full"), FrameLog(Path("/dev/full")) as log:
        log.write(verdict(0, State.SWAPPED, 1.0), 0.01)
    with pytest.raises(ZeroDivisionError), FrameLog(Path("/dev/full")) as log:
        log.write(verdict(0, State.SWAPPED, 1.0), 0.01)
        raise ZeroDivisionError


def test_frame_log_in_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="choose a folder"):
        FrameLog(tmp_path / "absent" / "frames.jsonl")
