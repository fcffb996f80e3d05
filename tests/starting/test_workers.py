from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from realtime.starting import workers
from realtime.starting.kernels import jobs
from realtime.starting.workers import Workers

SLOW = "import os, time\nwhile number := os.read(0, 1):\n    time.sleep(0.3); os.write(1, number)"
"""As `work`, with jobs that take their time."""


def told(crew: Workers) -> list[tuple[int, int]]:
    heard: list[tuple[int, int]] = []
    crew.wait(lambda done, total: heard.append((done, total)))
    return heard


@pytest.mark.parametrize("kind", ["mesh", "network"])
def test_every_job_is_done_by_other_processes(kind: str) -> None:
    total = len(jobs(kind))
    with Workers(kind, 2) as crew:
        assert told(crew) == [(n, total) for n in range(1, total + 1)]


def test_processes_that_fail_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_CODE", "raise SystemExit(1)")
    with Workers("mesh", 2) as crew:
        assert told(crew) == []


def test_where_no_process_can_be_started_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with Workers("mesh", 2) as crew:
        assert told(crew) == []


def test_an_interrupt_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_CODE", SLOW)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    crew = Workers("mesh", 2)
    with pytest.raises(KeyboardInterrupt), crew:
        crew.wait(interrupt)
    assert len(crew._processes) == 2
    assert all(process.poll() is not None for process in crew._processes)


def test_an_interrupt_while_they_begin_leaves_none_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_CODE", "import time; time.sleep(600)")

    def interrupted(kind: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("realtime.starting.kernels.jobs", interrupted)
    crew = Workers("mesh", 2)
    with pytest.raises(KeyboardInterrupt), crew:
        pytest.fail("it had begun")
    assert len(crew._processes) == 2
    assert all(process.poll() is not None for process in crew._processes)


def test_processes_end_when_the_one_that_started_them_was_killed() -> None:
    code = f"""
import os
from realtime.starting import workers
workers._CODE = {SLOW!r}
crew = workers.Workers("mesh", 2).__enter__()
print(*(process.pid for process in crew._processes), flush=True)
os.kill(os.getpid(), 9)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False).stdout
    numbers = [int(number) for number in shown.split()]
    assert len(numbers) == 2
    until = time.perf_counter() + 30
    while any(alive(number) for number in numbers):
        assert time.perf_counter() < until
        time.sleep(0.05)


def alive(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
