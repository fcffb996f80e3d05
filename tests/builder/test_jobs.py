"""Children that fail, hang, die or are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from realtime.builder import jobs
from realtime.builder.jobs import Job, run_jobs, value_of
from realtime.errors import BackendError

_SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def _probe(name: str = "a", target: str = "onnxruntime", limit: float = 60.0) -> Job:
    return Job(name, "probe", {"target_name": target}, limit)


def test_gives_what_the_task_gave_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    ended: list[str] = []
    outcomes = run_jobs([_probe("a"), _probe("b", "no such")], tmp_path, 2, lambda job, _: ended.append(job.name))
    assert value_of(outcomes[0])["device_problem"] == ""
    assert outcomes[1].value is None
    assert "there is no target 'no such'" in outcomes[1].error
    assert sorted(ended) == ["a", "b"]
    with pytest.raises(BackendError, match="no such"):
        value_of(outcomes[1])


def test_a_hang_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    woke = tmp_path / "woke"
    _children(monkeypatch, [sys.executable, "-c", f"import pathlib, time; time.sleep(8); pathlib.Path({str(woke)!r}).touch()"])
    outcome = run_jobs([_probe(limit=0.3)], tmp_path)[0]
    assert outcome.error == "it took longer than 0.3 s and was ended"
    assert not psutil.Process().children() and not woke.exists(), "it was not waited for"


@pytest.mark.skipif(sys.platform == "win32", reason="signals end processes differently on Windows")
def test_a_crash_is_one_sentence_with_the_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _children(monkeypatch, [sys.executable, "-c", "import os; print('out of luck', flush=True); os.kill(os.getpid(), 11)"])
    assert run_jobs([_probe()], tmp_path)[0].error == "its process was ended by SIGSEGV (out of luck)"


def test_an_exit_without_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _children(monkeypatch, [sys.executable, "-c", "raise SystemExit(3)"])
    assert run_jobs([_probe()], tmp_path)[0].error == "its process ended with status 3"


def test_an_interrupt_takes_the_children_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _children(monkeypatch, _SLEEPER)

    def interrupt(job: Job) -> None:
        if job.name == "second":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([_probe("first"), _probe("second")], tmp_path, 2, on_start=interrupt)
    assert not psutil.Process().children()


def _children(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """Start this instead of the real child."""
    start = subprocess.Popen
    monkeypatch.setattr(jobs.subprocess, "Popen", lambda _, **keywords: start(command, **keywords))


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process on Windows")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
@pytest.mark.models
def test_an_interrupt_leaves_nothing_half_made(models: object, tmp_path: Path, number: signal.Signals) -> None:
    """The program itself, interrupted while a child works."""
    command = [sys.executable, "build_engines.py", "--models", "yunet_320", "--engines", str(tmp_path), "--target", "onnxruntime"]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    assert process.stderr is not None
    for line in process.stderr:
        if "running the original" in line:
            break
    children = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait(120) == 1
    assert process.stderr.read() == "realtime: interrupted: yunet_320 was not built; what was built before is kept\n"
    process.stderr.close()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    end = time.perf_counter() + 60
    while any(child.is_running() for child in children) and time.perf_counter() < end:
        time.sleep(0.05)
    assert not any(child.is_running() for child in children)
