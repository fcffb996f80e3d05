"""What this machine is taken for."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from realtime import machine


def test_every_mac_is_told_by_its_chip_which_decides_what_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS calls them all "arm": an engine that was judged on one would be taken for good on the others."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine.platform, "processor", lambda: "arm")
    monkeypatch.setattr(subprocess, "run", lambda *asked, **options: SimpleNamespace(stdout="Apple M2\n"))
    assert machine.processor() == machine.cpu_name() == "Apple M2"


def test_without_the_system_s_answer_it_is_the_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*asked: object, **options: object) -> None:
        raise FileNotFoundError("sysctl")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine.platform, "processor", lambda: "arm")
    monkeypatch.setattr(subprocess, "run", gone)
    assert machine.processor() == "arm"


def test_a_name_is_shown_without_its_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "processor", lambda: "Intel(R) Xeon(R)  Gold  CPU")
    assert machine.cpu_name() == "Intel Xeon Gold CPU"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_cores_that_this_process_may_not_use_do_not_count() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert machine.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


class Multimedia:
    """As winmm: takes what it is told and notes it; 97 is its TIMERR_NOCANDO."""

    def __init__(self, status: int = 0) -> None:
        self.calls: list[tuple[str, int]] = []
        self._status = status

    def timeBeginPeriod(self, milliseconds: int) -> int:  # noqa: N802 - Microsoft's name
        self.calls.append(("begin", milliseconds))
        return self._status

    def timeEndPeriod(self, milliseconds: int) -> int:  # noqa: N802
        self.calls.append(("end", milliseconds))
        return 0


@pytest.mark.parametrize(
    ("system", "status", "expected"),
    [("win32", 0, [("begin", 1), "inside", ("end", 1)]), ("win32", 97, [("begin", 1), "inside"]), ("linux", 0, ["inside"])],
)
def test_waits_are_fine_on_windows_during_a_run_and_not_after(system: str, status: int, expected: list[object]) -> None:
    library = Multimedia(status)
    with pytest.raises(KeyboardInterrupt), machine.fine_waits(system, library):
        library.calls.append("inside")  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert library.calls == expected
