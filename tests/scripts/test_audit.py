"""The dependency audit: what it looks up, and that only what can be mended stops anybody."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("audit", Path(__file__).parents[2] / "scripts" / "audit.py")
assert _SPEC is not None and _SPEC.loader is not None
audit = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(audit)

SKIPPED = {"name": "numpy", "version": "2.0", "skip_reason": "not found"}


def package(*flaws, name="numpy"):
    return {"name": name, "version": "2.0", "vulns": [{"id": f"PYSEC-{n}", "fix_versions": fixed} for n, fixed in enumerate(flaws)]}


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ([SKIPPED], 0, "NOT audited: no audit service can be reached from here (1 packages"),
        ([package()], 0, "audited 1 of 1 packages: 0 known vulnerabilities"),
        ([package([]), SKIPPED], 0, "no release mends it yet\naudited 1 of 2 packages: 1 known"),
        ([package(["2.1", "3.0"])], 1, "numpy 2.0: PYSEC-0, mended in 2.1, 3.0"),
        ([package(["9"], name="Not_Ours"), package()], 0, "audited 1 of 1 packages: 0 known"),
        ([package(["9"], name="pip"), package()], 0, "audited 1 of 1"),
    ],
)
def test_answers(answer, status, said, monkeypatch, capsys):
    monkeypatch.setattr(audit, "ask", lambda: answer)
    assert audit.main() == status
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("error", [OSError("offline"), subprocess.SubprocessError("Traceback\nno such host\n"), ValueError("no JSON")])
def test_no_audit_is_said_and_stops_nobody(error, monkeypatch, capsys):
    def fail():
        raise error

    monkeypatch.setattr(audit, "ask", fail)
    assert audit.main() == 0
    assert "NOT audited: pip-audit could not be run (" in capsys.readouterr().out


def test_dependencies_of_dependencies_are_looked_up():
    names = audit.dependencies("realtime-faceswap")
    assert {"numpy", "opencv-python-headless", "onnxruntime", "rich", "pygments"} <= names
    assert "pytest" not in names and "hypothesis" not in names
