"""`python -m realtime --source me.jpg`: the live swap."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from realtime import __version__
from realtime.cli import COMMANDS, set_log_level
from realtime.commands.ending import afterwords, left_by, summary, unswapped, unwritten, written
from realtime.commands.firstrun import judge_waiting
from realtime.commands.output import Parser, notify, program
from realtime.commands.progress import CountBar, FetchBar
from realtime.commands.signals import end_on_signals
from realtime.config import OPTIONS, Option, load_settings
from realtime.errors import RealtimeError
from realtime.trust import consent

EXAMPLES = """examples:
  {program} --source me.jpg                                    first camera to the virtual camera
  {program} --source me.jpg --output window --mirror           see it in a window
  {program} --source me1.jpg me2.jpg --size 1080p --fps 30     two photos of one person
  {program} --source a.jpg --source b.jpg --output window      two people: keys 1 and 2 switch
  {program} --source me.jpg --input talk.mp4 --output out.mp4  a video file, every frame, with its sound
"""


def main(argv: Sequence[str]) -> int:
    given = vars(parser().parse(argv))
    config = given.pop("config", None)
    settings = load_settings(given, Path(config) if config else None)
    set_log_level(settings.log_level)
    from realtime.checking import check  # here, as below: help is to be instant

    photos = check(settings)
    from realtime import app

    with prepare("mesh" if settings.swapper == "mesh" else "network") as kernels, FetchBar() as bar, CountBar("frames") as count:
        inform()
        judge_waiting(settings, notify)
        this_run = app.App(settings, notify=notify, progress=bar, kernels=kernels, count=count, begins=end_on_signals, photos=photos)
        begun, well = time.time(), False
        try:
            this_run.run()
            well = True
        finally:  # Ctrl-C is how a live run ends: what it measured is worth a line all the same
            report = this_run.report or {}
            outputs = settings.outputs if well else left_by(settings.outputs, begun, report)
            if line := summary(report, written(outputs, report)):
                print(line)
            for sentence in (*unwritten(outputs, report), *afterwords(report, settings.on_lost)):
                notify(sentence)
    if this_run.report and (complaint := unswapped(this_run.report, settings)):
        notify(complaint)
        return 1
    return 1 if this_run.report and this_run.report.get("failing") else 0


def parser() -> Parser:
    commands = "\n".join(f"  {name:10}{what}" for name, what in COMMANDS.items())
    made = Parser(
        usage=f"{program()} --source PHOTO [PHOTO ...] [options]\n       {program()} COMMAND [--help]",
        description=f"Replace the face that a camera sees by the one in a photo, live.\n\ncommands:\n{commands}",
        epilog=EXAMPLES.format(program=program())
        + "\nkeys in a window: q quit, space pause (the face stays hidden), m mirror, s save a still, h help, 1-9 source",
        argument_default=argparse.SUPPRESS,
    )
    topics = {option.topic: made.add_argument_group(option.topic) for option in OPTIONS}
    for option in OPTIONS:
        _add(topics[option.topic], option)
    last = topics[OPTIONS[-1].topic]
    last.add_argument("--config", metavar="FILE", help="options as TOML; the command line wins [your own config.toml, if there is one]")
    last.add_argument("--version", action="version", version=f"realtime-faceswap {__version__}", help="show the version and leave")
    last.add_argument("-h", "--help", action="help", help="show this help and leave")
    return made


def _add(group: Any, option: Option) -> None:
    """One row of the help. Values stay text here: `config` checks them, the same way as those of a file."""
    text = option.help.replace("%", "%%") + (f" [{option.default}]" if option.default else " (required)")
    keywords: dict[str, Any] = {"dest": option.name, "help": text}
    if option.name in ("mirror",):
        keywords["action"] = argparse.BooleanOptionalAction
    elif option.name in ("overwrite",):
        keywords["action"] = "store_true"
    else:
        keywords["metavar"] = option.metavar
    if option.name in ("source", "output"):
        keywords["action"] = "append"
    if option.name == "source":
        keywords["nargs"] = "+"
    group.add_argument(f"--{option.name}", **keywords)


@contextmanager
def prepare(kind: str = "mesh") -> Iterator[Callable[[Callable[[], None]], None]]:
    """What every run does first: gives what waits for the kernels, which are compiled beside the rest meanwhile.

    It calls what it is given after each of them. `kind`: "mesh" or "network", what swaps. Signals end the program politely from here on
    if there is something to compile.
    """
    from realtime.starting import kernels_kept  # here: it brings Numba along, and help is to be instant

    if kernels_kept(kind):
        yield lambda look: None
        return
    end_on_signals()
    from realtime.machine import cores
    from realtime.starting.workers import Workers

    notify("compiling for this processor, once: this takes up to a minute")
    with Workers(kind, cores()) as workers:

        def wait(look: Callable[[], None]) -> None:
            with CountBar("kernels compiled") as bar:

                def count(done: int, total: int) -> None:
                    bar(done, total)
                    look()

                workers.wait(count)

        yield wait


def inform() -> None:
    """The notice about faces and consent, once: at a terminal it must be acknowledged. Raises RealtimeError when it is not."""
    from realtime.storage import data_folder  # here: it knows the model store, and help is to be instant

    folder = data_folder()
    if consent.is_known(folder):
        return
    print(consent.NOTICE, file=sys.stderr)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        print("Go on? Type yes: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise RealtimeError("nothing was done: answer yes to go on")
    consent.remember(folder)
