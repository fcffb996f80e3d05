"""How the soak tells a recording that can be played from one that cannot, and a good ending from a bad one."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import soak
from benchmarks.endings import Ending, playable
from benchmarks.harness import Limit
from realtime.sinks.video import VideoSink
from realtime.types import OutputFrame, State, StreamFormat
from realtime.vision.yuv import to_i420

LIMITS = {"end_seconds": Limit(most=1), "bad_endings": Limit(most=0), "tracebacks": Limit(most=0), "full_disk": Limit(least=1)}
GOOD = Ending(2.0, 0.4, 130, told=True, playable=True, left=())


def film(path, count=20):
    image = np.random.default_rng(1).integers(0, 256, (96, 128, 3), np.uint8)
    planes = np.empty((144, 128), np.uint8)
    to_i420(image, planes)
    with VideoSink(path) as sink:
        sink.open(StreamFormat(128, 96, 30.0, live=False))
        for seq in range(count):
            sink.write(OutputFrame(seq, seq / 30, State.SWAPPED, image, planes, float(Fraction(seq, 30))))


def test_a_whole_recording_is_playable_and_none_at_all_is_no_damage(tmp_path):
    film(tmp_path / "out.mp4")
    assert playable(tmp_path / "out.mp4")
    assert playable(tmp_path / "none.mp4")


def test_half_a_file_is_damage(tmp_path):
    path = tmp_path / "out.mp4"
    film(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    assert not playable(path)
    path.write_bytes(b"no film")
    assert not playable(path) and not playable(path, cut=True)


@pytest.mark.parametrize(
    ("bad", "metric"),
    [
        (Ending(2.0, 1.5, 130, True, True, ()), "seconds to end, worst"),
        (Ending(2.0, 0.4, 130, True, False, ()), "recordings damaged or left in parts"),
        (Ending(2.0, 0.4, 130, True, True, ("out.part.mp4",)), "recordings damaged or left in parts"),
        (Ending(2.0, 0.4, 0, True, True, ()), "recordings damaged or left in parts"),
        (Ending(2.0, 0.4, 130, False, True, ()), "tracebacks"),
    ],
    ids=["slow", "damaged", "left in parts", "an interrupted run that says all is well", "a traceback"],
)
def test_one_bad_ending_among_good_ones_is_a_limit_missed(bad, metric):
    assert all(row.ok for row in soak.signal_rows([GOOD, GOOD], LIMITS))
    assert [row.metric for row in soak.signal_rows([GOOD, bad, GOOD], LIMITS) if not row.ok] == [metric]


def test_a_full_disk_is_survived_with_a_sentence_and_what_there_was():
    (row,) = soak.disk_rows(Ending(0.0, 0.1, 1, True, True, ()), LIMITS)
    assert row.ok
    for bad in (Ending(0.0, 0.1, 0, True, True, ()), Ending(0.0, 0.1, 1, False, True, ()), Ending(0.0, 0.1, 1, True, False, ())):
        (row,) = soak.disk_rows(bad, LIMITS)
        assert not row.ok


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_run_is_ended_by_a_signal_also_when_the_benchmark_was_started_in_the_background():
    deaf = "import signal, subprocess, sys; from benchmarks import endings; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    code = f"{deaf}; subprocess.run([sys.executable, '-c', {child!r}], preexec_fn=endings.heed, check=True)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "True"
