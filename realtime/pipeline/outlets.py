"""The sinks of a run: who writes to which, and what becomes of one that fails or hangs while the others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from realtime.errors import SinkError
from realtime.pipeline.outlet import Outlet
from realtime.pipeline.slot import Policy, Slot, SlotClosed
from realtime.pipeline.stage import Stage
from realtime.sinks.base import Sink
from realtime.types import OutputFrame, StreamFormat

log = logging.getLogger(__name__)

Taken = Callable[[float], object]
"""Told when (monotonic seconds) a frame had been taken."""
DRAIN_SECONDS = 0.5
"""How long the last frames of a live run may take to be written. Those of a file have all the time they need."""
_LOOK_SECONDS = 0.02


class _Delivery(NamedTuple):
    output: OutputFrame
    taken: Taken | None = None
    repeated: bool = False
    """Or a placeholder: nothing is missed that gives way to a frame."""


class _Lane:
    """A thread that writes to one sink, and the one frame that waits for it."""

    def __init__(self, outlet: Outlet, policy: Policy, deliver: Callable[[Outlet, _Delivery], None]) -> None:
        self.slot: Slot[_Delivery] = Slot(policy, lambda delivery: not delivery.repeated)
        self.stage = Stage(f"sink {outlet.sink.name}", self._step, self.slot.close)
        self._outlet, self._deliver = outlet, deliver

    def _step(self) -> bool:
        try:
            delivery = self.slot.get()
        except SlotClosed:
            return False
        assert delivery is not None  # no time limit was given
        self._deliver(self._outlet, delivery)
        return True


class Outlets:
    """Hands frames to every sink; `write`, `repeat` and `end` belong to the blend thread, the rest to the main one.

    A sink that stands alone, or never waits, is written to at once. Any other has a thread and a slot of its own: one that hangs holds
    up neither the others nor the placeholder. Live, it is then given the newest frame when it comes back; of a file every frame waits for
    it, but not for ever: it is left behind after `PATIENCE_SECONDS`, the others get the rest, and `finish` raises its error.

    Of a file every frame matters, so there the first failure is raised. Live, the show goes on: a steady sink (a virtual camera) that
    fails is opened anew until it takes frames again; any other is left out, its error told at once and raised by `finish`. A failure
    that leaves no sink at all is raised.
    """

    def __init__(self, sinks: Sequence[Sink], stream: StreamFormat) -> None:
        self._live = stream.live
        self._all = [Outlet(sink, stream) for sink in sinks]
        policy: Policy = "latest" if stream.live else "lossless"
        waiting = [outlet for outlet in self._all if outlet.sink.waits] if len(sinks) > 1 else []
        self._lanes = {outlet: _Lane(outlet, policy, self._deliver) for outlet in waiting}
        self._lead = self._leading()
        self._shut = False
        self.steady = stream.live and any(sink.steady for sink in sinks)
        """Whether any sink expects frames at a steady rate."""

    @property
    def stages(self) -> list[Stage]:
        """The threads of the sinks that have one, for the pipeline to start and to end."""
        return [lane.stage for lane in self._lanes.values()]

    @property
    def dropped(self) -> int:
        """Frames that the leading sink never saw, because newer ones came before it was ready."""
        lane = None if self._lead is None else self._lanes.get(self._lead)
        return 0 if lane is None else lane.slot.dropped

    def counts(self, left: Collection[Sink] = ()) -> list[dict[str, Any]]:
        """For the report, of each sink: frames written, repeated ones too, and missed because it was not ready for them, and whether
        it hung and was left behind; `left`: those that hung while they were closed."""
        return [
            {
                "name": outlet.sink.name,
                "written": outlet.written,
                "missed": lane.slot.dropped if (lane := self._lanes.get(outlet)) else 0,
                "left": outlet.left or outlet.sink in left,
            }
            for outlet in self._all
        ]

    def write(self, output: OutputFrame, taken: Taken | None = None) -> bool:
        """`taken` is called, in whatever thread, when the leading sink has the frame; not when it gets a newer one in its place.

        The leading sink is the first steady one, without any the first. False when the run is ending.
        """
        lead, going_on = self._lead, True
        for outlet in self._all:
            delivery = _Delivery(output, taken if outlet is lead else None, repeated=taken is None)
            lane = self._lanes.get(outlet) if self._lanes else None
            if lane is None:
                self._deliver(outlet, delivery)
            elif not outlet.gone:
                going_on = (lane.slot.put(delivery) or outlet.gone) and going_on
        return going_on

    def repeat(self, output: OutputFrame) -> bool:
        """Only to the steady sinks, and to none that has a frame waiting; whether there was one without."""
        repeated = False
        for outlet in self._all:
            lane = self._lanes.get(outlet)
            if not outlet.sink.steady or outlet.gone:
                continue
            if lane is None:
                self._deliver(outlet, _Delivery(output, repeated=True))
            elif lane.slot.peek() is not None:
                continue
            else:
                lane.slot.put(_Delivery(output, repeated=True))
            repeated = True
        return repeated

    def end(self) -> None:
        """No more frames come: wait for the threads to write what they have."""
        limit = perf_counter() + DRAIN_SECONDS
        for lane in self._lanes.values():
            lane.slot.close()
        for outlet, lane in self._lanes.items():
            while not (lane.stage.join(_LOOK_SECONDS) or self._shut or outlet.gone or (self._live and perf_counter() > limit)):
                pass

    def shut(self) -> None:
        """Make every thread end after the write it is in."""
        self._shut = True
        for lane in self._lanes.values():
            lane.slot.close(discard=True)

    def look(self, now: float) -> None:
        """Say which sinks do not answer. Raises the error of one for which every frame of a file would wait for ever."""
        for outlet in self._all:
            outlet.look(now)
            if outlet.stuck and not outlet.gone and not self._live:
                self._leave_behind(outlet)

    def leave(self, sink: Sink) -> SinkError | None:
        """The error of a sink that a thread still is in a write of: that one closes it, once it returns."""
        return next((outlet.hangs() for outlet in self._all if outlet.sink is sink and outlet.leave()), None)

    def finish(self) -> None:
        """Stop looking after sinks that are away. Raises the error of the first one that was given up, or hangs."""
        self.stop()
        for outlet in self._all:
            if outlet.gone and outlet.error is not None:
                raise outlet.error
            if outlet.leave():
                raise outlet.hangs()

    def stop(self) -> None:
        """As `finish`, when something else went wrong."""
        for outlet in self._all:
            outlet.stop()

    def _leading(self) -> Outlet | None:
        """The one that latency is measured at."""
        there = [outlet for outlet in self._all if not outlet.gone] or self._all
        return next((outlet for outlet in there if outlet.sink.steady), there[0] if there else None)

    def _deliver(self, outlet: Outlet, delivery: _Delivery) -> None:
        if outlet.gone:
            return
        try:
            outlet.write(delivery.output)
        except SinkError as error:
            if outlet.gone:
                return  # left behind meanwhile, and told
            outlet.error = error
            if self._live and outlet.sink.steady and not outlet.overdue:
                outlet.reopen()
            else:
                self._give_up(outlet, error, possible=self._live)
                return
        if delivery.taken is not None and not outlet.gone:
            delivery.taken(perf_counter())

    def _give_up(self, outlet: Outlet, error: SinkError, possible: bool) -> None:
        """Raises the error where no run can go on without this sink."""
        outlet.gone = True
        self._lead = self._leading()
        if not possible or all(each.gone for each in self._all):
            raise error
        log.warning("going on without %s: %s", outlet.sink.name, error)

    def _leave_behind(self, outlet: Outlet) -> None:
        """Go on without a sink that hangs. Raises its error where the blend thread hangs in it, for then no other can be given frames."""
        if not outlet.leave():
            return  # it just came back
        outlet.error = error = outlet.hangs()
        self._give_up(outlet, error, possible=outlet in self._lanes)
        self._lanes[outlet].slot.close(discard=True)
