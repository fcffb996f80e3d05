"""The infer stage for several faces: follow them, swap each, and hide each that must not be seen and is not swapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from realtime.errors import said
from realtime.models.base import Identity, Swapper
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import NOTHING_LEFT, covers_a_face
from realtime.pipeline.infer import HIDE_GROWTH, HIDE_MARGIN, Failures, Followed, follow
from realtime.pipeline.scenery import Scenery
from realtime.types import Box, Face, Frame, Image, Patch, State, Verdict
from realtime.vision.geometry import grow

MOST_GROWTH = 0.4
"""Face sizes that a hidden region grows by at most while others are swapped: the detector looks at every frame then, and a cover that grew
on would take in those beside it. With nobody swapped it grows on until nothing can be seen."""
CUT = "another picture: who is where is not known yet"
"""Reason of frames in which the tracker says that somebody may be anywhere."""
KEPT_SECONDS = 1.0
"""How long a swapper keeps what it learned of a face that is out of sight: as long as the face may come back under its number."""


class Chosen(Protocol):
    @property
    def face(self) -> Face: ...
    @property
    def person(self) -> int | None: ...


class Lost(Protocol):
    @property
    def boxes(self) -> tuple[Box, ...]: ...
    @property
    def since(self) -> float: ...


class Tracked(Protocol):
    """What this stage needs to know of a tracker's result."""

    @property
    def faces(self) -> Sequence[Chosen]: ...
    @property
    def lost(self) -> Sequence[Lost]: ...
    @property
    def others(self) -> Sequence[Box]: ...
    @property
    def anywhere(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def times(self) -> dict[str, float]: ...


class Tracker(Protocol):
    def track(self, image: Image, at: float) -> Tracked: ...


@dataclass(slots=True)
class _Seat:
    """A swapper and the face it is busy with."""

    swapper: Swapper
    source: int = -1
    seen_at: float = 0.0


class InferSeveral:
    """Frame in, verdict out; belongs to the infer thread. Never raises for one bad frame: that one is hidden."""

    def __init__(
        self, tracker: Tracker, swapper: Swapper, identities: Sequence[Identity], controls: Controls, sources: Sequence[int] = ()
    ) -> None:
        """`sources`: for each person that the tracker looks for the number of the identity that goes on their face."""
        if not identities:
            raise ValueError("expected at least one identity to swap in, got none")
        self._tracker = tracker
        self._swapper = swapper
        self._identities = identities
        self._controls = controls
        self._sources = sources
        self._seats: dict[int, _Seat] = {}
        self._free = [_Seat(swapper)]
        self._swapped_once = False
        self._scenery = Scenery()
        self._failures = Failures()

    def __call__(self, frame: Frame) -> Verdict:
        return self.swap(self.follow(frame))

    def follow(self, frame: Frame) -> Followed[Tracked]:
        """The first half, which may have a thread of its own: where the faces are."""
        return follow(self._tracker.track, frame)

    def swap(self, followed: Followed[Tracked]) -> Verdict:
        """The second half: what is shown. It alone touches the swappers."""
        start, frame = perf_counter(), followed.frame
        self._scenery.look(frame.image)
        try:
            if isinstance(followed.found, Exception):
                raise followed.found
            verdict = self._decide(frame, followed.found)
        except Exception as error:
            self._failures.note(frame.captured_at, error)
            state = State.FAILED if self._swapped_once else State.STARTING
            verdict = Verdict(frame, state, reason=said(error), failed=True)  # who is in view is not known: nothing is shown
        verdict.times["infer"] = followed.seconds + perf_counter() - start
        return verdict

    def _decide(self, frame: Frame, tracked: Tracked) -> Verdict:
        times = {part: seconds for part, seconds in tracked.times.items() if seconds > 0}
        self._clear_seats(frame.time)
        if tracked.anywhere:
            state = State.PAUSED if self._controls.paused else State.LOST if self._swapped_once else State.STARTING
            return self._nobody(frame, state, [], CUT, times)
        if self._controls.paused:
            hidden = [*(chosen.face.box for chosen in tracked.faces), *self._places(tracked)]
            return self._nobody(frame, State.PAUSED, [grow(box, HIDE_MARGIN) for box in hidden], "paused", times)
        start = perf_counter()
        patches, unswapped, failure = self._swap_all(frame, tracked.faces)
        if tracked.faces:
            times["swap"] = perf_counter() - start
        hidden = [grow(box, HIDE_MARGIN) for box in (*unswapped, *tracked.others)] + self._covers(tracked, frame.time, bool(patches))
        reason = failure or tracked.reason
        if patches:
            self._swapped_once = True
            self._scenery.found()
            return Verdict(frame, State.SWAPPED, tuple(patches), reason=reason, times=times, also=tuple(hidden))
        state = State.STARTING if not self._swapped_once else State.LOST if not failure else State.FAILED
        lost = [box for each in tracked.lost for box in each.boxes]
        if lost and self._scenery.lost(frame.image, min(lost, key=lambda box: box.area), hidden):
            hidden = []  # they may be anywhere
        return self._nobody(frame, state, hidden, reason, times, failed=failure not in ("", NOTHING_LEFT))

    def _nobody(
        self, frame: Frame, state: State, hidden: list[Box], reason: str, times: dict[str, float], *, failed: bool = False
    ) -> Verdict:
        """Nobody is swapped. With nothing to hide either, all of the frame is."""
        largest, *more = sorted(hidden, key=lambda box: -box.area) if hidden else (None,)
        return Verdict(frame, state, hide=largest, reason=reason, times=times, also=tuple(more), failed=failed)

    # -- hiding ----------------------------------------------------------------------------------------------

    def _places(self, tracked: Tracked) -> list[Box]:
        return [box for lost in tracked.lost for box in lost.boxes] + list(tracked.others)

    def _covers(self, tracked: Tracked, at: float, swapped: bool) -> list[Box]:
        """The places of those lost, the last one first, grown by the time gone by since."""
        covers = []
        for lost in sorted(tracked.lost, key=lambda lost: -lost.since):
            growth = HIDE_GROWTH * max(0.0, at - lost.since)
            covers += [grow(box, HIDE_MARGIN + (min(growth, MOST_GROWTH) if swapped else growth)) for box in lost.boxes]
        return covers

    # -- swapping --------------------------------------------------------------------------------------------

    def _swap_all(self, frame: Frame, faces: Sequence[Chosen]) -> tuple[list[Patch], list[Box], str]:
        """The patches, the faces that gave none, and why: what a swapper raised last, or that masks left nothing.

        The largest face comes last, over the others: it is the nearest to the camera.
        """
        patches: list[Patch] = []
        unswapped: list[Box] = []
        failure: Exception | None = None
        masked = False
        for chosen in sorted(faces, key=lambda chosen: chosen.face.box.area):
            try:
                patch = self._swap(frame, chosen)
            except Exception as error:
                patch, failure = None, error
            if patch is None or not covers_a_face(patch):
                unswapped.append(chosen.face.box)
                masked |= patch is not None
            else:
                patches.append(patch)
        if failure is None or patches:
            self._failures.clear()  # a single face that fails is hidden, for as long as it does
        else:
            self._failures.note(frame.captured_at, failure)
        return patches, unswapped, NOTHING_LEFT if masked and failure is None else "" if failure is None else said(failure)

    def _swap(self, frame: Frame, chosen: Chosen) -> Patch | None:
        seat = self._seat(chosen.face.memory)
        seat.seen_at = frame.time
        wanted = self._controls.source if chosen.person is None or not self._sources else self._sources[chosen.person]
        wanted = min(wanted, len(self._identities) - 1)
        if wanted != seat.source:
            seat.swapper.use(self._identities[wanted])
            seat.source = wanted
        return seat.swapper.swap(frame.image, chosen.face)

    def _seat(self, face: int) -> _Seat:
        """The swapper of the face with this `memory`: one for itself, with nothing left in it of another face."""
        seat = self._seats.get(face)
        if seat is None:
            seat = self._seats[face] = self._free.pop() if self._free else _Seat(self._swapper.fork())
            seat.swapper.reset()
        return seat

    def _clear_seats(self, at: float) -> None:
        for track, seat in list(self._seats.items()):
            if not 0 <= at - seat.seen_at <= KEPT_SECONDS:
                self._free.append(self._seats.pop(track))
