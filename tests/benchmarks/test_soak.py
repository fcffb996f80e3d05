"""The soak benchmark's own parts: a schedule that misses nothing, and measures that can tell good from bad."""

from __future__ import annotations

import argparse
import itertools
import time
from contextlib import ExitStack

import numpy as np
import pytest

from benchmarks.faults import Beside, Device, Director, Fault, Faults, Opened, Outlet, every_fault
from benchmarks.memory import Memory, in_use
from benchmarks.soak import Soak
from realtime.errors import SinkError
from realtime.types import Frame, OutputFrame, State, StreamFormat

PICTURE = np.zeros((48, 64, 3), np.uint8)


def swapped(seq: int, captured_at: float | None = None) -> OutputFrame:
    return OutputFrame(seq, time.perf_counter() if captured_at is None else captured_at, State.SWAPPED, PICTURE, PICTURE[..., 0])


def play(director: Director, outlet: Outlet, until, frames_come=lambda: True) -> None:
    """Tick until `until()` holds, with a swapped frame before each tick while `frames_come`."""
    seq, end = outlet.newest + 1, time.perf_counter() + 20
    while not until():
        assert time.perf_counter() < end
        if frames_come():
            outlet.write(swapped(seq))
        seq += 1
        director.tick()
        time.sleep(0.0005)


def test_every_fault_happens_once_a_round_and_is_undone():
    faults = Faults()
    device, outlet = Device(np.zeros((64, 64, 3), np.uint8), 30.0), Outlet(faults)
    all_of_them = [Fault(f.name, f.begin, f.end, 0.001) for f in every_fault(device, faults)]
    names = {fault.name for fault in all_of_them}
    assert len(names) == len(all_of_them) == 16
    harmless = [Fault(f.name, lambda: None, lambda: None, 0.001) for f in all_of_them]
    director = Director(harmless, outlet, quiet=0.001, seed=3)
    play(director, outlet, lambda: director.rounds == 3)
    assert director.tallies.keys() == names
    assert all(tally.times >= 2 and tally.survived >= 2 for tally in director.tallies.values())
    for fault in all_of_them:
        fault.begin()
        assert device.fault or faults.network or faults.sink or faults.clock
        fault.end()
        assert not (device.fault or faults.network or faults.sink or faults.clock)


def test_a_fault_that_nothing_recovers_from_is_counted():
    faults = Faults()
    outlet = Outlet(faults)
    dead: list[bool] = []
    director = Director([Fault("fatal", lambda: dead.append(True), lambda: None, 0.001)], outlet, quiet=0.001, seed=1, patience=0.02)
    play(director, outlet, lambda: bool(director.tallies) and not director.busy, frames_come=lambda: not dead)
    assert (director.tallies["fatal"].times, director.tallies["fatal"].survived) == (1, 0)


def test_missing_frames_are_counted_in_quiet_times():
    outlet = Outlet(Faults())
    director = Director([Fault("nothing", lambda: None, lambda: None, 0.001)], outlet, quiet=0.02, seed=1)
    count = iter(range(10**9))
    play(director, outlet, lambda: director.rounds == 3, frames_come=lambda: next(count) % 10 != 0)
    assert 0.05 < director.lost / (director.lost + director.passed) < 0.15


@pytest.mark.parametrize("per_hour", [0.0, 3.0, 50.0])
def test_growth_is_told_through_noise(per_hour):
    rng = np.random.default_rng(2)
    memory = Memory(1.0)
    held = lambda t: 400 + 60 * (t < 60) + per_hour * t / 3600 + 11 * (rng.random() < 0.3)  # noqa: E731 - pictures, for a fault's length
    memory.samples = [(t, held(t) + float(rng.normal(0, 0.02))) for t in np.arange(0.0, 600.0, 2.0)]
    assert memory.growth(60) == pytest.approx(per_hour, abs=1.0)


def test_too_short_a_run_tells_no_growth():
    memory = Memory(1.0)
    assert np.isnan(memory.growth(50))
    memory.samples = [(float(t), 400.0) for t in range(56)]
    assert np.isnan(memory.growth(50))


def test_memory_that_is_held_is_in_use_and_what_was_given_back_is_not():
    before = in_use()
    if np.isnan(before):
        pytest.skip("the allocator does not tell")
    held = np.ones(8_000_000, np.uint8)
    assert in_use() - before == pytest.approx(8.0, abs=1.0)
    del held
    assert in_use() - before == pytest.approx(0.0, abs=1.0)


def test_the_device_breaks_as_told():
    device = Device(np.full((64, 96, 3), 120, np.uint8), 1000.0)
    shapes = {}
    for fault in ("", *Device.FAULTS):
        device.fault = fault
        shapes[fault] = np.shape(device.picture(1))
    assert shapes[""] == shapes["corrupt"] == shapes["late"] == (64, 96, 3)
    assert (shapes["short"], shapes["another size"]) == ((21, 96, 3), (32, 48, 3))
    assert (shapes["grey"], shapes["four channels"], shapes["no numbers"]) == ((64, 96), (64, 96, 4), (7,))
    device.fault = "unplugged"
    assert not Opened(device).isOpened()


def test_what_the_other_sink_gets_meanwhile_is_counted():
    faults = Faults()
    beside = Beside(faults)
    beside.write(swapped(1))
    faults.sink = "blocks"
    beside.write(swapped(2))
    beside.write(OutputFrame(3, 0.0, State.NO_SIGNAL, PICTURE, PICTURE[..., 0]))
    assert (beside.count, beside.meanwhile) == (3, 1)


@pytest.mark.models
@pytest.mark.usefixtures("models")
def test_the_real_networks_come_back_from_each_fault():
    with ExitStack() as cleanup:
        soak = Soak(cleanup, argparse.Namespace(minutes=0.1, quiet=2.0, seed=1))
        frames = (Frame(n, n / 30, soak._device.picture(n)) for n in itertools.count())
        for fault in ("raises", "gives no numbers"):
            assert [soak._pipeline._infer(next(frames)).state for _ in range(3)][-1] is State.SWAPPED
            soak._faults.network = fault
            assert all(soak._pipeline._infer(next(frames)).state is not State.SWAPPED for _ in range(3))
            soak._faults.network = ""
            assert State.SWAPPED in [soak._pipeline._infer(next(frames)).state for _ in range(5)]


def test_the_outlet_breaks_as_told():
    faults = Faults(sink="disappears")
    outlet = Outlet(faults)
    for call in (lambda: outlet.open(StreamFormat(64, 48, 30, True)), lambda: outlet.write(swapped(1))):
        with pytest.raises(SinkError):
            call()
    faults.sink = ""
    outlet.write(swapped(1))
    assert outlet.swapped == 1
