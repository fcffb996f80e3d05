from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from realtime.errors import SinkError
from realtime.sinks.commands import Command, KeyCommand
from realtime.sinks.window import Handover, WindowSink, fit
from realtime.types import State
from tests.sinks.frames import colours_wrong_by, frame, picture, stream


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[WindowSink]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with WindowSink() as sink:
        sink.open(stream())
        yield sink


def screen() -> Any:
    """What the window shows, (height, width, 3) BGR."""
    import pygame

    return pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)[:, :, ::-1]


def press(*keys: int) -> None:
    import pygame

    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def test_the_newest_frame_is_shown_as_it_is(window: WindowSink) -> None:
    for number in range(5):
        window.write(frame(number))
    assert window.pump() == []
    assert np.array_equal(screen(), picture(160, 120, 4))


def test_another_window_size_keeps_the_aspect(window: WindowSink) -> None:
    import pygame

    window.write(frame(1))
    window.pump()
    pygame.display.set_mode((400, 120), pygame.RESIZABLE)
    pygame.event.post(pygame.event.Event(pygame.WINDOWSIZECHANGED, x=400, y=120))
    window.pump()
    shown = screen()
    assert not shown[:, :120].any() and not shown[:, 280:].any()
    assert colours_wrong_by(shown[:, 120:280]) == 0


def test_keys_become_commands(window: WindowSink) -> None:
    import pygame

    press(pygame.K_q, pygame.K_SPACE, pygame.K_m, pygame.K_s, pygame.K_1, pygame.K_9, pygame.K_KP3, pygame.K_0, pygame.K_x, pygame.K_F1)
    assert window.pump() == [
        KeyCommand(Command.QUIT),
        KeyCommand(Command.PAUSE),
        KeyCommand(Command.MIRROR),
        KeyCommand(Command.STILL),
        KeyCommand(Command.SOURCE, 1),
        KeyCommand(Command.SOURCE, 9),
        KeyCommand(Command.SOURCE, 3),
    ]
    assert window.pump() == []


def test_closing_the_window_quits(window: WindowSink) -> None:
    import pygame

    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert window.pump() == [KeyCommand(Command.QUIT)]


def test_help_comes_and_goes_over_a_standing_picture(window: WindowSink) -> None:
    import pygame

    window.write(frame(2))
    window.pump()
    without = screen()
    press(pygame.K_h)
    assert window.pump() == [KeyCommand(Command.HELP)]
    assert (screen() != without).mean() > 0.1
    press(pygame.K_h)
    window.pump()
    assert np.array_equal(screen(), without)


def test_the_title_tells_state_and_status(window: WindowSink, monkeypatch: pytest.MonkeyPatch) -> None:
    import pygame

    monkeypatch.setattr("realtime.sinks.window._TITLE_SECONDS", 0.0)
    window.write(frame(0))
    window.pump("source 2")
    title = pygame.display.get_caption()[0]
    assert "swapped" in title and "fps" in title and "source 2" in title


def test_after_close_nothing_happens(window: WindowSink) -> None:
    window.close()
    window.write(frame(0))
    assert window.pump() == []
    window.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a window always opens in a session")
def test_no_display_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SinkError, match="no display to open a window on: use --output"):
        WindowSink().open(stream())
    monkeypatch.setenv("DISPLAY", ":12345")
    with pytest.raises(SinkError, match="no display to open a window on: use --output"):
        WindowSink().open(stream())


def test_the_handover_gives_the_newest_once_and_uses_three_buffers() -> None:
    handover, seen = Handover(), set()
    assert handover.take() is None
    for number in range(20):
        for _ in range(number % 3 + 1):
            handover.put(picture(32, 24, number), State.SWAPPED)
        shown = handover.take()
        assert shown is not None and np.array_equal(shown.image, picture(32, 24, number))
        handover.put(picture(32, 24, 255), State.LOST)
        assert np.array_equal(shown.image, picture(32, 24, number)), "the picture on show is not written to"
        seen.add(shown.image.ctypes.data)
        handover.give_back(shown)
    assert len(seen) <= 3


@pytest.mark.parametrize(("size", "room", "expected"), [
    ((160, 120), (160, 120), (0, 0, 160, 120)),
    ((160, 120), (320, 120), (80, 0, 160, 120)),
    ((1280, 720), (640, 640), (0, 140, 640, 360)),
    ((1280, 720), (1, 1), (0, 0, 1, 1)),
])  # fmt: skip
def test_fit(size: tuple[int, int], room: tuple[int, int], expected: tuple[int, int, int, int]) -> None:
    assert fit(*size, *room) == expected
