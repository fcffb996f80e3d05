"""A preview window with keys."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import Any, NamedTuple

import cv2
import numpy as np

from realtime.errors import SinkError
from realtime.sinks.commands import Command, KeyCommand
from realtime.sinks.lifecycle import Closing
from realtime.types import Image, OutputFrame, State, StreamFormat

TITLE = "Face swap (AI-modified)"
HELP = (
    ("q", "quit"),
    ("space", "pause the swap: the face is hidden"),
    ("m", "mirror"),
    ("s", "save a still picture"),
    ("1 - 9", "switch between source people"),
    ("h", "show or leave this help"),
)
NO_DISPLAY = "there is no display to open a window on: use --output FILE.mp4 or --output virtualcam"
_TITLE_SECONDS = 0.5
_OF_SCREEN = 0.9
_RED_FIRST, _BLUE_FIRST = 0xFF0000, 0xFF  # red masks of 32-bit surfaces: bytes B G R X, and R G B X


class _Shown(NamedTuple):
    image: Image
    state: State


class Handover:
    """The newest frame from the one thread that puts to the one that takes, without a lock.

    Rests on `deque.append` and `deque.pop` being atomic. At most three pictures exist: one being written, one waiting, one on show.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Shown] = deque()
        self._free: deque[Image] = deque()

    def put(self, image: Image, state: State) -> None:
        """Copies `image`; a picture that was not taken yet is dropped."""
        buffer = self._buffer(image)
        np.copyto(buffer, image)
        self._waiting.append(_Shown(buffer, state))

    def _buffer(self, like: Image) -> Image:
        for queue in (self._waiting, self._free):
            try:
                taken = queue.pop()
            except IndexError:
                continue
            buffer = taken.image if isinstance(taken, _Shown) else taken
            if buffer.shape == like.shape:
                return buffer
        return np.empty_like(like, order="C")

    def take(self) -> _Shown | None:
        """The newest picture, or None when there is none that was not taken already. Whoever takes gives it back."""
        try:
            return self._waiting.pop()
        except IndexError:
            return None

    def give_back(self, shown: _Shown) -> None:
        self._free.append(shown.image)


