"""Several faces in the infer stage, and what of them a sink is shown."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.errors import ModelError
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import NOTHING_LEFT, Finisher
from realtime.pipeline.infer import HIDE_GROWTH, HIDE_MARGIN, MAX_FAILING_SECONDS
from realtime.pipeline.several import KEPT_SECONDS, MOST_GROWTH, InferSeveral
from realtime.sinks.memory import MemorySink
from realtime.types import Box, Frame, State
from realtime.vision.geometry import grow
from tests.pipeline.people import (
    BESIDE,
    FACE,
    SIZE,
    Chosen,
    Gone,
    PaintingSwapper,
    Person,
    ScriptedCrowd,
    Seen,
    crowd,
    face,
    shows_raw_face,
)
from tests.pipeline.test_pipeline import build as build_pipeline
from tests.pipeline.test_pipeline import run, script

ONE, TWO = Chosen(face(1)), Chosen(face(2, BESIDE))


def build(*steps, swapper=None, people=("anna", "ben"), sources=()):
    controls = Controls()
    swapper = swapper or PaintingSwapper()
    return InferSeveral(ScriptedCrowd(steps), swapper, [Person(name) for name in people], controls, sources), controls, swapper


def frame(seq: int = 0, at: float | None = None) -> Frame:
    return Frame(seq, seq / 30 if at is None else at, crowd())


def shown(verdict, on_lost="hide"):
    return Finisher(*SIZE, on_lost, None, None, bgr_wanted=True).finish(verdict).image


def failing():
    raise RuntimeError("the network gave up")


def once_in(nth, action):
    count = iter(range(1, 10_000))
    return lambda: True if next(count) % nth else action()


def test_each_face_has_a_patch_and_a_swapper_of_its_own():
    infer, _, swapper = build(Seen((ONE, TWO)))
    verdicts = [infer(frame(n)) for n in range(5)]
    assert all(verdict.state is State.SWAPPED and len(verdict.patches) == 2 for verdict in verdicts)
    assert len(swapper.forks) == 1 and swapper.resets == swapper.forks[0].resets == 1
    assert not shows_raw_face(shown(verdicts[-1]))


def test_swappers_are_used_again_for_those_who_come_later():
    infer, _, swapper = build(*(Seen((Chosen(face(n)), Chosen(face(n + 1, BESIDE)))) for n in range(1, 40, 2)))
    for n in range(20):
        infer(frame(n, at=1.5 * n))
    assert len(swapper.forks) == 1


def test_a_swapper_keeps_what_it_learned_through_a_short_miss():
    infer, _, swapper = build(Seen((ONE, TWO)), Seen((ONE,)), Seen((ONE, TWO)))
    for n in range(3):
        infer(frame(n))
    assert swapper.resets == 1 and [fork.resets for fork in swapper.forks] == [1]


def test_a_swapper_keeps_what_it_learned_for_as_long_as_its_face_is_there():
    infer, _, swapper = build(Seen((ONE,)))
    for n in range(6):
        infer(frame(n, at=0.6 * KEPT_SECONDS * n))
    assert swapper.resets == 1 and swapper.used == ["anna"], "fitting the same source again would cost a frame's time"


def test_every_face_gets_the_source_that_is_chosen():
    infer, controls, swapper = build(Seen((ONE, TWO)))
    infer(frame(0))
    controls.source = 1
    infer(frame(1))
    assert swapper.used == swapper.forks[0].used == ["anna", "ben"]


def test_the_nearest_face_is_laid_over_the_others():
    infer, _, _ = build(Seen((ONE, TWO)))
    assert [patch.box.area for patch in infer(frame(0)).patches] == [BESIDE.area, FACE.area]


def test_each_person_gets_the_source_of_the_map_whatever_is_chosen():
    infer, controls, swapper = build(Seen((Chosen(face(1), 1), Chosen(face(2, BESIDE), 0))), sources=(1, 0))
    controls.source = 1
    infer(frame(0))
    assert swapper.used == ["ben"] and swapper.forks[0].used == ["anna"]  # the smaller face, BESIDE, comes first


def test_a_face_that_changes_person_changes_source():
    infer, _, swapper = build(Seen((Chosen(face(1), 0),)), Seen((Chosen(face(1), 1),)), sources=(0, 1))
    infer(frame(0)), infer(frame(1))
    assert swapper.used == ["anna", "ben"]


FAULTS = {
    "one raises": lambda: PaintingSwapper(once_in(2, failing)),
    "one gives nothing": lambda: PaintingSwapper(once_in(2, lambda: None)),
}


@pytest.mark.parametrize("make", FAULTS.values(), ids=FAULTS)
def test_a_face_that_cannot_be_swapped_is_hidden_beside_one_that_is(make):
    infer, _, _ = build(Seen((ONE, TWO)), swapper=make())
    for n in range(6):
        verdict = infer(frame(n))
        assert verdict.state is State.SWAPPED and len(verdict.patches) == 1 and verdict.also
        assert not shows_raw_face(shown(verdict))


def test_none_that_can_be_swapped_is_a_failure_and_ends_the_run_in_the_end():
    infer, _, _ = build(Seen((ONE, TWO)), swapper=PaintingSwapper(failing))
    first = infer(frame(0, at=0.0))
    assert first.state is State.STARTING and "the network gave up" in first.reason
    with pytest.raises(RuntimeError, match="the network gave up"):
        infer(frame(1, at=MAX_FAILING_SECONDS + 0.1))


def test_a_network_of_no_use_ends_the_run_with_its_sentence_at_once():
    def useless():
        raise ModelError("swap.onnx gives no picture: get it anew")

    infer, _, _ = build(Seen((ONE, TWO)), swapper=PaintingSwapper(useless))
    with pytest.raises(ModelError, match=r"^swap\.onnx gives no picture"):
        infer(frame(0, at=0.0))


def test_a_face_of_which_masks_leave_nothing_is_hidden_alone_and_told():
    infer, _, _ = build(Seen((ONE, TWO)), swapper=_Masked())
    both = infer(frame(0))
    assert both.state is State.STARTING and both.reason == NOTHING_LEFT and both.hide is not None and both.also and not both.failed
    assert not shows_raw_face(shown(both))


class _Masked(PaintingSwapper):
    """Its patches show nothing."""

    def swap(self, image, face):
        patch = super().swap(image, face)
        patch.alpha[:] = 0
        return patch

    def fork(self):
        return self


def test_one_face_that_fails_for_long_does_not_end_the_run():
    infer, _, _ = build(Seen((ONE, TWO)), swapper=PaintingSwapper(once_in(2, failing)))
    assert [infer(frame(n, at=2.0 * n)).state for n in range(8)] == [State.SWAPPED] * 8


def test_a_tracker_that_raises_hides_all_of_the_frame():
    infer, _, _ = build(Seen((ONE, TWO)), RuntimeError("boom"))
    infer(frame(0))
    verdict = infer(frame(1))
    assert verdict.state is State.FAILED and verdict.hide is None and "boom" in verdict.reason and verdict.failed
    assert not shows_raw_face(shown(verdict))


def test_others_in_view_are_hidden_under_the_patches():
    infer, _, _ = build(Seen((ONE,), others=(BESIDE,)))
    image = shown(infer(frame(0)))
    assert not shows_raw_face(image)
    x, y = (int(value) for value in FACE.centre)
    assert tuple(image[y, x]) == (200, 30, 180)


def test_a_cover_that_reaches_over_a_swapped_face_does_not_hide_it():
    infer, _, _ = build(Seen((ONE,), lost=(Gone((FACE,), 0.0),), others=(BESIDE,)))
    image = shown(infer(frame(0)))
    x, y = (int(value) for value in FACE.centre)
    assert tuple(image[y, x]) == (200, 30, 180)


def test_a_lost_face_is_hidden_and_its_cover_grows_to_a_limit_beside_a_swap():
    lost = Seen((ONE,), lost=(Gone((BESIDE,), 0.0),))
    infer, _, _ = build(lost)
    soon, late, later = (infer(frame(n, at=at)).also[0] for n, at in enumerate((0.0, 1.0, 5.0)))
    assert soon == grow(BESIDE, HIDE_MARGIN)
    assert late == later == grow(BESIDE, HIDE_MARGIN + MOST_GROWTH)


@pytest.mark.parametrize("swapped", [(), (ONE,)], ids=["nobody swapped", "beside a swap"])
def test_a_cover_grows_by_the_time_since_the_face_was_lost(swapped):
    infer, _, _ = build(Seen((ONE,)), Seen(swapped, lost=(Gone((BESIDE,), 10.0),)))
    infer(frame(0, at=9.9))
    verdict = infer(frame(1, at=10.1))
    cover = verdict.also[0] if swapped else verdict.hide
    assert np.allclose(cover, grow(BESIDE, HIDE_MARGIN + 0.1 * HIDE_GROWTH))
    assert 0.1 * HIDE_GROWTH < MOST_GROWTH


def test_with_nobody_swapped_the_cover_grows_until_nothing_is_seen():
    infer, _, _ = build(Seen((ONE,)), Seen(lost=(Gone((FACE,), 0.0),)))
    infer(frame(0))
    late = infer(frame(1, at=5.0))
    assert late.state is State.LOST and late.hide is not None and late.hide.area > 40 * FACE.area
    assert np.array_equal(shown(late), shown(infer(frame(2, at=99.0))))


def test_nobody_to_swap_and_nobody_to_hide_shows_the_placeholder():
    infer, _, _ = build(Seen((ONE,)), Seen())
    infer(frame(0))
    verdict = infer(frame(1))
    assert verdict.state is State.LOST and verdict.hide is None
    assert not shows_raw_face(shown(verdict))


def test_pause_hides_everybody():
    infer, controls, _ = build(Seen((ONE, TWO)))
    infer(frame(0))
    controls.paused = True
    verdict = infer(frame(1))
    assert verdict.state is State.PAUSED and not verdict.patches
    assert not shows_raw_face(shown(verdict, "pass"))


def test_pass_shows_who_is_not_swapped_as_it_says():
    infer, _, _ = build(Seen((ONE,), others=(BESIDE,)))
    image = shown(infer(frame(0)), "pass")
    assert shows_raw_face(image[:, :30]) and not shows_raw_face(image[:, 30:])


SCRIPTS = {
    "nobody at all": [Seen()],
    "one comes and goes": [Seen((ONE,), others=(BESIDE,)), Seen((ONE, TWO)), Seen((ONE,), (Gone((BESIDE,), 0.05),))],
    "all are lost": [Seen((ONE, TWO)), Seen(lost=(Gone((FACE,), 0.03), Gone((BESIDE,), 0.03)))],
    "the tracker raises": [Seen((ONE, TWO)), RuntimeError("boom"), Seen((ONE, TWO)), RuntimeError("boom")],
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("steps", SCRIPTS.values(), ids=SCRIPTS)
def test_at_the_sink_nobody_is_seen(steps, on_lost):
    sink = MemorySink()
    infer, _, _ = build(*steps)

    def with_two(one: Frame):
        one.image[int(BESIDE.y0) : int(BESIDE.y1), int(BESIDE.x0) : int(BESIDE.x1)] = (0, 255, 0)
        return infer(one)

    assert run(build_pipeline(script(12), [sink], live=False, infer=with_two, on_lost=on_lost)) is None
    assert len(sink.frames) == 12
    assert not any(shows_raw_face(shown.image) for shown in sink.frames)


def test_refuses_to_run_without_a_source():
    with pytest.raises(ValueError, match="at least one identity"):
        build(people=())


def test_a_box_is_hidden_once_only_where_it_is():
    infer, _, _ = build(Seen((ONE,), others=(Box(4, 6, 14, 18),)))
    image = shown(infer(frame(0)))
    assert (image[-4:, :] == 90).all()
