"""The end of a run whose outputs hang while they are closed: nobody is held up for good, and what was written is named."""

from __future__ import annotations

import threading
import time

import av
import pytest

from realtime.errors import SinkError, SourceError
from realtime.pipeline import ending
from realtime.pipeline.ending import Closing
from realtime.sinks.image import ImageSink
from realtime.sinks.memory import MemorySink
from realtime.sinks.video import VideoSink
from tests.pipeline.test_pipeline import DEADLINE, build, run, script, wait_for
from tests.sinks.frames import frame, stream

NEVER = 10 * DEADLINE


class Stuck(MemorySink):
    """A sink whose `close` does not return while `held` is not set."""

    def __init__(self, name="camera", *, steady=False):
        super().__init__(steady=steady)
        self.name, self.held = name, threading.Event()

    def close(self):
        self.held.wait(DEADLINE)
        super().close()


class Disk:
    """Signs a film that never gets on, as on a disk that does not answer, or one that is merely slow."""

    def __init__(self, steps=0):
        self.inside, self.held, self.heard = threading.Event(), threading.Event(), False
        self._steps = steps

    def __call__(self, path, stopped):
        self.inside.set()
        for _ in range(self._steps):
            time.sleep(0.05)
            if stopped():
                self.heard = True
                raise SinkError("the signing was broken off")
        if not self._steps:
            self.held.wait(DEADLINE)


@pytest.fixture
def patience(monkeypatch):
    def set_to(patience, silent=0.05):
        monkeypatch.setattr(ending, "PATIENCE_SECONDS", patience)
        monkeypatch.setattr(ending, "SILENT_SECONDS", silent)

    return set_to


def shown(path):
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_a_driver_holds_up_neither_the_others_nor_the_end(caplog):
    stuck, before, after = Stuck(steady=True), MemorySink(), MemorySink(steady=True)
    assert run(build(script(5), [before, stuck, after], live=False)) is None
    assert before.closed and after.closed and not stuck.closed
    assert "camera could not be closed and was left behind: its device does not answer" in caplog.text
    stuck.held.set()
    wait_for(lambda: stuck.closed)


@pytest.mark.parametrize("kind", [VideoSink, ImageSink])
def test_a_file_is_left_behind_and_named_with_what_was_written(tmp_path, patience, caplog, kind):
    patience(0.2)
    disk, good = Disk(), VideoSink(tmp_path / "good.mp4")
    film = kind(tmp_path / f"film.{'mp4' if kind is VideoSink else 'png'}", seal=disk)
    part = tmp_path / f"film.part{film.path.suffix}"
    pipeline = build(script(12), [film, good], live=False)
    error = run(pipeline)
    assert isinstance(error, SinkError)
    why = "could not be finished and was left behind: its disk does not answer"
    assert str(error) == f"{film.path} {why}; what was written of it is in {part}"
    assert f"{film.path} cannot be finished, for its disk does not answer: that is waited for, 0 seconds at most, and Ctrl-C" in caplog.text
    assert shown(tmp_path / "good.mp4") == 12 and pipeline.whole
    assert shown(part) == (12 if kind is VideoSink else 1), "nothing is lost that was written"
    assert [(each["name"], each["left"]) for each in pipeline.outputs] == [(film.name, True), (good.name, False)]
    assert not film.path.exists()
    disk.held.set()
    wait_for(film.path.exists)


def test_what_ended_the_run_comes_first(tmp_path, patience, caplog):
    patience(0.2)
    disk = Disk()
    steps = [*script(5), SourceError("the camera burnt down")]
    error = run(build(iter(steps), [VideoSink(tmp_path / "film.mp4", seal=disk)], live=False))
    assert str(error) == "the camera burnt down"
    assert f"what was written of it is in {tmp_path / 'film.part.mp4'}" in caplog.text
    disk.held.set()


def test_a_film_that_takes_long_and_gets_on_is_waited_for(tmp_path, patience, caplog):
    """Signing a long film takes minutes."""
    patience(1.0, 0.8)
    film = VideoSink(tmp_path / "film.mp4", seal=Disk(steps=30))
    assert run(build(script(5), [film], live=False)) is None
    assert shown(film.path) == 5 and "does not answer" not in caplog.text


class Interrupting:
    """Ctrl-C at moments of `Closing`'s waiting: the main thread is in `join` then."""

    def __init__(self, monkeypatch, moments):
        self._moments, self._join = list(moments), ending.Stage.join
        monkeypatch.setattr(ending.Stage, "join", lambda stage, timeout: self.join(stage, timeout))

    def join(self, stage, timeout):
        if timeout and self._moments and self._moments[0]():
            del self._moments[0]
            raise KeyboardInterrupt
        return self._join(stage, timeout)


def closed(*sinks):
    """What comes out of a run with these, the films among them with a swapped frame inside."""
    try:
        with Closing() as closing:
            for sink in sinks:
                closing.close(sink)
                sink.open(stream())
                sink.write(frame(0))
    except (SinkError, KeyboardInterrupt) as error:
        return error, closing.left
    return None, closing.left


def test_ctrl_c_breaks_off_what_takes_long_and_keeps_the_film(tmp_path, patience, monkeypatch):
    patience(NEVER, NEVER)
    slow, other = Disk(steps=1000), VideoSink(tmp_path / "other.mkv")
    film = VideoSink(tmp_path / "film.mp4", seal=slow)
    Interrupting(monkeypatch, [slow.inside.is_set])
    error, left = closed(film, other)
    assert isinstance(error, SinkError) and str(error).endswith(f"the unsigned file is {tmp_path / 'film.unsigned.mp4'}")
    assert slow.heard and left == [] and shown(tmp_path / "film.unsigned.mp4") == shown(other.path) == 1


def test_ctrl_c_that_found_nothing_to_break_off_ends_the_program_all_the_same(tmp_path, patience, monkeypatch):
    patience(NEVER, NEVER)
    film = VideoSink(tmp_path / "film.mp4")
    Interrupting(monkeypatch, [lambda: True])
    error, left = closed(film)
    assert isinstance(error, KeyboardInterrupt) and left == [] and shown(film.path) == 1


@pytest.mark.parametrize("silent", [0.05, NEVER], ids=["once it is known to hang", "a second time"])
def test_ctrl_c_leaves_behind_what_hangs(tmp_path, patience, monkeypatch, silent, caplog):
    patience(NEVER, silent)
    disk, good = Disk(), VideoSink(tmp_path / "good.mkv")
    film = VideoSink(tmp_path / "film.mp4", seal=disk)
    told = lambda: "does not answer: that is waited for" in caplog.text  # noqa: E731
    Interrupting(monkeypatch, [told] if silent < NEVER else [disk.inside.is_set, good.path.exists])
    error, left = closed(film, good)
    assert isinstance(error, SinkError) and str(error).endswith(f"what was written of it is in {tmp_path / 'film.part.mp4'}")
    assert left == [film] and shown(good.path) == 1
    disk.held.set()


def test_one_that_belongs_to_the_calling_thread_is_closed_there(patience):
    patience(NEVER, NEVER)
    threads = []

    class Window(MemorySink):
        tied = True

        def close(self):
            threads.append(threading.current_thread())
            raise SinkError("the display went away")

    other = MemorySink()
    error, left = closed(Window(), other)
    assert threads == [threading.current_thread()] and str(error) == "the display went away"
    assert other.closed and left == []


def test_the_steps_of_a_write_are_seen(tmp_path):
    """A long end of a film, as of sound that goes on, is no hang."""
    film = VideoSink(tmp_path / "film.mp4")
    before = film.headway.since
    closed(film)
    assert film.headway.since > before
