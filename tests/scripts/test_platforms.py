"""The look at other systems' wheels: what it asks uv, and what it makes of the answers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("platforms", Path(__file__).parents[2] / "scripts" / "platforms.py")
assert _SPEC is not None and _SPEC.loader is not None
platforms = importlib.util.module_from_spec(_SPEC)
sys.modules["platforms"] = platforms  # dataclasses look their module up
_SPEC.loader.exec_module(platforms)

RESOLVER = """
import sys
asked = sys.argv[1:]
if "--only-binary" not in asked:
    print("numpy==2.3.1\\ntensorrt-rtx==1.7\\nsource-only==1.0" if "--extra" in asked else "numpy==2.3.1")
elif "source-only" in asked:
    sys.exit("error: No solution found\\n  cause: Because source-only==1.0 has no usable wheels\\n\\nhint: Wheels are required")
elif "tensorrt-rtx" in asked:
    sys.exit("that one is let through")
else:
    print("numpy==2.3.1")
"""
"""Stands for uv."""


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    script = tmp_path / "uv.py"
    script.write_text(RESOLVER)
    real = platforms.run
    monkeypatch.setattr(platforms, "run", lambda command: real([sys.executable, *command]))
    return str(script)


def test_what_is_there_in_wheels(uv: str) -> None:
    assert platforms.ask(uv, "aarch64-apple-darwin", "3.12") == platforms.Answer(("numpy==2.3.1",))


def test_what_comes_as_sources_alone_is_named(uv: str) -> None:
    answer = platforms.ask(uv, "x86_64-pc-windows-msvc", "3.12", "test")
    assert answer.packages == () and "source-only==1.0 has no usable wheels" in answer.problem


def test_one_missing_wheel_fails(uv: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(platforms.shutil, "which", lambda name: uv)
    monkeypatch.setattr(platforms, "PYTHONS", ("3.11",))
    assert platforms.main() == 1
    monkeypatch.setattr(platforms, "EXTRAS", ("",))
    assert platforms.main() == 0
    assert "Windows x86-64  Python 3.11               1 packages" in capsys.readouterr().out
    monkeypatch.setattr(platforms.shutil, "which", lambda name: None)
    assert platforms.main() == 2
