"""The checks for real devices still find what they use of the package; they run where such a device is, see README.md."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the checks are for Linux")
@pytest.mark.parametrize("name", ["capture", "loopback", "onlooker", "prepare", "verify", "viewer"])
def test_each_tells_its_options(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"tests.rig.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit, match="0"):
        module.main()
    assert f"python -m tests.rig.{name}" in capsys.readouterr().out
