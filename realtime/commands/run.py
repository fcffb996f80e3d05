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
from realtime.commands.firstrun import judge_waiting
from realtime.commands.output import Parser, milliseconds, notify, program
from realtime.commands.progress import CountBar, FetchBar
from realtime.commands.signals import end_on_signals
from realtime.config import OPTIONS, Option, load_settings
from realtime.errors import RealtimeError
from realtime.settings import Settings
from realtime.trust import consent
from realtime.values import output_file

EXAMPLES = """examples:
  {program} --source me.jpg                                    first camera to the virtual camera
  {program} --source me.jpg --output window --mirror           see it in a window
  {program} --source me1.jpg me2.jpg --size 1080p --fps 30     two photos of one person
  {program} --source a.jpg --source b.jpg --output window      two people: keys 1 and 2 switch
  {program} --source me.jpg --input talk.mp4 --output out.mp4  a video file, every frame, with its sound
"""
MOST_MISSED = 0.01
"""Share of the frames that an output may have missed without a word."""


def main(argv: Sequence[str]) -> int:
    given = vars(parser().parse(argv))
    config = given.pop("config", None)
    settings = load_settings(given, Path(config) if config else None)
    set_log_level(settings.log_level)
    from realtime.checking import check  # here, as below: help is to be instant

    check(settings)
    from realtime import app

    with prepare("mesh" if settings.swapper == "mesh" else "network") as kernels, FetchBar() as bar, CountBar("frames") as count:
        inform()
        judge_waiting(settings, notify)
        this_run = app.App(settings, notify=notify, progress=bar, kernels=kernels, count=count, begins=end_on_signals)
        begun, well = time.time(), False
        try:
            this_run.run()
            well = True
        finally:  # Ctrl-C is how a live run ends: what it measured is worth a line all the same
            if this_run.report and this_run.report["frames_out"]:
                print(summary(this_run.report, settings.outputs if well else left_by(settings.outputs, begun)))
            for sentence in afterwords(this_run.report or {}, settings.on_lost):
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
def prepare(kind: str = "mesh") -> Iterator[Callable[[], None]]:
    """What every run does first: gives what waits for the kernels, which are compiled beside the rest meanwhile.

    `kind`: "mesh" or "network", what swaps. Signals end the program politely from here on if there is something to compile.
    """
    from realtime.starting import kernels_kept  # here: it brings Numba along, and help is to be instant

    if kernels_kept(kind):
        yield lambda: None
        return
    end_on_signals()
    from realtime.machine import cores
    from realtime.starting.workers import Workers

    notify("compiling for this processor, once: this takes up to a minute")
    with Workers(kind, cores()) as workers:

        def wait() -> None:
            with CountBar("kernels compiled") as bar:
                workers.wait(bar)

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


def left_by(outputs: Sequence[str], begun: float) -> list[str]:
    """What there is of the outputs after a run that broke off: no file, or a file written since `begun`, as `time.time` counts, if
    only the one that could not be signed, or has another name because somebody else took its own."""
    from realtime.sinks.files import numbered, unsigned  # here: help is to be instant

    files, left = {text: output_file(text) for text in outputs}, []
    for text, path in files.items():
        if path is None:
            left.append(text)
        else:
            candidates = (*reversed(numbered(path)), path, unsigned(path))
            left += [str(each) for each in candidates if each.is_file() and each.stat().st_mtime >= begun - 2][:1]
    return left


def _counted(frames: int) -> str:
    return "1 frame" if frames == 1 else f"{frames} frames"


def summary(report: Any, outputs: Sequence[str]) -> str:
    """One line about a run; a latency has only what is live."""
    swapped, frames = report["states"].get("swapped", 0), report["frames_out"]
    without = frames - swapped - report["states"].get("paused", 0)
    kind = (report["input"] or {}).get("kind")
    if kind == "picture":
        return f"{', '.join(outputs) or 'nothing was written'}: 1 picture, {'swapped' if swapped else 'not swapped'}"
    if kind == "file":
        rate = frames / report["seconds"] if report["seconds"] else None
        where = (", ".join(outputs) or "no file") + (", cut short" if not report["whole"] else "")
        return f"{where}: {_counted(frames)} in {report['seconds']:.1f} s ({milliseconds(rate)} fps), {without} without a face"
    age = report["age_ms"]
    return (
        f"{_counted(frames)} in {report['seconds']:.1f} s ({milliseconds(report['fps'])} fps), {report['dropped']} dropped, "
        f"{without} without a face; capture to sent {milliseconds(age['p50'])} ms (median), "
        f"{milliseconds(age['p95'])} ms (p95), {milliseconds(age['p99'])} ms (p99)"
    )


def afterwords(report: Any, on_lost: str) -> list[str]:
    """What a run that came through has to tell all the same: networks that failed, outputs that were not ready for every frame."""
    told = []
    failed, hangs = sum(report.get("failures", {}).values()), report.get("hangs", 0)
    if failed or hangs:
        shown = {"freeze": "showed the picture before", "pass": "were passed on unswapped"}.get(on_lost, "were hidden")
        whys = [f"{failed} frames {shown} ({max(report['failures'], key=report['failures'].get)})"] if failed else []
        whys += [f"{hangs} time{'s' * (hangs > 1)} no answer came for a second or more, covered by the placeholder"] if hangs else []
        end = "they did not recover: start again, with another --backend if it comes again" if report.get("failing") else "they recovered"
        told.append(f"the networks failed: {'; '.join(whys)}; {end}")
    for output in report.get("outputs", []):
        missed, frames = output["missed"], output["missed"] + output["written"]
        if missed > frames * MOST_MISSED:
            cure = "choose a smaller --size, or a faster disk"
            told.append(f"{output['name']} lacks {missed} of {frames} frames, for which it was not ready in time: {cure}")
    return told


def unswapped(report: Any, settings: Settings) -> str:
    """The sentence about a run that gave nothing, or a file or picture in which no face was swapped; empty when all is well."""
    about = report["input"]
    if emptied := _masked_away(report, settings):
        return emptied
    if about is not None and not report["frames_out"] and (limit := _limit(settings)):
        return f"no frame of {about['name']} was ready before {limit} ended the run, so nothing was written: let it run longer"
    if about is None or about["kind"] == "live" or not report["frames_out"] or report["states"].get("swapped"):
        return ""
    shown = "it was passed on as it is" if not report["hidden_frames"] else "the placeholder was written in its place"
    cure = f"a face must be upright (turn the picture with --rotate) and at least {settings.min_face:g} pixels wide (--min-face)"
    cure += "" if settings.faces in ("main", "all") else f", and be the one that --faces {settings.faces} means"
    return f"no face to swap was found in {about['name']}: {shown}; {cure}"


def _limit(settings: Settings) -> str:
    """The option by which the run ends by itself; empty without one."""
    return "--frames" if settings.frames is not None else "--seconds" if settings.seconds is not None else ""


def _masked_away(report: Any, settings: Settings) -> str:
    """The sentence about masks that left nothing of any swap; empty where they did not."""
    from realtime.pipeline.finish import NOTHING_LEFT  # here, for help is to be instant

    if not report.get("reasons", {}).get(NOTHING_LEFT) or report["states"].get("swapped"):
        return ""
    named = f"--mask {','.join(settings.masks)}" if settings.masks else f"the masks of --profile {settings.profile}"
    keep = ", or less in --keep" if "region" in (settings.masks or ("region",)) else ""
    return f"a face was found but {named} left nothing of the swap, so it was hidden: name fewer masks, or --mask off{keep}"
