"""What breaks around the face: networks, camera, sinks, the user's keys, the end. The sink is watched all the while."""

from __future__ import annotations

import threading
import time
from collections import deque

import av
import numpy as np
import pytest

from realtime.errors import BackendError, SinkError
from realtime.pipeline import blend as blend_module
from realtime.pipeline import pipeline as pipeline_module
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Halves, Limits
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.video import VideoSink
from realtime.types import Frame, State, Verdict
from tests.pipeline.people import FACE, SIZE, PaintingSwapper, Person, ScriptedTracker, face, picture
from tests.pipeline.test_pipeline import DEADLINE, build, our_threads, run, wait_for
from tests.privacy.harness import Watch, paint, shows_mark

SILENT = 0.1


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(blend_module, "SILENT_SECONDS", SILENT)
    monkeypatch.setattr(blend_module, "LOOK_SECONDS", 0.02)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """What pastes is machine code: made before anything here is waited for."""
    finisher = Finisher(*SIZE, "hide", None, None, False)
    patch = PaintingSwapper().swap(picture(), face())
    finisher.finish(Verdict(Frame(0, 0.0, picture()), State.SWAPPED, (patch,)))


def marked():
    image = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
    paint(image, FACE)
    return image


def frames(count, interval=0.004):
    for _ in range(count):
        yield interval
        yield marked()


class Hanging:
    """A swapper that gets stuck at some of its calls until it is let go."""

    def __init__(self, at, then=lambda: True):
        self.stuck, self.free = threading.Event(), threading.Event()
        self._at, self._then, self._calls = at, then, 0

    def __call__(self):
        self._calls += 1
        if self._calls in self._at:
            self.stuck.set()
            self.free.wait(DEADLINE)
            self.free.clear()
            return self._then()
        return True


def in_halves(swapper):
    """Following and swapping in a thread each, as on a GPU."""
    infer = Infer(ScriptedTracker([face()]), swapper, [Person("anna")], Controls())
    return Halves(infer.follow, infer.swap)


def explode():
    raise RuntimeError("device lost")


def kinds_of_sink():
    return [Watch(steady=True), Watch()]


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("at", [1, 4], ids=["first frame", "later"])
@pytest.mark.parametrize("then", [lambda: True, explode, lambda: None], ids=["recovers", "raises", "gives nothing"])
@pytest.mark.parametrize("halves", [False, True], ids=["one thread", "two threads"])
def test_inference_hangs(on_lost, at, then, halves):
    hanging, sinks = Hanging({at}, then), kinds_of_sink()
    swapper = PaintingSwapper(hanging)
    line = build(frames(120), sinks, fps=100, swapper=swapper, on_lost=on_lost, infer=in_halves(swapper) if halves else None)
    runner = threading.Thread(target=lambda: run(line), daemon=True)
    runner.start()
    assert hanging.stuck.wait(DEADLINE)
    counts = [sink.count for sink in sinks]
    wait_for(lambda: sinks[0].count > counts[0] + 10)  # the reader of a virtual camera is not left without frames
    wait_for(lambda: sinks[1].count > counts[1])  # nor is a window left with an old picture
    for sink in sinks:
        wait_for(lambda sink=sink: sink.states[-1] is State.FAILED)
    hanging.free.set()
    runner.join(DEADLINE)
    assert not runner.is_alive()
    assert [sink.leaks for sink in sinks] == [[], []]
    assert sinks[1].states[-1] is State.SWAPPED
    assert line.telemetry.hangs >= 1  # a machine that does much else may make for another


def test_inference_hangs_for_good(monkeypatch):
    monkeypatch.setattr(pipeline_module, "HUNG_SECONDS", 0.3)
    hanging, sinks = Hanging({3}), kinds_of_sink()
    error = run(build(frames(5000), sinks, fps=100, swapper=PaintingSwapper(hanging)))
    assert isinstance(error, BackendError)
    assert str(error).startswith("the networks have not answered for 0 seconds: start again, with another --backend")
    assert [sink.leaks for sink in sinks] == [[], []]
    hanging.free.set()
    wait_for(lambda: our_threads() == set())


def test_a_slow_network_is_no_hang(monkeypatch):
    monkeypatch.setattr(blend_module, "SILENT_SECONDS", 20 * SILENT)
    sink = Watch()
    line = build(frames(60), [sink], swapper=PaintingSwapper(lambda: time.sleep(SILENT) or True))
    assert run(line) is None
    assert line.telemetry.hangs == 0
    assert set(sink.states) == {State.SWAPPED}


