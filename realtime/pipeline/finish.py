"""From a verdict to the finished frame: paste or hide, badge, I420, mark."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from realtime.buffers import Pool
from realtime.types import Frame, Image, OutputFrame, Patch, State, Verdict
from realtime.vision.blend import paste
from realtime.vision.cover import hide_beside, reaches
from realtime.vision.draw import covers, hide, placeholder
from realtime.vision.yuv import to_i420

OnLost = Literal["hide", "freeze", "pass"]

NOTHING_LEFT = "nothing was left of the swap"
"""Reason of a frame in which masks took all of it away."""
_OPAQUE = 128
"""Alpha that every swap reaches somewhere, 255 in its middle being usual."""
_LEAST = 0.02
"""Of the patch, that must be so opaque: half of it is usual, a tenth where a hand covers nearly all of the face."""
CARDS = {
    State.STARTING: "Looking for a face",
    State.LOST: "The face is hidden",
    State.FAILED: "The face is hidden",
    State.PAUSED: "Paused",
    State.NO_SIGNAL: "No picture from the camera",
}


class Marker(Protocol):
    """Marks a finished frame as AI-modified, in place."""

    def mark_i420(self, i420: NDArray[np.uint8]) -> None: ...

    def mark_bgr(self, image: Image) -> None: ...


class Badge(Protocol):
    """Stamps the visible label on a frame, in place."""

    def stamp(self, image: Image) -> None: ...


class Finisher:
    """Turns verdicts into output frames of one size; belongs to the blend thread.

    The arrays of an output frame are used again once nobody refers to them: a sink may take its time over one in a thread of its own.
    """

    def __init__(self, width: int, height: int, on_lost: OnLost, marker: Marker | None, badge: Badge | None, bgr_wanted: bool) -> None:
        if width % 2 or height % 2:
            raise ValueError(f"expected an even size for 4:2:0 video, got {width}x{height}")
        self._size = (width, height)
        self._on_lost = on_lost
        self._marker = marker
        self._badge = badge
        self._bgr_wanted = bgr_wanted
        self._planes = Pool()
        self._cards: dict[State, OutputFrame] = {}
        self._swapped: OutputFrame | None = None

    def judged(self, verdict: Verdict) -> Verdict:
        """The verdict, unless its patches would show the face that they are to cover: then a failure, hidden like any other.

        A mask that says "nothing of this is a face" makes such a patch, by whatever mistake.
        """
        if verdict.state is not State.SWAPPED or (verdict.patches and all(covers_a_face(patch) for patch in verdict.patches)):
            return verdict
        return replace(verdict, state=State.FAILED, patches=(), reason=NOTHING_LEFT)

    def finish(self, verdict: Verdict, bgr_wanted: bool = False) -> OutputFrame:
        """The frame that may be shown for this verdict; writes into the frame's own picture. `bgr_wanted`: mark `image` too."""
        if self._freezes(verdict):
            return self._again(verdict.frame)
        if self._shows_card(verdict):
            return self.card(verdict.state, verdict.frame)
        image = self._cropped(verdict.frame.image)
        marked = self._paint(image, verdict)
        output = self._output(verdict.frame, verdict.state, image, marked, bgr_wanted)
        if verdict.state is State.SWAPPED and self._on_lost == "freeze":
            self._swapped = output
        return output

    def stalled(self, now: float) -> OutputFrame:
        """What may be shown when no verdict comes: the frozen picture where that is what the user wants, else the placeholder."""
        if self._on_lost == "freeze" and self._swapped is not None:
            return replace(self._swapped, seq=-1, captured_at=now, state=State.FAILED, media_time=None, frozen=True)
        return self.card(State.FAILED, at=now)

    def card(self, state: State, frame: Frame | None = None, at: float = 0.0) -> OutputFrame:
        """The placeholder for this state, with the frame's number and times if there is one, else of the moment `at`."""
        card = self._cards.get(state)
        if card is None:
            image = placeholder(*self._size, CARDS[state])
            i420 = np.empty((self._size[1] * 3 // 2, self._size[0]), np.uint8)
            to_i420(image, i420)
            card = self._cards[state] = OutputFrame(-1, 0.0, state, image, i420, card=True)
        if frame is None:
            return replace(card, captured_at=at)
        return replace(card, seq=frame.seq, captured_at=frame.captured_at, media_time=frame.media_time)

    def _freezes(self, verdict: Verdict) -> bool:
        return self._on_lost == "freeze" and verdict.state is not State.SWAPPED and self._swapped is not None

    def _shows_card(self, verdict: Verdict) -> bool:
        if verdict.state is State.SWAPPED or self._passes(verdict):
            return False
        return verdict.state is State.STARTING or verdict.hide is None or covers(verdict.hide, *self._size)

    def _passes(self, verdict: Verdict) -> bool:
        return self._on_lost == "pass" and verdict.state is not State.PAUSED

    def _paint(self, image: Image, verdict: Verdict) -> bool:
        """Swap, hide or pass; True when the picture then is one that must be marked."""
        if verdict.state is State.SWAPPED:
            if verdict.also and self._on_lost != "pass":
                hide_beside(image, verdict.also, verdict.patches)
            for patch in verdict.patches:
                paste(image, patch.x, patch.y, patch.colour, patch.alpha)
            return True
        if self._passes(verdict):
            return False
        assert verdict.hide is not None  # _shows_card took the others
        for box in (*verdict.also, verdict.hide):
            hide(image, box)
        return True

    def _output(self, frame: Frame, state: State, image: Image, marked: bool, bgr_wanted: bool) -> OutputFrame:
        if marked and self._badge is not None:
            self._badge.stamp(image)
        width, height = self._size
        i420 = self._planes.array((height * 3 // 2, width))
        to_i420(image, i420)
        if marked and self._marker is not None:
            self._marker.mark_i420(i420)
            if self._bgr_wanted or bgr_wanted or self._on_lost == "freeze":  # a still may be taken of it later
                self._marker.mark_bgr(image)
        return OutputFrame(frame.seq, frame.captured_at, state, image, i420, frame.media_time)

    def _again(self, frame: Frame) -> OutputFrame:
        assert self._swapped is not None  # _freezes asked
        kept = self._swapped
        return OutputFrame(frame.seq, frame.captured_at, State.LOST, kept.image, kept.i420, frame.media_time, frozen=True)

    def _cropped(self, image: Image) -> Image:
        """Without an odd last row or column, which 4:2:0 video cannot have; a copy only where there is one."""
        width, height = self._size
        return np.ascontiguousarray(image[:height, :width])


def covers_a_face(patch: Patch) -> bool:
    """A part of it must be opaque, not single pixels; looked at in every fourth row and column until that is certain."""
    looked_at = patch.alpha[::4, ::4]
    return looked_at.size > 0 and reaches(looked_at, _OPAQUE, max(1.0, _LEAST * looked_at.size))
