"""The privacy contract, watched at the sink: whatever happens inside, the raw face does not come out."""

from __future__ import annotations

import pytest

from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.infer import Infer
from realtime.sinks.memory import MemorySink
from realtime.types import Frame, State
from tests.pipeline.people import (
    BESIDE,
    FACE,
    SIZE,
    PaintingSwapper,
    Person,
    ScriptedTracker,
    Told,
    crowd,
    face,
    frame,
    shows_raw_face,
)
from tests.pipeline.test_pipeline import build, run, script


def shown(**options):
    """What a sink shows of 12 frames of a file: no frame is dropped, so every one is judged."""
    sink = MemorySink()
    assert run(build(script(12), [sink], live=False, **options)) is None
    assert len(sink.frames) == 12
    return sink.frames


def every(nth, action):
    """A swapper's hook that calls `action` at each nth frame."""
    count = iter(range(1, 10_000))
    return lambda: True if next(count) % nth else action()


def explode():
    raise RuntimeError("inference failed")


SCRIPTS = {
    "nobody at all": [None],
    "starts without a face": [None, None, face(), face()],
    "a miss in between": [face(), None, face(), None, None, face(2)],
    "lost for good": [face(), face(), None],
    "the tracker raises": [face(), RuntimeError("boom"), face(), RuntimeError("boom")],
}
SWAPPERS = {
    "raises": lambda: PaintingSwapper(every(3, explode)),
    "raises at once": lambda: PaintingSwapper(every(1, explode)),
    "gives nothing": lambda: PaintingSwapper(every(3, lambda: None)),
    "gives nothing at first": lambda: PaintingSwapper(every(1, lambda: None)),
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("track", SCRIPTS.values(), ids=SCRIPTS)
def test_tracking_faults(track, on_lost):
    assert not any(shows_raw_face(frame.image) for frame in shown(track=track, on_lost=on_lost))


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("make", SWAPPERS.values(), ids=SWAPPERS)
def test_swapping_faults(make, on_lost):
    assert not any(shows_raw_face(frame.image) for frame in shown(swapper=make(), on_lost=on_lost))


@pytest.mark.parametrize("on_lost", ["hide", "freeze", "pass"])
def test_pause_is_closed(on_lost):
    controls = Controls()
    controls.paused = True
    assert not any(shows_raw_face(frame.image) for frame in shown(controls=controls, on_lost=on_lost))


def test_pass_lets_the_raw_face_through_as_it_says():
    frames = shown(track=[None, face(), None], on_lost="pass")
    assert [shows_raw_face(frame.image) for frame in frames][:3] == [True, False, True]


def test_every_face_the_tracker_names_is_hidden_while_the_person_is_lost():
    tracker = ScriptedTracker([face(), Told(None, "another person", FACE, hidden=(BESIDE,))])
    infer = Infer(tracker, PaintingSwapper(), [Person("anna")], Controls())
    finisher = Finisher(*SIZE, "hide", None, None, bgr_wanted=True)
    finisher.finish(infer(frame(0)))
    verdict = infer(Frame(1, 1 / 30, crowd()))
    assert verdict.state is State.LOST
    assert not shows_raw_face(finisher.finish(verdict).image)


@pytest.mark.parametrize("anywhere", [False, True])
def test_a_followed_face_that_may_be_anothers_is_hidden_with_those_beside_it(anywhere):
    told = Told(face(), "", FACE, hidden=(BESIDE,), closed=True, anywhere=anywhere)
    infer = Infer(ScriptedTracker([face(), told]), PaintingSwapper(), [Person("anna")], Controls())
    finisher = Finisher(*SIZE, "hide", None, None, bgr_wanted=True)
    finisher.finish(infer(frame(0)))
    verdict = infer(Frame(1, 1 / 30, crowd()))
    assert verdict.state is State.LOST and (verdict.hide is None) == anywhere
    assert not shows_raw_face(finisher.finish(verdict).image)


def test_others_who_may_be_the_person_are_covered_beside_a_swap_and_when_it_fails():
    steps = iter([True, True])
    swapper = PaintingSwapper(lambda: next(steps, None) or explode())
    infer = Infer(ScriptedTracker([face(), Told(face(), "", FACE, hidden=(BESIDE,))]), swapper, [Person("anna")], Controls())
    finisher = Finisher(*SIZE, "hide", None, None, bgr_wanted=True)
    finisher.finish(infer(frame(0)))
    for seq, state in ((1, State.SWAPPED), (2, State.FAILED)):
        verdict = infer(Frame(seq, seq / 30, crowd()))
        assert verdict.state is state
        assert not shows_raw_face(finisher.finish(verdict).image)


def test_the_room_stays_visible_while_a_lost_face_is_hidden():
    """Hiding is for the face: the picture around it goes on, so that a short miss does not black out the call."""
    frames = shown(track=[face(), None])
    assert [frame.state for frame in frames][:2] == [State.SWAPPED, State.LOST]
    corner = frames[1].image[: int(FACE.y0) - 12, : int(FACE.x0) - 12]
    assert (corner == 90).all()
