"""Sinks that fail in a live run: a virtual camera is opened again, anything else is left out, and neither stops the others."""

from __future__ import annotations

import logging
import threading

import pytest

from realtime.errors import SinkError
from realtime.pipeline import outlet
from realtime.pipeline.outlets import Outlets
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.memory import MemorySink
from realtime.types import OutputFrame, State, StreamFormat
from tests.pipeline.people import SIZE, picture
from tests.pipeline.test_pipeline import build, run, script, wait_for

LIVE = StreamFormat(*SIZE, 30.0, live=True)
FILE = StreamFormat(*SIZE, 30.0, live=False)
FRAME = OutputFrame(0, 0.0, State.SWAPPED, picture(), picture()[..., 0])


class Flaky(MemorySink):
    """A virtual camera whose device may be pulled out: while `out` is set neither writing nor opening works."""

    name = "flaky"

    def __init__(self) -> None:
        super().__init__(steady=True)
        self.out = threading.Event()
        self.opened = 0

    def open(self, stream: StreamFormat) -> None:
        self._check()
        self.opened += 1
        super().open(stream)

    def write(self, frame: OutputFrame) -> None:
        self._check()
        super().write(frame)

    def _check(self) -> None:
        if self.out.is_set():
            raise SinkError("no such device")


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(outlet, "RETRY_SECONDS", 0.01)


def quick(**options):
    """A sink that is written to at once, by whoever writes."""
    return ScriptedSink(waits=False, **options)


def no_reopening_thread():
    return all(thread.name != "reopen" for thread in threading.enumerate())


def test_a_virtual_camera_that_vanishes_is_opened_again(caplog):
    camera, other = Flaky(), quick()
    both = Outlets([camera, other], LIVE)
    camera.out.set()
    for _ in range(3):
        both.write(FRAME)
    assert (len(camera.frames), other.count) == (0, 3)
    camera.out.clear()
    wait_for(lambda: camera.opened == 1)
    wait_for(lambda: both.write(FRAME) and camera.frames)
    both.finish()
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "no such device; trying again",
        "flaky takes frames again",
    ]
    wait_for(no_reopening_thread)


def test_one_that_stays_away_ends_the_run_if_it_is_the_only_one(monkeypatch):
    monkeypatch.setattr(outlet, "GIVE_UP_SECONDS", 0.05)
    camera = Flaky()
    alone = Outlets([camera], LIVE)
    camera.out.set()
    with pytest.raises(SinkError, match="no such device"):
        wait_for(lambda: not alone.write(FRAME))
    alone.stop()
    wait_for(no_reopening_thread)


def test_one_that_stays_away_is_left_out_while_others_go_on(monkeypatch):
    monkeypatch.setattr(outlet, "GIVE_UP_SECONDS", 0.05)
    camera, other = Flaky(), quick()
    both = Outlets([camera, other], LIVE)
    camera.out.set()
    both.write(FRAME)
    wait_for(lambda: both.write(FRAME) and both._all[0].gone)
    camera.out.clear()
    both.write(FRAME)
    assert len(camera.frames) == 0
    with pytest.raises(SinkError, match="no such device"):
        both.finish()


def test_an_end_during_an_absence_leaves_nothing_open():
    camera = Flaky()
    alone = Outlets([camera], LIVE)
    camera.out.set()
    alone.write(FRAME)
    alone.finish()
    wait_for(no_reopening_thread)
    assert camera.closed or camera.opened == 0


def test_a_live_recording_that_fails_does_not_end_the_call(caplog):
    full, good = ScriptedSink(fail_at=0, error=SinkError("the disk is full")), MemorySink()
    error = run(build(script(30, interval=0.005), [full, good]))
    assert isinstance(error, SinkError)
    assert good.frames[-1].seq == 29
    assert full.closed and good.closed
    assert "going on without scripted: the disk is full" in caplog.text


def test_of_a_file_the_first_failure_is_raised():
    full, good = quick(fail_at=0, error=SinkError("the disk is full")), quick()
    both = Outlets([full, good], FILE)
    with pytest.raises(SinkError):
        both.write(FRAME)
    assert good.count == 0


def test_a_bug_in_a_sink_is_no_absence():
    with pytest.raises(RuntimeError):
        Outlets([quick(fail_at=0, steady=True), quick()], LIVE).write(FRAME)


def test_repeats_go_to_steady_sinks_only():
    steady, plain = MemorySink(steady=True), quick()
    both = Outlets([steady, plain], LIVE)
    both.repeat(FRAME)
    assert (len(steady.frames), plain.count, both.steady) == (1, 0, True)
    assert not Outlets([steady], FILE).steady


def test_the_whole_run_outlives_an_absence():
    camera = Flaky()
    steps = script(200, interval=0.005)

    def frames():
        for count, step in enumerate(steps):
            (camera.out.set if 40 <= count < 120 else camera.out.clear)()
            yield step

    assert run(build(frames(), [camera])) is None
    assert camera.opened == 2
    assert camera.frames[-1].seq == 199
    wait_for(no_reopening_thread)


def test_one_that_fails_in_its_thread_ends_a_file_with_its_error():
    bad, good = ScriptedSink(fail_at=3, error=SinkError("the disk is full")), MemorySink()
    error = run(build(script(200), [bad, good], live=False))
    assert isinstance(error, SinkError) and good.closed and bad.closed


def test_a_bug_in_a_thread_of_a_sink_comes_out_of_run():
    assert isinstance(run(build(script(200, interval=0.002), [ScriptedSink(fail_at=3), MemorySink()])), RuntimeError)


def test_a_virtual_camera_with_a_thread_is_opened_again_while_the_recording_goes_on():
    class Camera(Flaky):
        waits = True

    camera, recording = Camera(), ScriptedSink()

    def steps():
        for count, step in enumerate(script(120, interval=0.005)):
            (camera.out.set if 60 <= count < 160 else camera.out.clear)()
            yield step
        wait_for(lambda: camera.frames[-1].seq == 119)

    assert run(build(steps(), [camera, recording])) is None
    assert camera.opened == 2
    assert recording.seqs[-1] == 119
    wait_for(no_reopening_thread)
