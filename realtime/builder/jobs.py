"""Work in child processes with a time limit: a crash or a hang of a vendor's library costs one row, not the run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realtime.errors import BackendError

_POLL = 0.05
FULL = "the disk is full: free some space and run the builder again"


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a task of `child`."""

    name: str
    """For progress and messages."""
    task: str
    arguments: dict[str, Any]
    limit: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    value: dict[str, Any] | None
    error: str
    """One sentence; empty when it went well."""
    seconds: float


@dataclass(slots=True)
class _Running:
    index: int
    job: Job
    process: subprocess.Popen[bytes]
    begun: float
    result: Path
    log: Path


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    at_once: int = 1,
    on_done: Callable[[Job, Outcome], None] = lambda job, outcome: None,
    on_start: Callable[[Job], None] = lambda job: None,
) -> list[Outcome]:
    """Run all, `at_once` at a time; the outcomes in the order of the jobs. No child outlives the call, however it ends."""
    outcomes: dict[int, Outcome] = {}
    waiting = list(enumerate(jobs))[::-1]
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < max(at_once, 1):
                index, job = waiting.pop()
                on_start(job)
                running.append(_start(index, job, folder))
            for each in [each for each in running if _ended(each)]:
                running.remove(each)
                outcomes[each.index] = _outcome(each)
                on_done(each.job, outcomes[each.index])
            time.sleep(_POLL)
    finally:
        for each in running:
            _kill(each.process)
    return [outcomes[index] for index in range(len(jobs))]


def _start(index: int, job: Job, folder: Path) -> _Running:
    stem = folder / f"job-{index}-{job.task}-{time.perf_counter_ns()}"
    request, result, log = (stem.with_suffix(suffix) for suffix in (".request", ".result", ".log"))
    request.write_text(json.dumps({"task": job.task, "arguments": job.arguments}), encoding="utf-8")
    command = [sys.executable, "-m", "realtime.builder.child", str(request), str(result)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    return _Running(index, job, process, time.perf_counter(), result, log)


def _ended(each: _Running) -> bool:
    if each.process.poll() is not None:
        return True
    if time.perf_counter() - each.begun < each.job.limit:
        return False
    _kill(each.process)
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _outcome(each: _Running) -> Outcome:
    seconds = time.perf_counter() - each.begun
    if each.result.is_file():
        content = json.loads(each.result.read_text(encoding="utf-8"))
        return Outcome(content.get("value"), content.get("error", ""), seconds)
    if seconds >= each.job.limit:
        return Outcome(None, f"it took longer than {each.job.limit:g} s and was ended", seconds)
    return Outcome(None, f"its process {_ending(each.process.returncode)}{_last_words(each.log)}", seconds)


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return f" ({lines[-1].rstrip('.')[:200]})" if lines else ""


def value_of(outcome: Outcome) -> dict[str, Any]:
    """What the task gave. Raises BackendError with its sentence when it failed."""
    if outcome.value is None:
        raise BackendError(outcome.error)
    return outcome.value