FAULTS = {
    "raises at once": lambda n: explode(),
    "raises now and then": lambda n: n % 3 or explode(),
    "gives nothing now and then": lambda n: True if n % 3 else None,
    "all of them": lambda n: (True, None, True, explode)[n % 4] if n % 4 != 3 else explode(),
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("halves", [False, True], ids=["one thread", "two threads"])
def test_inference_fails(name, on_lost, halves):
    count, sinks = iter(range(10_000)), kinds_of_sink()
    swapper = PaintingSwapper(lambda: FAULTS[name](next(count)))
    line = build(frames(40), sinks, fps=100, swapper=swapper, on_lost=on_lost, infer=in_halves(swapper) if halves else None)
    assert run(line) is None
    assert [sink.leaks for sink in sinks] == [[], []]


@pytest.mark.parametrize("on_lost", ["hide", "freeze", "pass"])
def test_start_up_shows_a_placeholder(on_lost):
    """Before there is a frame at all, and while the first one takes long; not even `pass` shows anything then."""
    hanging, sinks = Hanging({1}), kinds_of_sink()
    steps = deque([0.3, *[step for _ in range(30) for step in (0.01, marked())]])
    line = build(iter(steps), sinks, fps=100, swapper=PaintingSwapper(hanging), on_lost=on_lost)
    runner = threading.Thread(target=lambda: run(line), daemon=True)
    runner.start()
    assert hanging.stuck.wait(DEADLINE)
    wait_for(lambda: sinks[0].states[-1] is State.FAILED)
    assert sinks[0].states[0] is State.STARTING
    assert [sink.leaks for sink in sinks] == [[], []]
    hanging.free.set()
    runner.join(DEADLINE)
    assert not runner.is_alive()


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
def test_camera_falls_silent_and_comes_back(on_lost):
    sinks = kinds_of_sink()
    steps = [*frames(10), 5 * SILENT, *frames(10), None, None, 3 * SILENT, *frames(10)]
    assert run(build(iter(steps), sinks, fps=100, on_lost=on_lost)) is None
    for sink in sinks:
        assert sink.leaks == []
        assert State.NO_SIGNAL in sink.states
        assert sink.states[-1] is State.SWAPPED


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
def test_broken_frames_are_left_out(on_lost):
    odd = [np.zeros((64, 96), np.uint8), np.zeros((64, 96, 4), np.uint8), np.zeros((64, 96, 3), np.float32), np.zeros((0, 96, 3), np.uint8)]
    large = np.full((SIZE[1] * 2, SIZE[0] * 2, 3), 90, np.uint8)
    sinks = kinds_of_sink()
    steps = [step for _ in range(5) for step in (*frames(3), *odd, large)]
    line = build(iter(steps), sinks, live=False, on_lost=on_lost)
    assert run(line) is None
    assert [sink.leaks for sink in sinks] == [[], []]
    assert line.telemetry.frames_in == 20


@pytest.mark.parametrize("on_lost", ["hide", "freeze", "pass"])
def test_pause_and_source_switching_by_the_keys(on_lost):
    """Pressed at every moment there is; `pass` may show what cannot be swapped, but no pause."""
    controls = Controls()
    rng = np.random.default_rng(3)

    def press():
        controls.paused = bool(rng.integers(2))
        controls.source = int(rng.integers(4))

    people = [Person("anna"), Person("ben"), Person("cleo")]
    infer = Infer(ScriptedTracker([face()]), PaintingSwapper(), people, controls)
    sinks = kinds_of_sink()
    assert run(build(frames(150), sinks, fps=200, infer=infer, controls=controls, on_tick=press, on_lost=on_lost)) is None
    assert [sink.leaks for sink in sinks] == [[], []]
    assert {State.SWAPPED, State.LOST if on_lost == "freeze" else State.PAUSED} <= set(sinks[1].states)


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("track", [[face(), None], [None], [face()]], ids=["lost", "nobody", "swapped"])
def test_shutdown_shows_nothing_on_its_way_out(track, on_lost):
    sinks = kinds_of_sink()
    line = build(frames(100_000, 0.001), sinks, fps=200, track=track, on_lost=on_lost, limits=Limits(seconds=0.25))
    assert run(line) is None
    counts = [sink.count for sink in sinks]
    assert [sink.leaks for sink in sinks] == [[], []]
    time.sleep(0.05)
    assert [sink.count for sink in sinks] == counts, "nothing comes after the end"


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("live", [True, False])
def test_a_full_disk(live, on_lost):
    full, watch = ScriptedSink(fail_at=5, error=SinkError("the disk is full")), Watch()
    error = run(build(frames(60), [watch, full], live=live, track=[face(), face(), None], on_lost=on_lost))
    assert isinstance(error, SinkError)
    assert watch.count and watch.leaks == []


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
def test_a_still_is_as_safe_as_the_rest(on_lost):
    controls, stills = Controls(), []
    controls.still_wanted = True
    keep = lambda frame: stills.append(frame.image.copy())  # noqa: E731
    line = build(frames(5), [Watch()], live=False, track=[None, face()], on_lost=on_lost, controls=controls, on_still=keep)
    assert run(line) is None
    assert len(stills) == 1 and not shows_mark(stills[0])


def test_the_watch_can_tell():
    frame = Frame(0, 0.0, marked())
    assert shows_mark(frame.image)
    watch = Watch()
    assert run(build(frames(5), [watch], live=False, track=[None], on_lost="pass")) is None
    assert len(watch.leaks) == 5


def test_a_recording_goes_on_through_silence_and_shows_the_placeholder(tmp_path):
    """In its place in time: the gap is as long in the file as it was."""
    path = tmp_path / "call.mp4"
    assert run(build(iter([*frames(8, 0.02), 6 * SILENT, *frames(8, 0.02)]), [VideoSink(path)], fps=50)) is None
    with av.open(str(path)) as container:
        shown = [(frame.time, frame.to_ndarray(format="bgr24")) for frame in container.decode(video=0)]
    assert not any(shows_mark(image) for _, image in shown)
    gaps = np.diff([time for time, _ in shown])
    assert sum(gap > 2 * SILENT for gap in gaps) == 1 and shown[-1][0] > 6 * SILENT
    longest = int(np.argmax(gaps))
    assert np.abs(shown[longest][1].astype(int) - shown[0][1]).mean() > 10, "during the gap stands another picture than the last one"
