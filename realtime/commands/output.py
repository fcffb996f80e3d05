"""What the sub-commands share: a parser that speaks in sentences, a console, JSON, and small formats."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from realtime.config import LOG_LEVELS
from realtime.errors import UsageError
from realtime.values import near_miss

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ENDLESS = 1_000_000
"""Columns of what is no terminal: a table takes what it needs."""


class Parser(argparse.ArgumentParser):
    """argparse whose mistakes are UsageErrors with a suggestion, for `cli` to print."""

    def __init__(self, command: str = "", **keywords: Any) -> None:
        prog = f"{program()} {command}".strip()
        super().__init__(prog=prog, allow_abbrev=False, formatter_class=_Help, add_help=False, **keywords)

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"argument (--[^:/]+)[^:]*: ignored explicit argument .*", r"\1 takes no value", message)
        raise UsageError(f"{message} (see `{self.prog} --help`)")

    def parse(self, argv: Any) -> argparse.Namespace:
        """Like `parse_args`, but an unknown option is named with its near miss."""
        values, unknown = self.parse_known_args(argv)
        if unknown:
            known = [name for action in self._actions for name in action.option_strings]
            kind = "option" if unknown[0].startswith("-") else "argument"
            self.error(f"unknown {kind} {unknown[0]}{near_miss(unknown[0].split('=')[0], known)}")
        return values

    def add_common(self) -> None:
        """The options every command has."""
        self.add_argument("-h", "--help", action="help", help="show this help and leave")
        self.add_argument("--log-level", choices=LOG_LEVELS, default="warning", metavar="LEVEL", help=f"{', '.join(LOG_LEVELS)} [warning]")


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=112)


def program() -> str:
    """How this program was called, for usage lines and advice."""
    name = Path(sys.argv[0]).name
    return "realtime-faceswap" if name.startswith("realtime-faceswap") else "python -m realtime"


def console(*, stderr: bool = False) -> Console:
    """A console that breaks lines at the width of a terminal and nowhere else. Rich itself honours NO_COLOR and dumb terminals."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to `cli`: Rich itself would end the program with 1."""
            raise BrokenPipeError

    plain = Plain(stderr=stderr, highlight=False, soft_wrap=False)
    return plain if plain.file.isatty() else Plain(stderr=stderr, highlight=False, soft_wrap=False, width=_ENDLESS)


def show_table(table: Table) -> None:
    """On stdout; without the spaces that fill up the last column where lines are not broken."""
    out = console()
    if out.width < _ENDLESS:
        out.print(table)
        return
    with out.capture() as drawn:
        out.print(table)
    for line in drawn.get().splitlines():
        print(line.rstrip())


def notify(sentence: str) -> None:
    """Tell the user something on stderr, where results on stdout are not disturbed."""
    print(f"realtime: {sentence}", file=sys.stderr)


def print_json(value: object) -> None:
    """Indented JSON on stdout, in ASCII: it survives every console encoding."""
    print(json.dumps(value, indent=2, default=str))


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def milliseconds(value: object) -> str:
    """12.3, or a dash where nothing was measured."""
    return f"{value:.1f}" if isinstance(value, (int, float)) else "-"
