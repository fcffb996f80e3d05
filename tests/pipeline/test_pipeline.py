"""The thread contract, on the real threaded pipeline with fakes at both ends."""

from __future__ import annotations

import threading
import time
import traceback

import numpy as np
import pytest

from realtime.errors import SinkError, SourceError
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Limits, Pipeline
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.memory import MemorySink
from realtime.sources.fake import Block, FakeSource
from realtime.types import State
from tests.pipeline.people import SIZE, PaintingSwapper, Person, ScriptedTracker, face, picture, shows_raw_face

DEADLINE = 60.0
"""Seconds after which a test gives up: far more than any of them needs, so that a slow machine does not fail them."""


def script(count, interval=0.0):
    for _ in range(count):
        if interval:
            yield interval
        yield picture()


def source(steps, **options):
    return FakeSource(steps, size=SIZE, **options)


def build(steps, sinks, *, live=True, fps=30.0, track=None, swapper=None, on_lost="hide", infer=None, **options):
    controls = options.pop("controls", Controls())
    infer = infer or Infer(ScriptedTracker(track or [face()]), swapper or PaintingSwapper(), [Person("anna")], controls)
    feed = steps if isinstance(steps, FakeSource) else source(steps, live=live, fps=fps)
    return Pipeline(feed, infer, lambda w, h: Finisher(w, h, on_lost, None, None, True), sinks, controls=controls, **options)


def run(pipeline):
    """Run in a thread of its own, so that a hang fails the test instead of the whole suite; gives the error or None."""
    outcome = []

    def call():
        try:
            pipeline.run()
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the pipeline did not end"
    return outcome[0]


def our_threads():
    return {thread.name for thread in threading.enumerate()} & {"capture", "infer", "blend"}


def wait_for(condition):
    until = time.perf_counter() + DEADLINE
    while not condition():
        assert time.perf_counter() < until, "it never happened"
        time.sleep(0.005)


def test_a_file_passes_whole_and_in_order():
    sink = MemorySink()
    pipeline = build(script(40), [sink], live=False)
    assert run(pipeline) is None
    assert [frame.seq for frame in sink.frames] == list(range(40))
    assert pipeline.telemetry.frames_in == pipeline.telemetry.frames_out == 40
    assert pipeline.dropped == 0
    assert sink.closed


def test_a_slow_sink_loses_nothing_of_a_file():
    sink = ScriptedSink(delay=0.01)
    assert run(build(script(20), [sink], live=False)) is None
    assert sink.seqs == list(range(20))


def test_a_slow_sink_makes_a_live_source_drop_the_old_not_the_new():
    sink = ScriptedSink(delay=0.05)
    pipeline = build(script(60, interval=0.005), [sink], live=True)
    assert run(pipeline) is None
    assert pipeline.dropped > 20
    assert sink.seqs == sorted(set(sink.seqs))
    assert sink.seqs[-1] == 59, "the newest frame must be the one that is shown"
    assert len(sink.seqs) + pipeline.dropped == 60, "none waits in between"


def test_a_steady_sink_gets_more_than_a_slow_source_gives():
    sink = MemorySink(steady=True)
    pipeline = build(script(5, interval=0.2), [sink], live=True, fps=50)
    assert run(pipeline) is None
    assert pipeline.telemetry.frames_out == 5
    assert len(sink.frames) > 15
    assert pipeline.telemetry.repeated == len(sink.frames) - 5


def test_other_sinks_get_no_repeats():
    steady, plain = MemorySink(steady=True), MemorySink()
    assert run(build(script(5, interval=0.1), [steady, plain], live=True, fps=50)) is None
    assert [frame.seq for frame in plain.frames] == list(range(5))


def test_a_steady_sink_shows_the_placeholder_first_and_when_the_source_falls_silent():
    sink = MemorySink(steady=True)
    pipeline = build(iter([0.2, picture(), 1.6, picture()]), [sink], live=True, fps=20)
    assert run(pipeline) is None
    states = [frame.state for frame in sink.frames]
    assert states[0] is State.STARTING
    assert State.NO_SIGNAL in states
    assert states[-1] is State.SWAPPED
    assert not any(shows_raw_face(frame.image) for frame in sink.frames)


def failing_infer(frame):
    raise ValueError("a bug in a stage")


def test_an_exception_in_a_stage_comes_out_of_run_with_its_traceback():
    sink = MemorySink()
    error = run(build(script(1000, interval=0.002), [sink], infer=failing_infer))
    assert isinstance(error, ValueError)
    assert "failing_infer" in "".join(traceback.format_exception(error))
    assert sink.closed
    assert our_threads() == set()


@pytest.mark.parametrize("live", [True, False])
def test_a_source_that_breaks_ends_the_run_with_its_error(live):
    error = run(build(iter([picture(), SourceError("the cable is out")]), [MemorySink()], live=live))
    assert isinstance(error, SourceError)
    assert our_threads() == set()


@pytest.mark.parametrize("live", [True, False])
def test_a_sink_that_breaks_ends_the_run_and_closes_the_others(live):
    bad, good = ScriptedSink(fail_at=2, error=SinkError("the disk is full")), MemorySink()
    error = run(build(script(500, interval=0.001), [bad, good], live=live))
    assert isinstance(error, SinkError)
    assert good.closed and bad.closed
    assert our_threads() == set()


