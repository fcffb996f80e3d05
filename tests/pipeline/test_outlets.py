"""Sinks that fail in a live run: a virtual camera is opened again, anything else is left out, and neither stops the others."""

from __future__ import annotations

import logging
import threading
import time

import numpy as np
import pytest

from realtime.errors import SinkError
from realtime.pipeline import blend, outlet
from realtime.pipeline.controls import Controls
from realtime.pipeline.outlets import Outlets
from realtime.pipeline.pipeline import Limits
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.memory import MemorySink
from realtime.types import OutputFrame, State, StreamFormat
from realtime.vision.yuv import to_i420
from tests.pipeline.people import SIZE, picture, shows_raw_face
from tests.pipeline.test_pipeline import DEADLINE, build, run, script, wait_for

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


# -- sinks that hang ------------------------------------------------------------------------------------------------------------------


class Hanging(MemorySink):
    """A sink whose write does not return while `held` is set."""

    waits = True

    def __init__(self, name: str = "hanging", *, steady: bool = False) -> None:
        super().__init__(steady=steady)
        self.name = name
        self.held = threading.Event()
        self.inside = 0
        self.changed = False
        """Whether a picture became another one while it was being written."""
        self.closed_inside = False

    def write(self, frame: OutputFrame) -> None:
        before = frame.image.copy(), frame.i420.copy()
        self.inside += 1
        until = time.monotonic() + DEADLINE
        while self.held.is_set() and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(0)
        self.changed |= not (np.array_equal(before[0], frame.image) and np.array_equal(before[1], frame.i420))
        super().write(frame)
        self.inside -= 1

    def close(self) -> None:
        self.closed_inside |= self.inside > 0
        super().close()


def different(count, interval=0.0):
    """Pictures that can be told from one another."""
    for number in range(count):
        if interval:
            yield interval
        image = picture()
        image[:8] = number % 200
        yield image


@pytest.mark.parametrize("hangs", [0, 1])
def test_one_that_hangs_holds_up_neither_the_others_nor_the_placeholder(hangs, monkeypatch, caplog):
    """A camera that falls silent meanwhile, too: the sink that goes on shows why."""
    monkeypatch.setattr(blend, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(outlet, "SILENT_SECONDS", 0.05)
    both = [Hanging("camera", steady=True), Hanging("recording")]
    stuck, good = both[hangs], both[1 - hangs]
    stuck.held.set()

    def one_after_the_other(first, last):
        for number, image in enumerate(different(last - first), first):
            yield image
            wait_for(lambda wanted=number: good.frames and good.frames[-1].seq == wanted)

    def steps():
        yield from one_after_the_other(0, 20)
        assert len(stuck.frames) == 0
        yield 0.5
        wait_for(lambda: any(frame.state is State.NO_SIGNAL for frame in good.frames))
        stuck.held.clear()
        wait_for(lambda: len(stuck.frames) >= 2)
        yield from one_after_the_other(20, 40)
        wait_for(lambda: stuck.frames[-1].seq == 39)

    assert run(build(steps(), both)) is None
    assert {frame.seq for frame in good.frames if frame.state is State.SWAPPED} == set(range(40))
    assert {frame.seq for frame in stuck.frames}.isdisjoint(range(1, 19)), "the newest is what the one that comes back shows"
    assert not stuck.changed and not good.changed
    assert not any(shows_raw_face(frame.image) for frame in (*stuck.frames, *good.frames))
    assert f"{stuck.name} takes no frames" in caplog.text and f"{stuck.name} takes frames again" in caplog.text


def test_a_frame_is_not_written_over_while_a_slow_sink_still_has_it():
    slow, good = Hanging("recording"), MemorySink()

    def steps():
        for number, step in enumerate(different(120, 0.002)):
            (slow.held.set if number % 10 < 7 else slow.held.clear)()
            yield step
        slow.held.clear()

    pipeline = build(steps(), [slow, good])
    assert run(pipeline) is None
    assert not slow.changed
    own = np.empty_like(slow.frames[0].i420)
    for frame in slow.frames:
        assert frame.image[0, 0, 0] == frame.seq % 200
        to_i420(frame.image, own)
        assert np.array_equal(frame.i420, own)
    told = {counts["name"]: counts for counts in pipeline.outputs}
    assert told["recording"]["missed"] > 10
    assert told["recording"]["written"] + told["recording"]["missed"] == told["memory"]["written"] == len(good.frames)


def test_of_a_file_every_sink_gets_every_frame():
    slow, good = ScriptedSink(delay=0.005), Hanging()
    pipeline = build(different(30), [slow, good], live=False)
    assert run(pipeline) is None
    assert slow.seqs == [frame.seq for frame in good.frames] == list(range(30))
    assert pipeline.telemetry.frames_out == 30 and pipeline.dropped == 0


def test_latency_and_drops_are_those_of_the_virtual_camera():
    camera, slow = ScriptedSink(steady=True), ScriptedSink(delay=0.1)
    pipeline = build(script(60, interval=0.005), [slow, camera], fps=10.0)
    assert run(pipeline) is None
    assert pipeline.telemetry.frames_out == 60 - pipeline.dropped
    assert pipeline.telemetry.frames_out > 3 * len(slow.seqs)
    assert slow.seqs[-1] == camera.seqs[-1] == 59


def test_one_that_hangs_at_the_end_is_left_to_its_thread_and_named():
    stuck, good = Hanging("recording"), Hanging("camera", steady=True)
    stuck.held.set()
    error = run(build(script(100_000, interval=0.005), [stuck, good], limits=Limits(seconds=0.3)))
    assert isinstance(error, SinkError) and "recording took no more frames" in str(error)
    assert good.closed and not good.closed_inside
    assert not stuck.closed, "its thread is still inside"
    stuck.held.clear()
    wait_for(lambda: stuck.closed)
    assert not stuck.closed_inside
    wait_for(lambda: not any(thread.name.startswith("sink") for thread in threading.enumerate()))


def test_an_interrupt_while_one_hangs_ends_the_run_and_finishes_the_others():
    stuck, good = Hanging("camera", steady=True), Hanging("recording")
    stuck.held.set()
    calls = iter(range(10**9))

    def interrupt():
        if len(good.frames) > 5 and next(calls) >= 0:
            raise KeyboardInterrupt

    error = run(build(script(100_000, interval=0.002), [stuck, good], on_tick=interrupt))
    assert isinstance(error, KeyboardInterrupt)
    assert good.closed and not stuck.closed
    stuck.held.clear()
    wait_for(lambda: stuck.closed)


def test_one_that_fails_in_its_thread_ends_a_file_with_its_error():
    bad, good = ScriptedSink(fail_at=3, error=SinkError("the disk is full")), Hanging()
    error = run(build(script(200), [bad, good], live=False))
    assert isinstance(error, SinkError) and good.closed and bad.closed


def test_a_bug_in_a_thread_of_a_sink_comes_out_of_run():
    assert isinstance(run(build(script(200, interval=0.002), [ScriptedSink(fail_at=3), Hanging()])), RuntimeError)


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


def test_a_still_that_takes_its_time_holds_up_nothing():
    saved, sink, controls, go = [], MemorySink(), Controls(), threading.Event()
    controls.still_wanted = True

    def save(output):
        go.wait(DEADLINE)
        saved.append((output.seq, output.image[0, 0, 0]))

    def steps():
        yield from different(30, 0.002)
        wait_for(lambda: sink.frames and sink.frames[-1].seq == 29)
        go.set()

    assert run(build(steps(), [sink], controls=controls, on_still=save)) is None
    assert saved == [(0, 0)]
