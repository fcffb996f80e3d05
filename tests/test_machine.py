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