def test_a_sink_that_cannot_open_closes_what_was_open():
    good, bad = MemorySink(), ScriptedSink(fail_open=True, error=SinkError("no such device"))
    feed = source(script(3))
    error = run(build(feed, [good, bad]))
    assert isinstance(error, SinkError)
    assert good.closed and feed.closed


def test_nothing_was_dropped_by_a_run_that_never_began():
    pipeline = build(script(3), [ScriptedSink(fail_open=True, error=SinkError("no such device"))])
    run(pipeline)
    assert pipeline.dropped == 0


def test_a_sink_that_cannot_finish_its_file_is_an_error():
    sink, good = ScriptedSink(), MemorySink()

    def close():
        raise SinkError("the disk is full")

    sink.close = close
    assert isinstance(run(build(script(3), [good, sink], live=False)), SinkError)
    assert good.closed


def test_a_file_that_cannot_be_finished_after_an_interrupt_is_told(caplog):
    sink = ScriptedSink()

    def close():
        raise SinkError("out.mp4 is not signed")

    def interrupt():
        raise KeyboardInterrupt

    sink.close = close
    assert isinstance(run(build(script(100_000, interval=0.001), [sink], on_tick=interrupt)), KeyboardInterrupt)
    assert "out.mp4 is not signed" in caplog.text


def test_a_source_that_cannot_open_is_an_error_before_any_sink_opens():
    sink = ScriptedSink()
    error = run(build(source([], open_error=SourceError("no camera")), [sink]))
    assert isinstance(error, SourceError)
    assert sink.opened == 0


def test_a_source_that_blocks_for_ever_does_not_keep_the_run_from_ending():
    pipeline = build(iter([picture(), Block.FOR_EVER]), [MemorySink(steady=True)], limits=Limits(seconds=0.3))
    assert run(pipeline) is None
    assert our_threads() == set()


def test_a_blocking_sink_is_left_behind_and_named(caplog):
    let_go = threading.Event()
    sink = ScriptedSink(on_write=lambda frame: sink.count < 2 or let_go.wait(3 * DEADLINE))
    sink.close = lambda: None  # not even closing it helps
    pipeline = build(script(100_000, interval=0.005), [sink], on_tick=lambda: sink.count == 2 and pipeline.stop())
    error = run(pipeline)
    assert isinstance(error, SinkError) and "scripted took no more frames" in str(error)
    assert "the blend thread did not end" in caplog.text
    let_go.set()
    wait_for(lambda: our_threads() == set())


def stopping_at(phase, pipeline_box):
    """Pieces of a pipeline that call `stop` from inside one phase, as a signal may come at any moment."""
    stop = lambda: pipeline_box[0].stop()  # noqa: E731

    def infer(frame):
        if phase == "infer" and frame.seq == 3:
            stop()
        return Infer(ScriptedTracker([face()]), PaintingSwapper(), [Person("anna")], Controls())(frame)

    def steps():
        for n in range(100_000):
            if phase == "capture" and n == 3:
                stop()
            yield picture()

    return infer, steps(), ScriptedSink(on_write=lambda frame: stop() if phase == "blend" and frame.seq == 3 else None)


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("phase", ["capture", "infer", "blend"])
def test_stop_in_each_phase_ends_everything(phase, live):
    box = []
    infer, steps, sink = stopping_at(phase, box)
    box.append(build(steps, [sink], live=live, infer=infer))
    assert run(box[0]) is None
    assert sink.closed
    assert our_threads() == set()


def test_stop_before_run_ends_at_once():
    pipeline = build(script(100_000), [MemorySink()])
    pipeline.stop()
    assert run(pipeline) is None


def test_an_interrupt_in_the_main_thread_closes_everything():
    def interrupt():
        raise KeyboardInterrupt

    sink = MemorySink()
    error = run(build(script(100_000, interval=0.001), [sink], on_tick=interrupt))
    assert isinstance(error, KeyboardInterrupt)
    assert sink.closed
    assert our_threads() == set()


def test_limits_on_frames_are_exact():
    sink = MemorySink()
    assert run(build(script(50), [sink], live=False, limits=Limits(frames=7))) is None
    assert len(sink.frames) == 7


def test_a_limit_in_seconds_is_a_files_own_time():
    """However fast or slow it is played."""
    sink = MemorySink()
    assert run(build(script(50), [sink], live=False, fps=10.0, limits=Limits(seconds=2.0))) is None
    assert len(sink.frames) == 20
    slow = MemorySink()
    assert run(build(script(10, interval=0.03), [slow], live=False, fps=30.0, limits=Limits(seconds=0.2))) is None
    assert len(slow.frames) == 6


def test_a_frame_of_another_size_is_brought_to_the_announced_one():
    sink = MemorySink()
    steps = iter([picture(), np.full((200, 300, 3), 70, np.uint8), picture()])
    assert run(build(steps, [sink], live=False)) is None
    assert {frame.image.shape for frame in sink.frames} == {(SIZE[1], SIZE[0], 3)}
    assert len(sink.frames) == 3


def test_a_still_is_taken_once_when_wanted():
    stills, controls = [], Controls()
    controls.still_wanted = True
    assert run(build(script(5), [MemorySink()], live=False, controls=controls, on_still=stills.append)) is None
    assert [still.seq for still in stills] == [0]


def test_no_threads_are_left_after_many_runs():
    for _ in range(10):
        assert run(build(script(5), [MemorySink()], live=False)) is None
    assert our_threads() == set()
