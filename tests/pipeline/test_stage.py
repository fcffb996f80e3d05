from __future__ import annotations

import threading

from realtime.pipeline.stage import Stage


def test_runs_until_the_step_says_so():
    left = iter([True, True, False])
    ended = threading.Event()
    stage = Stage("counting", lambda: next(left), ended.set)
    stage.start()
    assert ended.wait(5)
    assert stage.join(5)
    assert stage.error is None
    assert list(left) == []


def test_keeps_the_exception_with_its_traceback_and_still_ends():
    def explode() -> bool:
        raise ValueError("boom")

    ended = threading.Event()
    stage = Stage("exploding", explode, ended.set)
    stage.start()
    assert ended.wait(5)
    assert stage.join(5)
    assert isinstance(stage.error, ValueError)
    assert stage.error.__traceback__ is not None


def test_stop_ends_an_endless_stage():
    stage = Stage("endless", lambda: True, lambda: None)
    stage.start()
    stage.stop()
    assert stage.join(5)


def test_join_says_when_a_thread_hangs():
    release = threading.Event()
    stage = Stage("hanging", lambda: release.wait(30), lambda: None)
    stage.start()
    assert stage.join(0.05) is False
    stage.stop()
    release.set()
    assert stage.join(5)


def test_join_before_start_is_harmless():
    assert Stage("never", lambda: True, lambda: None).join(0)
