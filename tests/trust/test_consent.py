from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from realtime.commands.run import inform
from realtime.errors import RealtimeError
from realtime.trust import consent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REALTIME_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown)
    return shown


def test_it_is_printed_once_and_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    inform()
    assert "has agreed" in capsys.readouterr().err and consent.is_known(folder)
    inform()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("answer", ["yes\n", "Y\n", " YES \n"])
def test_at_a_terminal_it_is_acknowledged_once(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    shown = at_a_terminal(monkeypatch, answer)
    inform()
    assert "Type yes" in shown.getvalue() and consent.is_known(folder)


@pytest.mark.parametrize("answer", ["no\n", "\n", ""])
def test_without_it_nothing_is_done_and_it_is_asked_again(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    at_a_terminal(monkeypatch, answer)
    with pytest.raises(RealtimeError, match="nothing was done"):
        inform()
    assert not consent.is_known(folder)


def test_where_it_cannot_be_remembered_it_is_printed_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder.write_bytes(b"a file, no folder")
    monkeypatch.setattr("sys.stdin", None)
    for _ in range(2):
        inform()
        assert "has agreed" in capsys.readouterr().err


def test_a_source_face_is_named_with_the_rule() -> None:
    said = consent.reminder([Path("a/me.jpg"), Path("me2.jpg")])
    assert "me.jpg, me2.jpg" in said and "own face" in said and "\n" not in said
