from __future__ import annotations

from dataclasses import replace

import pytest

from realtime.errors import BackendError, ModelError, NumbersError
from realtime.pipeline.controls import Controls
from realtime.pipeline.infer import MAX_FAILING_SECONDS, Infer
from realtime.types import State
from tests.pipeline.people import FACE, PaintingSwapper, Person, ScriptedTracker, face, frame


def build(script, swapper=None, people=("anna", "ben")):
    controls = Controls()
    swapper = swapper or PaintingSwapper()
    return Infer(ScriptedTracker(script), swapper, [Person(name) for name in people], controls), controls, swapper


def failing():
    raise RuntimeError("the network gave up")


def states(infer, count):
    return [infer(frame(n)).state for n in range(count)]


def test_starting_until_the_first_swap_then_lost_when_the_face_goes():
    infer, _, _ = build([None, None, face(), None, face()])
    assert states(infer, 5) == [State.STARTING, State.STARTING, State.SWAPPED, State.LOST, State.SWAPPED]


def test_the_whole_frame_is_hidden_when_nobody_was_seen_yet():
    infer, _, _ = build([None])
    assert infer(frame()).hide is None


def test_the_hidden_region_covers_the_last_face_and_grows_with_time():
    infer, _, _ = build([face(), None])
    infer(frame(0, at=0.0))
    soon, late = infer(frame(1, at=0.03)).hide, infer(frame(2, at=0.5)).hide
    assert soon.x0 < FACE.x0 and soon.y0 < FACE.y0 and soon.x1 > FACE.x1 and soon.y1 > FACE.y1
    assert late.area > 2 * soon.area


def test_a_film_is_followed_by_its_own_time_and_a_camera_by_the_clock():
    times = []
    infer, _, _ = build([face()])
    infer._tracker.track = lambda image, at: times.append(at)
    for media_time in (7.25, None):
        infer.follow(replace(frame(0, at=3.0), media_time=media_time))
    assert times == [7.25, 3.0]


def test_what_the_swapper_learned_of_a_face_goes_by_its_looks_not_by_its_track():
    infer, _, swapper = build([replace(face(track), looks=looks) for track, looks in ((1, 1), (2, 1), (3, 3))])
    resets = []
    for n in range(3):
        infer(frame(n))
        resets.append(swapper.resets)
    assert resets == [1, 1, 2]


def test_a_raising_swapper_counts_as_lost_and_recovers():
    left = iter([True, False, True])
    infer, _, _ = build([face()], PaintingSwapper(lambda: True if next(left) else failing()))
    first, failed, again = (infer(frame(n)) for n in range(3))
    assert [v.state for v in (first, failed, again)] == [State.SWAPPED, State.FAILED, State.SWAPPED]
    assert "the network gave up" in failed.reason
    assert [v.failed for v in (first, failed, again)] == [False, True, False]
    assert failed.hide is not None and failed.hide.area > FACE.area


def test_a_raising_tracker_counts_as_lost():
    infer, _, _ = build([face(), RuntimeError("no"), face()])
    assert states(infer, 3) == [State.SWAPPED, State.FAILED, State.SWAPPED]


def test_failing_for_long_ends_the_run_with_the_error():
    infer, _, _ = build([face()], PaintingSwapper(failing))
    infer(frame(0, at=0.0))
    infer(frame(1, at=MAX_FAILING_SECONDS - 0.1))
    with pytest.raises(RuntimeError, match="the network gave up"):
        infer(frame(2, at=MAX_FAILING_SECONDS + 0.1))


def test_a_network_that_gives_no_numbers_once_counts_as_lost():
    """A driver that is reset gives such frames; the next one is right again."""
    infer, _, _ = build([face(), NumbersError("YuNet gives something else than numbers."), face()])
    assert states(infer, 3) == [State.SWAPPED, State.FAILED, State.SWAPPED]
    infer, _, _ = build([NumbersError("YuNet gives something else than numbers.")])
    infer(frame(0, at=0.0))
    with pytest.raises(NumbersError):
        infer(frame(1, at=MAX_FAILING_SECONDS + 0.1))


def test_a_network_of_no_use_ends_the_run_with_its_sentence_at_once():
    def useless():
        raise ModelError("swap.onnx gives no picture: get it anew")

    infer, _, _ = build([face()], PaintingSwapper(useless))
    with pytest.raises(ModelError, match=r"^swap\.onnx gives no picture"):
        infer(frame(0, at=0.0))


def test_our_own_errors_are_told_without_their_kind(caplog):
    def gone():
        raise BackendError("the GPU is gone")

    infer, _, _ = build([face()], PaintingSwapper(gone))
    assert infer(frame(0, at=0.0)).reason == "the GPU is gone"
    assert "is hidden: the GPU is gone" in caplog.text


def test_a_face_that_cannot_be_swapped_is_hidden():
    infer, _, _ = build([face()], PaintingSwapper(lambda: None))
    verdict = infer(frame())
    assert verdict.state is State.STARTING
    assert verdict.patches == ()


def test_pause_is_closed_and_ends():
    infer, controls, _ = build([face()])
    infer(frame(0))
    controls.paused = True
    paused = infer(frame(1))
    controls.paused = False
    assert paused.state is State.PAUSED and paused.patches == () and paused.hide.area > FACE.area
    assert infer(frame(2)).state is State.SWAPPED


def test_pause_stays_closed_while_the_face_is_lost():
    infer, controls, _ = build([face(), None])
    infer(frame(0))
    controls.paused = True
    assert infer(frame(1)).state is State.PAUSED


def test_history_is_dropped_with_each_new_track():
    infer, _, swapper = build([face(1), face(1), None, face(2), face(2)])
    states(infer, 5)
    assert swapper.resets == 2


def test_sources_switch_between_frames_and_out_of_range_takes_the_last():
    infer, controls, swapper = build([face()])
    infer(frame(0))
    controls.source = 1
    infer(frame(1))
    controls.source = 7
    infer(frame(2))
    assert swapper.used == ["anna", "ben"]


def test_refuses_to_run_without_a_source():
    with pytest.raises(ValueError, match="at least one identity"):
        build([face()], people=())
