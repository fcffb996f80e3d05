"""The blend stage on a clock of the test's own: when something is shown again, and what becomes of stills."""

from __future__ import annotations

from itertools import pairwise

import pytest

from realtime.pipeline import blend
from realtime.pipeline.blend import SILENT_SECONDS, Blend
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.outlets import Outlets
from realtime.pipeline.slot import SlotClosed
from realtime.pipeline.telemetry import Telemetry
from realtime.pipeline.watchdog import Work
from realtime.sinks.memory import MemorySink
from realtime.types import Frame, State, StreamFormat, Verdict
from tests.pipeline.people import SIZE, PaintingSwapper, face, picture
from tests.pipeline.test_pipeline import build, run, script, wait_for

FPS = 20.0
PERIOD = 1 / FPS


class Scripted:
    """A slot, and the clock: each step is the seconds until the next verdict comes. Waiting is what makes time pass."""

    def __init__(self, steps):
        self.now, self._steps, self._due, self._seq = 100.0, list(steps), None, 0

    def get(self, patience):
        if self._due is None:
            if not self._steps:
                raise SlotClosed
            self._due = self.now + self._steps.pop(0)
        if self._due > self.now + patience:
            self.now += patience
            return None
        self.now, self._due, self._seq = max(self._due, self.now), None, self._seq + 1
        patch = PaintingSwapper().swap(picture(), face())
        return Verdict(Frame(self._seq, self.now, picture()), State.SWAPPED, (patch,))


def played(monkeypatch, steps, *, steady=True):
    """The frames that a sink got, each with the moment it came at."""
    slot, sink = Scripted(steps), MemorySink(steady=steady)
    monkeypatch.setattr(blend, "perf_counter", lambda: slot.now)
    moments = []
    write = sink.write
    sink.write = lambda frame: (moments.append(slot.now), write(frame))
    stream = StreamFormat(*SIZE, FPS, live=True)
    sink.open(stream)
    telemetry = Telemetry()
    telemetry.frames_in = 1
    options = {"telemetry": telemetry, "controls": Controls(), "frame_log": None, "on_still": lambda frame: None}
    stage = Blend(slot, Finisher(*SIZE, "hide", None, None, True), Outlets([sink], stream), stream, [Work()], **options)
    most = iter(range(10_000))
    while stage.step():
        next(most)  # a stage that never waits would go on for ever
    return list(zip(moments, sink.frames, strict=True)), telemetry


def test_nothing_is_repeated_while_the_source_keeps_its_rate(monkeypatch):
    shown, telemetry = played(monkeypatch, [0.0] + [PERIOD] * 30)
    assert [frame.seq for _, frame in shown] == [-1, *range(1, 32)]
    assert telemetry.repeated == 1  # the card before the first frame


def test_a_source_at_half_the_rate_has_each_frame_shown_twice(monkeypatch):
    shown, _ = played(monkeypatch, [0.0] + [2 * PERIOD] * 20)
    assert [frame.seq for _, frame in shown[1:]] == [seq for n in range(1, 22) for seq in [n] * 2][:41]


def test_during_a_pause_of_the_source_the_rate_is_kept_and_after_a_while_the_reason_shown(monkeypatch):
    shown, _ = played(monkeypatch, [0.0, 3 * SILENT_SECONDS])
    moments = [moment for moment, _ in shown[2:-1]]
    assert len(moments) == pytest.approx(3 * SILENT_SECONDS * FPS, abs=3)
    assert all(later - before == pytest.approx(PERIOD) for before, later in pairwise(moments))
    silent = [moment for moment, frame in shown if frame.state is State.NO_SIGNAL]
    assert silent[0] - shown[1][0] == pytest.approx(SILENT_SECONDS, abs=2 * PERIOD)
    assert shown[-1][1].state is State.SWAPPED


def test_a_sink_that_expects_no_rate_gets_the_reason_once(monkeypatch):
    shown, telemetry = played(monkeypatch, [0.0, 3 * SILENT_SECONDS], steady=False)
    assert [frame.state for _, frame in shown] == [State.SWAPPED, State.NO_SIGNAL, State.SWAPPED]
    assert telemetry.repeated == 0


def test_a_still_that_could_not_be_saved_for_a_bug_is_not_forgotten_over_the_next_one(monkeypatch):
    monkeypatch.setattr("realtime.pipeline.pipeline.TICK_SECONDS", 60.0)  # or the main thread might end the run before the next one
    controls, saved = Controls(), []
    controls.still_wanted = True

    def save(frame):
        saved.append(frame.seq)
        if len(saved) == 1:
            raise RuntimeError("a bug in saving")

    def steps():
        yield from script(5)
        wait_for(lambda: len(saved) == 1)
        controls.still_wanted = True
        yield from script(5)
        wait_for(lambda: len(saved) == 2)

    error = run(build(steps(), [MemorySink()], live=False, controls=controls, on_still=save))
    assert isinstance(error, RuntimeError) and len(saved) == 2


def test_threads_of_stills_that_are_done_are_not_kept():
    controls, saved = Controls(), []

    def steps():
        for wanted in range(1, 5):
            controls.still_wanted = True
            yield from script(1)
            wait_for(lambda wanted=wanted: len(saved) == wanted)
            wait_for(lambda: not any(still.alive for still in pipeline._blend.stills))

    pipeline = build(steps(), [MemorySink()], live=False, controls=controls, on_still=lambda frame: saved.append(frame.seq))
    assert run(pipeline) is None
    assert len(saved) == 4 and len(pipeline._blend.stills) == 1
