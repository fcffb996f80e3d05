"""The infer stage: follow the face, swap it, and decide what may be shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, Protocol, TypeVar

from realtime.errors import ModelError, NumbersError, said
from realtime.models.base import Identity, Swapper
from realtime.pipeline.controls import Controls
from realtime.pipeline.scenery import Scenery
from realtime.types import Box, Face, Frame, Image, Patch, State, Verdict
from realtime.vision.geometry import grow

log = logging.getLogger(__name__)

HIDE_MARGIN = 0.35
"""Of the face's longer side, around the mesh: hair, chin and ears lie outside of the mesh."""
HIDE_GROWTH = 2.0
"""Face sizes a second that the hidden region grows by while the face is lost: it may be moving, unseen by the detector."""
MIXED_UP = "two faces may be mixed up"
"""Reason of a frame in which a face is followed and hidden, for it may be another's."""
MAX_FAILING_SECONDS = 5.0
"""A swapper that fails for this long without a break will not recover: the run ends with its error."""


class Tracked(Protocol):
    """What the infer stage needs to know of a tracker's result."""

    @property
    def face(self) -> Face | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def last_box(self) -> Box | None: ...
    @property
    def hidden(self) -> tuple[Box, ...]: ...
    @property
    def closed(self) -> bool: ...
    @property
    def anywhere(self) -> bool: ...
    @property
    def times(self) -> dict[str, float]: ...


class Tracker(Protocol):
    def track(self, image: Image, at: float) -> Tracked: ...


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Followed(Generic[Found]):
    """A frame half way: what the tracker found in it, or raised."""

    frame: Frame
    found: Found | Exception
    seconds: float


def follow(tracker: Callable[[Image, float], Found], frame: Frame) -> Followed[Found]:
    """The first half of the infer stage; what the tracker raises is the second half's affair."""
    start = perf_counter()
    try:
        return Followed(frame, tracker(frame.image, frame.time), perf_counter() - start)
    except Exception as error:
        return Followed(frame, error, perf_counter() - start)


class Failures:
    """How long frames have been failing without a break: one bad frame is hidden, a swap that will not recover ends the run.

    A network that is of no use, which is what a ModelError says, never recovers; one that gave no numbers once may.
    """

    def __init__(self) -> None:
        self._since: float | None = None

    def note(self, at: float, error: Exception) -> None:
        """Book a failure in the frame of this time. Raises the error after `MAX_FAILING_SECONDS` of them, most ModelErrors at once."""
        if isinstance(error, ModelError) and not isinstance(error, NumbersError):
            raise error
        if self._since is None:
            self._since = at
            log.warning("this frame could not be swapped and is hidden: %s", said(error))
        if at - self._since > MAX_FAILING_SECONDS:
            raise error

    def clear(self) -> None:
        self._since = None


class Infer:
    """Frame in, verdict out; belongs to the infer thread, or each half to one.

    Never raises for one bad frame: that frame counts as lost.
    """

    def __init__(
        self,
        tracker: Tracker,
        swapper: Swapper,
        identities: Sequence[Identity],
        controls: Controls,
    ) -> None:
        if not identities:
            raise ValueError("expected at least one identity to swap in, got none")
        self._tracker = tracker
        self._swapper = swapper
        self._identities = identities
        self._controls = controls
        self._source = -1
        self._memory: int | None = None
        self._swapped_once = False
        self._last: Box | None = None
        self._company = False
        self._seen_at = 0.0
        self._scenery = Scenery()
        self._failures = Failures()

    def __call__(self, frame: Frame) -> Verdict:
        return self.swap(self.follow(frame))

    def follow(self, frame: Frame) -> Followed[Tracked]:
        """The first half, which may have a thread of its own: where the face is."""
        return follow(self._tracker.track, frame)

    def swap(self, followed: Followed[Tracked]) -> Verdict:
        """The second half: what is shown. It alone touches the swapper and remembers what was seen."""
        start = perf_counter()
        self._scenery.look(followed.frame.image)
        try:
            if isinstance(followed.found, Exception):
                raise followed.found
            verdict = self._decide(followed.frame, followed.found)
            self._failures.clear()
        except Exception as error:
            verdict = self._failed(followed.frame, error)
        verdict.times["infer"] = followed.seconds + perf_counter() - start
        return verdict

    def _decide(self, frame: Frame, tracked: Tracked) -> Verdict:
        times = {part: seconds for part, seconds in tracked.times.items() if seconds > 0}
        self._company = bool(tracked.hidden)
        if tracked.face is None:
            return self._lost(frame, tracked, times)
        self._last, self._seen_at = tracked.face.box, frame.time
        self._scenery.found()
        hidden = None if tracked.anywhere else grow(self._last, HIDE_MARGIN)
        also = tuple(grow(box, HIDE_MARGIN) for box in tracked.hidden)
        if self._controls.paused:
            self._forget()
            return Verdict(frame, State.PAUSED, hide=hidden, reason="paused", times=times, also=also)
        if tracked.closed:
            self._forget()
            return Verdict(frame, self._gone(), hide=hidden, reason=tracked.reason or MIXED_UP, times=times, also=also)
        start = perf_counter()
        patch = self._swap(frame.image, tracked.face)
        times["swap"] = perf_counter() - start
        if patch is None:
            reason = "face too small, cut by the border or turned away"
            return Verdict(frame, self._gone(), hide=hidden, reason=reason, times=times, also=also)
        return self._swapped(frame, patch, tracked.reason, times, also)

    def _swap(self, image: Image, face: Face) -> Patch | None:
        self._follow_controls()
        if face.memory != self._memory:
            self._swapper.reset()
            self._memory = face.memory
        return self._swapper.swap(image, face)

    def _follow_controls(self) -> None:
        wanted = min(self._controls.source, len(self._identities) - 1)
        if wanted != self._source:
            self._swapper.use(self._identities[wanted])
            self._source = wanted

    def _swapped(self, frame: Frame, patch: Patch, reason: str, times: dict[str, float], also: tuple[Box, ...]) -> Verdict:
        self._swapped_once = True
        return Verdict(frame, State.SWAPPED, (patch,), reason=reason, times=times, also=also)

    def _lost(self, frame: Frame, tracked: Tracked, times: dict[str, float]) -> Verdict:
        self._forget()
        self._last = tracked.last_box or self._last
        state = State.PAUSED if self._controls.paused else self._gone()
        also = tuple(grow(box, HIDE_MARGIN) for box in tracked.hidden)
        return Verdict(frame, state, hide=self._hidden(frame), reason=tracked.reason, times=times, also=also)

    def _hidden(self, frame: Frame) -> Box | None:
        """The last known region, grown by the time gone by since.

        None (all of the frame) when nobody was seen yet, or the picture jumped since: the face may be anywhere.
        """
        if self._last is None:
            return None
        cover = grow(self._last, HIDE_MARGIN + HIDE_GROWTH * max(0.0, frame.time - self._seen_at))
        return None if self._scenery.lost(frame.image, self._last, (cover,)) else cover

    def _gone(self) -> State:
        return State.LOST if self._swapped_once else State.STARTING

    def _forget(self) -> None:
        self._memory = None

    def _failed(self, frame: Frame, error: Exception) -> Verdict:
        self._forget()
        self._failures.note(frame.captured_at, error)
        state = State.FAILED if self._swapped_once else State.STARTING
        hidden = None if self._company else self._hidden(frame)  # somebody else in view may be the person
        return Verdict(frame, state, hide=hidden, reason=said(error), failed=True)
