from __future__ import annotations

import io

import pytest
from rich.console import Console

from realtime.commands import progress
from realtime.commands.progress import CountBar, FetchBar
from realtime.models.store import MODELS_READY


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal was sent."""
    sent = io.StringIO()
    terminal = Console(file=sent, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "console", lambda stderr: terminal)
    return sent


def test_a_count_shows_how_many_of_how_many_and_ends_with_its_block(screen: io.StringIO) -> None:
    with CountBar("frames") as count:
        assert screen.getvalue() == ""
        count(3, None)
        count(7, 12)
    assert "frames" in screen.getvalue() and "7/12" in screen.getvalue()
    ended = screen.getvalue()
    assert "\x1b[?25h" in ended[-20:], "the cursor is shown again"
    assert ended.endswith("\x1b[2K"), "nothing is left of the bar"


def test_a_fetch_ends_when_all_models_are_there_and_may_begin_again(screen: io.StringIO) -> None:
    with FetchBar() as bar:
        bar("mesh", 500_000, 1_000_000)
        bar(MODELS_READY, 1_000_000, 1_000_000)
        assert screen.getvalue().endswith("\x1b[?25h")
        bar("hands", 1_000_000, 4_000_000)
    assert "1.0/1.0 MB" in screen.getvalue() and "hands" in screen.getvalue() and "1.0/4.0 MB" in screen.getvalue()


def test_without_a_terminal_a_fetch_says_each_step_once_and_a_count_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FetchBar() as bar, CountBar("frames") as count:
        for done in range(3):
            bar("fetching mesh", done, 3)
            count(done, 3)
        bar("converting mesh", 3, 3)
    said = capsys.readouterr()
    assert said.out == "" and [line.removeprefix("realtime: ") for line in said.err.splitlines()] == ["fetching mesh", "converting mesh"]
