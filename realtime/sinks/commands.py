"""What a window's keys ask for."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Command(StrEnum):
    QUIT = "quit"
    PAUSE = "pause"
    """Pause the swap closed, or go on: the face is hidden meanwhile."""
    MIRROR = "mirror"
    STILL = "still"
    HELP = "help"
    """The window shows the help itself; told for completeness."""
    SOURCE = "source"
    """Switch to source `number`."""


class KeyCommand(NamedTuple):
    """A command with its argument."""

    command: Command
    number: int = 0
    """1..9 with Command.SOURCE: which source photo, as the user counts; else 0."""