class WindowSink(Closing):
    """Shows the newest frame in a resizable window, its aspect kept.

    SDL wants one thread for a window: `open`, `pump` and `close` belong to the main thread, `write` may be called from another one and
    only leaves a copy for the next `pump`.
    """

    name = "window"
    steady = waits = False
    reads_image = tied = True

    def __init__(self, title: str = TITLE) -> None:
        self._title = title
        self._frames = Handover()
        self._shown: _Shown | None = None
        self._pygame: Any = None
        self._help = False
        self._stale = False
        self._written = 0
        self._counted = (0.0, 0)
        self._scaled: Image | None = None

    def open(self, stream: StreamFormat) -> None:
        """Raises SinkError without a display."""
        require_display()
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise SinkError(f"the window needs pygame-ce ({error}): pip install pygame-ce, or use --output FILE.mp4") from error
        try:
            pygame.display.init()
            if pygame.display.get_driver() in ("dummy", "offscreen") and not _driver_named():
                raise pygame.error("only SDL's dummy driver works")
            pygame.display.set_caption(self._title)
            pygame.display.set_mode(_fitting(pygame, stream), pygame.RESIZABLE)
        except pygame.error as error:
            pygame.display.quit()
            raise SinkError(f"{NO_DISPLAY} ({error})") from error
        self._pygame = pygame
        self._counted = (time.perf_counter(), 0)

    def write(self, frame: OutputFrame) -> None:
        self._frames.put(frame.image, frame.state)
        self._written += 1

    def pump(self, status: str = "") -> list[KeyCommand]:
        """Show what is new and return what was asked for since; call it some sixty times a second. `status` is added to the title."""
        if self._pygame is None:
            return []
        commands = [command for event in self._pygame.event.get() if (command := self._command(event)) is not None]
        newest = self._frames.take()
        if newest is not None:
            if self._shown is not None:
                self._frames.give_back(self._shown)
            self._shown = newest
        if newest is not None or self._stale:
            self._draw()
        self._retitle(status)
        return commands

    def _command(self, event: Any) -> KeyCommand | None:
        pygame = self._pygame
        if event.type == pygame.QUIT:
            return KeyCommand(Command.QUIT)
        if event.type in (pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED):
            self._stale = True
        if event.type != pygame.KEYDOWN:
            return None
        command = key_command(event.key)
        if command is not None and command.command is Command.HELP:
            self._help, self._stale = not self._help, True
        return command

    def _draw(self) -> None:
        screen = self._pygame.display.get_surface()
        self._stale = False
        if screen is None:
            return
        if self._shown is not None:
            self._draw_picture(screen, self._shown.image)
        if self._help:
            _draw_help(self._pygame, screen)
        self._pygame.display.flip()

    def _draw_picture(self, screen: Any, image: Image) -> None:
        """Scaled and converted by OpenCV straight into the window's memory: pygame's own way holds the interpreter's lock meanwhile."""
        left, top, width, height = fit(image.shape[1], image.shape[0], *screen.get_size())
        if (width, height) != screen.get_size():
            screen.fill(0)
        image = self._resized(image, width, height)
        red = screen.get_masks()[0] & 0xFFFFFF
        if screen.get_bitsize() != 32 or red not in (_RED_FIRST, _BLUE_FIRST):
            screen.blit(self._pygame.image.frombuffer(image.data, (width, height), "BGR"), (left, top))
            return
        columns = self._pygame.surfarray.pixels2d(screen)  # (width, height) of 32 bits; the surface is locked while this lives
        pixels = columns.T.view(np.uint8).reshape(screen.get_height(), -1, 4)[top : top + height, left : left + width]
        cv2.cvtColor(image, cv2.COLOR_BGR2BGRA if red == _RED_FIRST else cv2.COLOR_BGR2RGBA, dst=pixels)

    def _resized(self, image: Image, width: int, height: int) -> Image:
        if image.shape[:2] == (height, width):
            return image
        if self._scaled is None or self._scaled.shape[:2] != (height, width):
            self._scaled = np.empty((height, width, 3), np.uint8)
        smaller = width * 2 <= image.shape[1]  # averaging is slow, and shows only from there on
        cv2.resize(image, (width, height), dst=self._scaled, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
        return self._scaled

    def _retitle(self, status: str) -> None:
        since, count = self._counted
        now = time.perf_counter()
        if now - since < _TITLE_SECONDS:
            return
        self._counted = (now, self._written)
        parts = [self._title, f"{(self._written - count) / (now - since):.0f} fps"]
        if self._shown is not None:
            parts.append(self._shown.state.value.replace("_", " "))
        self._pygame.display.set_caption(" - ".join([*parts, *filter(None, [status, "h: help"])]))

    def close(self) -> None:
        pygame, self._pygame = self._pygame, None
        if pygame is not None:
            pygame.display.quit()


def key_command(key: int) -> KeyCommand | None:
    """The command of an SDL key code, which for letters, digits and space is the character's own."""
    import pygame

    letters = {"q": Command.QUIT, " ": Command.PAUSE, "m": Command.MIRROR, "s": Command.STILL, "h": Command.HELP}
    for first in (pygame.K_1, pygame.K_KP1):
        if first <= key < first + 9:
            return KeyCommand(Command.SOURCE, key - first + 1)
    command = letters.get(chr(key)) if 0 <= key < 128 else None
    return KeyCommand(command) if command is not None else None


def fit(width: int, height: int, room_width: int, room_height: int) -> tuple[int, int, int, int]:
    """Left, top, width, height of the largest rectangle of that shape in the middle of a room; at least a pixel each way."""
    scale = min(room_width / width, room_height / height)
    wide, high = max(1, min(room_width, round(width * scale))), max(1, min(room_height, round(height * scale)))
    return (room_width - wide) // 2, (room_height - high) // 2, wide, high


def _fitting(pygame: Any, stream: StreamFormat) -> tuple[int, int]:
    """The stream's size, or what of it the screen has room for."""
    room = [int(side * _OF_SCREEN) for side in pygame.display.get_desktop_sizes()[0]]
    width, height = min(room[0], stream.width), min(room[1], stream.height)
    return fit(stream.width, stream.height, width, height)[2:]


def _driver_named() -> bool:
    return any(os.environ.get(name) for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"))


def require_display() -> None:
    """Raises SinkError without a display. X11 and Wayland name theirs in the environment; without one SDL would draw into nothing and
    not say so."""
    if not sys.platform.startswith("linux") or _driver_named():
        return
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        raise SinkError(NO_DISPLAY)


def _draw_help(pygame: Any, screen: Any) -> None:
    pygame.font.init()
    font = pygame.font.Font(None, max(18, screen.get_height() // 22))
    keys = [font.render(key, True, (255, 220, 120)) for key, _ in HELP]
    words = [font.render(text, True, (255, 255, 255)) for _, text in HELP]
    line, gap = font.get_linesize(), font.get_linesize() // 2
    column = max(key.get_width() for key in keys) + 2 * gap
    width = gap + column + max(word.get_width() for word in words) + gap
    panel = pygame.Surface((width, line * len(HELP) + 2 * gap))
    panel.fill((24, 24, 24))
    panel.set_alpha(215)
    left, top = max(0, (screen.get_width() - width) // 2), max(0, (screen.get_height() - panel.get_height()) // 2)
    screen.blit(panel, (left, top))
    for row, (key, word) in enumerate(zip(keys, words, strict=True)):
        screen.blit(key, (left + gap, top + gap + row * line))
        screen.blit(word, (left + gap + column, top + gap + row * line))
