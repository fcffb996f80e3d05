"""Following and swapping in a thread each: the same frames, the same promises."""

from __future__ import annotations

import threading

import pytest

from realtime.pipeline.controls import Controls
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Halves
from realtime.sinks.memory import MemorySink
from realtime.types import State
from tests.pipeline.people import PaintingSwapper, Person, ScriptedTracker, face, frame, shows_raw_face
from tests.pipeline.test_pipeline import DEADLINE, build, our_threads, run, script


def halved(track, swapper=None):
    infer = Infer(ScriptedTracker(track), swapper or PaintingSwapper(), [Person("anna")], Controls())
    return Halves(infer.follow, infer.swap)


def test_every_frame_of_a_file_is_shown_in_order_with_its_own_verdict():
    lost = [face(), None, face(2), RuntimeError("no tracker today"), face(3)]
    whole, split = MemorySink(), MemorySink()
    assert run(build(script(12), [whole], live=False, track=lost)) is None
    assert run(build(script(12), [split], live=False, infer=halved(lost))) is None
    assert [frame.seq for frame in split.frames] == list(range(12))
    assert [frame.state for frame in split.frames] == [frame.state for frame in whole.frames]
    assert {State.SWAPPED, State.LOST, State.FAILED} <= {frame.state for frame in split.frames}
    assert not any(shows_raw_face(frame.image) for frame in split.frames)


def test_the_next_frame_is_followed_while_one_is_swapped():
    """Both halves wait for each other at a barrier, which only two frames at a time can pass."""
    together = threading.Barrier(2)

    def follow(frame):
        if frame.seq == 1:
            together.wait(DEADLINE)
        return infer.follow(frame)

    def swap(followed):
        if followed.frame.seq == 0:
            together.wait(DEADLINE)
        return infer.swap(followed)

    infer = Infer(ScriptedTracker([face()]), PaintingSwapper(), [Person("anna")], Controls())
    sink = MemorySink()
    assert run(build(script(5), [sink], live=False, infer=Halves(follow, swap))) is None
    assert len(sink.frames) == 5


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("half", ["follow", "swap"])
def test_an_error_in_either_half_ends_the_run_and_no_thread_is_left(half, live):
    infer = Infer(ScriptedTracker([face()]), PaintingSwapper(), [Person("anna")], Controls())

    def broken(item):
        raise ZeroDivisionError(half)

    halves = {"follow": infer.follow, "swap": infer.swap} | {half: broken}
    error = run(build(script(50, 0.001), [MemorySink()], live=live, infer=Halves(**halves)))
    assert isinstance(error, ZeroDivisionError) and str(error) == half
    assert not our_threads() and not {thread.name for thread in threading.enumerate()} & {"follow", "swap"}


def test_what_waits_to_be_followed_can_be_looked_at():
    seen = []

    def infer(item):
        upcoming = pipeline.upcoming()
        seen.append(upcoming if upcoming is None else upcoming.shape)
        return whole(item)

    whole = Infer(ScriptedTracker([face()]), PaintingSwapper(), [Person("anna")], Controls())
    pipeline = build(script(20), [MemorySink()], live=False, infer=infer)
    assert pipeline.upcoming() is None
    assert run(pipeline) is None
    assert set(seen) <= {None, frame().image.shape}
