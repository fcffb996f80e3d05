"""Sinks whose write does not return: live the others go on, of a file they wait, but not for ever."""

from __future__ import annotations

import threading
import time

import av
import numpy as np
import pytest

from realtime.errors import SinkError
from realtime.pipeline import blend, outlet
from realtime.pipeline.controls import Controls
from realtime.pipeline.pipeline import Limits
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.memory import MemorySink
from realtime.sinks.video import VideoSink
from realtime.types import OutputFrame, State
from realtime.vision.yuv import to_i420
from tests.pipeline.people import picture, shows_raw_face
from tests.pipeline.test_pipeline import DEADLINE, build, run, script, wait_for


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
        until = time.perf_counter() + DEADLINE
        while self.held.is_set() and time.perf_counter() < until:
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
    hung, *later = [frame.seq for frame in stuck.frames]
    assert hung < 19 and set(later).isdisjoint(range(19)), "the newest is what the one that comes back shows"
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


def test_an_interrupt_while_one_hangs_ends_the_run_and_finishes_the_others(caplog):
    stuck, good = Hanging("camera", steady=True), Hanging("recording")
    stuck.held.set()
    calls = iter(range(10**9))

    def interrupt():
        if len(good.frames) > 5 and next(calls) >= 0:
            raise KeyboardInterrupt

    error = run(build(script(100_000, interval=0.002), [stuck, good], on_tick=interrupt))
    assert isinstance(error, KeyboardInterrupt)
    assert "camera took no more frames and was left behind" in caplog.text
    assert good.closed and not stuck.closed
    stuck.held.clear()
    wait_for(lambda: stuck.closed)


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
    first = sink.frames[0]
    assert saved == [(first.seq, first.image[0, 0, 0])]


# -- of a file --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(outlet, "SILENT_SECONDS", 0.05)
    monkeypatch.setattr(outlet, "PATIENCE_SECONDS", 0.2)


@pytest.fixture
def stuck():
    """A recording on a disk that does not answer, until the test is over."""
    sink = Hanging("recording")
    sink.held.set()
    yield sink
    sink.held.clear()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("first", [True, False], ids=["the leading one", "another"])
def test_of_a_file_one_that_hangs_is_left_behind_and_the_others_get_every_frame(stuck, first, caplog, tmp_path):
    film, other = VideoSink(tmp_path / "film.mp4"), MemorySink()
    sinks = [stuck, film, other] if first else [film, other, stuck]
    pipeline = build(different(30), sinks, live=False)
    error = run(pipeline)
    assert isinstance(error, SinkError) and "recording took no more frames and was left behind" in str(error)
    assert [frame.seq for frame in other.frames] == list(range(30))
    with av.open(str(tmp_path / "film.mp4")) as container:
        assert sum(1 for _ in container.decode(video=0)) == 30
    assert not list(tmp_path.glob("*.part*"))
    assert "recording takes no frames: its disk or device does not answer, which is waited for, 0 seconds at most" in caplog.text
    assert "going on without recording" in caplog.text
    assert pipeline.whole and pipeline.telemetry.frames_out >= 27  # all but what only the one that hangs was to have
    assert not stuck.closed, "its thread is still inside"
    stuck.held.clear()
    wait_for(lambda: stuck.closed)
    assert not stuck.closed_inside and len(stuck.frames) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("others", [0, 1])
def test_of_a_file_the_run_ends_when_every_sink_hangs(stuck, others):
    more = [Hanging("copy") for _ in range(others)]
    for each in more:
        each.held.set()
    pipeline = build(different(300), [stuck, *more], live=False)
    error = run(pipeline)
    assert isinstance(error, SinkError) and "was left behind" in str(error)
    assert not pipeline.whole
    for each in more:
        each.held.clear()


@pytest.mark.usefixtures("impatient")
def test_of_a_file_one_that_hangs_at_its_last_frame_is_left_behind_too():
    stuck, other = Hanging("recording"), MemorySink()

    def steps():
        yield from different(9)
        stuck.held.set()
        yield from different(1)

    error = run(build(steps(), [stuck, other], live=False))
    assert isinstance(error, SinkError) and "recording took no more frames" in str(error)
    assert len(other.frames) == 10 and other.closed
    stuck.held.clear()


@pytest.mark.usefixtures("impatient")
def test_of_a_file_one_that_comes_back_in_time_gets_every_frame(monkeypatch, caplog):
    monkeypatch.setattr(outlet, "PATIENCE_SECONDS", DEADLINE)
    slow, other = Hanging("recording"), MemorySink()
    slow.held.set()

    def steps():
        yield from different(2)
        wait_for(lambda: "recording takes no frames" in caplog.text)
        slow.held.clear()
        wait_for(lambda: "recording takes frames again" in caplog.text)
        yield from different(18)

    assert run(build(steps(), [slow, other], live=False)) is None
    assert [frame.seq for frame in slow.frames] == [frame.seq for frame in other.frames] == list(range(20))


@pytest.mark.usefixtures("impatient")
def test_an_error_that_comes_after_it_was_left_behind_ends_nothing():
    broken, other, go_on = ScriptedSink(), MemorySink(), threading.Event()

    def hang_and_fail(frame):
        go_on.wait(DEADLINE)
        raise SinkError("the disk came back broken")

    def steps():
        yield from different(3)
        wait_for(lambda: len(other.frames) == 3)
        go_on.set()
        yield from different(20)

    broken._on_write = hang_and_fail
    error = run(build(steps(), [broken, other], live=False))
    assert isinstance(error, SinkError) and "scripted took no more frames" in str(error)
    assert len(other.frames) == 23
