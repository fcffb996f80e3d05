from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from realtime.pipeline.finish import Finisher
from realtime.types import Box, State, Verdict
from realtime.vision.geometry import grow
from tests.pipeline.people import FACE, SIZE, PaintingSwapper, face, frame, picture, shows_raw_face

HIDDEN = grow(FACE, 0.1)


class Counting:
    """A marker and badge that counts, and leaves a trace."""

    def __init__(self):
        self.i420 = self.bgr = self.stamps = 0

    def mark_i420(self, i420):
        self.i420 += 1

    def mark_bgr(self, image):
        self.bgr += 1

    def stamp(self, image):
        self.stamps += 1


def finisher(on_lost="hide", counting=None, bgr_wanted=False):
    return Finisher(*SIZE, on_lost, counting, counting, bgr_wanted)


def swapped(seq=0):
    patch = PaintingSwapper().swap(picture(), face())
    return Verdict(frame(seq), State.SWAPPED, (patch,))


@pytest.mark.parametrize("state", [s for s in State if s is not State.SWAPPED])
@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("hide", [None, HIDDEN, Box(-500, -500, 500, 500)])
def test_the_raw_face_is_never_shown(state, on_lost, hide):
    finish = finisher(on_lost)
    for verdict in (Verdict(frame(0), state, hide=hide), swapped(1), Verdict(frame(2), state, hide=hide)):
        output = finish.finish(verdict)
        assert not shows_raw_face(output.image)
        assert output.i420.shape == (SIZE[1] * 3 // 2, SIZE[0])


def test_the_test_can_tell_a_raw_face():
    assert shows_raw_face(picture())


def test_pass_shows_the_raw_face_but_never_while_paused():
    finish = finisher("pass")
    assert shows_raw_face(finish.finish(Verdict(frame(), State.LOST, hide=HIDDEN)).image)
    assert not shows_raw_face(finish.finish(Verdict(frame(), State.PAUSED, hide=HIDDEN)).image)


def test_freeze_shows_the_last_swapped_picture_again():
    finish = finisher("freeze")
    kept = finish.finish(swapped(1)).i420.copy()
    for seq in range(2, 6):
        again = finish.finish(Verdict(frame(seq), State.LOST, hide=HIDDEN))
        assert again.seq == seq
        assert np.array_equal(again.i420, kept)


@pytest.mark.parametrize("on_lost", ["hide", "freeze", "pass"])
def test_while_no_verdict_comes_the_placeholder_is_shown_and_the_frozen_picture_only_where_that_is_wanted(on_lost):
    finish = finisher(on_lost)
    before = finish.stalled(1.0)
    assert before.state is State.FAILED and before.captured_at == 1.0 and before.seq == -1
    shown = finish.finish(swapped())
    after = finish.stalled(2.0)
    assert after.state is State.FAILED and after.captured_at == 2.0 and after.seq == -1
    wanted = shown if on_lost == "freeze" else before
    np.testing.assert_array_equal(after.image, wanted.image)
    np.testing.assert_array_equal(after.i420, wanted.i420)
    assert (shown.image != before.image).any()


def test_every_frame_with_a_swap_or_a_hidden_face_is_marked():
    counting = Counting()
    finish = finisher(counting=counting)
    finish.finish(swapped())
    finish.finish(Verdict(frame(), State.LOST, hide=HIDDEN))
    assert (counting.i420, counting.stamps, counting.bgr) == (2, 2, 0)


def test_bgr_is_marked_where_it_is_wanted():
    counting = Counting()
    finisher(counting=counting, bgr_wanted=True).finish(swapped())
    finisher(counting=counting).finish(swapped(), bgr_wanted=True)
    assert counting.bgr == 2


def test_a_frozen_picture_is_known_as_one_with_a_swap_and_marked_in_both_forms():
    """Whatever a still is taken of, it is marked and signed."""
    counting = Counting()
    finish = finisher("freeze", counting)
    lost = Verdict(frame(2), State.LOST, hide=HIDDEN)
    assert not finish.finish(lost).shows_swap
    shown = finish.finish(swapped(1))
    again, stalled = finish.finish(lost, bgr_wanted=True), finish.stalled(3.0)
    assert shown.shows_swap and again.shows_swap and stalled.shows_swap
    assert again.image is shown.image and counting.bgr == 2
    assert not finisher("hide").finish(lost).shows_swap


def test_untouched_pictures_are_not_marked():
    counting = Counting()
    finisher("pass", counting).finish(Verdict(frame(), State.LOST, hide=HIDDEN))
    assert (counting.i420, counting.stamps) == (0, 0)


def test_only_the_face_changes():
    image = finisher().finish(swapped()).image
    changed = (image != picture()).any(axis=2)
    changed[int(FACE.y0) : int(FACE.y1), int(FACE.x0) : int(FACE.x1)] = False
    assert not changed.any()


def test_an_odd_row_is_cut_off():
    finish = Finisher(SIZE[0] - 2, SIZE[1] - 2, "hide", None, None, False)
    output = finish.finish(swapped())
    assert output.image.shape == (SIZE[1] - 2, SIZE[0] - 2, 3)


def test_odd_sizes_are_refused():
    with pytest.raises(ValueError, match="even size"):
        Finisher(95, 64, "hide", None, None, False)


def test_the_placeholder_keeps_the_frames_number_and_time():
    output = finisher().finish(Verdict(frame(9, at=0.5), State.STARTING))
    assert (output.seq, output.captured_at, output.state, output.card) == (9, 0.5, State.STARTING, True)


def test_what_shows_something_of_the_frame_is_no_placeholder():
    hidden = Verdict(frame(), State.LOST, hide=Box(20, 10, 60, 50))
    assert [finisher().finish(verdict).card for verdict in (swapped(), hidden)] == [False, False]
    assert not finisher("pass").finish(Verdict(frame(), State.STARTING)).card


def test_a_swap_of_which_nothing_is_left_counts_as_failed():
    finish, good = finisher(), swapped()
    assert finish.judged(good) is good
    speckles = np.where(np.random.default_rng(1).random((192, 160)) < 0.005, 255, 0).astype(np.uint8)
    for alpha in (np.zeros_like(good.patches[0].alpha), np.full_like(good.patches[0].alpha, 9), np.zeros((0, 0), np.uint8), speckles):
        empty = Verdict(frame(), State.SWAPPED, (replace(good.patches[0], alpha=alpha),))
        verdict = finish.judged(empty)
        assert (verdict.state, verdict.patches) == (State.FAILED, ())
        assert not shows_raw_face(finish.finish(verdict).image)
    assert finish.judged(Verdict(frame(), State.SWAPPED)).state is State.FAILED
    lost = Verdict(frame(), State.LOST, hide=HIDDEN)
    assert finish.judged(lost) is lost
