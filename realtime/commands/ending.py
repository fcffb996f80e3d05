"""What the user is told when a run is over: what came of it, where, and what to do about what did not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from realtime.commands.output import milliseconds
from realtime.settings import Settings
from realtime.values import output_file

MOST_MISSED = 0.01
"""Share of the frames that an output may have missed without a word."""


def left_by(outputs: Sequence[str], begun: float, report: Any) -> list[str]:
    """What there is of the outputs after a run that broke off: no file, or a file written since `begun`, as `time.time` counts, if
    only the one that could not be signed, or has another name because somebody else took its own. A disk that hangs is not asked."""
    from realtime.sinks.files import numbered, unsigned  # here: help is to be instant

    hanging = {output["name"] for output in report.get("outputs", []) if output.get("left")}
    files, left = {text: output_file(text) for text in outputs}, []
    for text, path in files.items():
        if str(path) in hanging:
            continue
        if path is None:
            left.append(text)
        else:
            candidates = (*reversed(numbered(path)), path, unsigned(path))
            left += [str(each) for each in candidates if each.is_file() and each.stat().st_mtime >= begun - 2][:1]
    return left


def written(outputs: Sequence[str], report: Any) -> list[str]:
    """The outputs less the pictures of a run that had nothing but the placeholder to show: those are not written."""
    return [text for text in outputs if not (_is_empty(report) and _is_picture(text))]


def unwritten(outputs: Sequence[str], report: Any) -> list[str]:
    """A sentence about each picture that a live run did not write; of others `unswapped` tells it."""
    if (report.get("input") or {}).get("kind") != "live":
        return []
    lacking = set(outputs) - set(written(outputs, report))
    return [f"{text} was not written: no face was found, and the placeholder is no picture" for text in outputs if text in lacking]


def _is_empty(report: Any) -> bool:
    """Whether every frame was hidden and none was swapped before it: then each was the placeholder."""
    frames = report.get("frames_out", 0)
    return bool(frames) and report["hidden_frames"] == frames and not report["states"].get("swapped")


def _is_picture(output: str) -> bool:
    from realtime.sinks.image import IMAGE_SUFFIXES  # here: help is to be instant

    path = output_file(output)
    return path is not None and path.suffix.lower() in IMAGE_SUFFIXES


def _counted(frames: int) -> str:
    return "1 frame" if frames == 1 else f"{frames} frames"


def summary(report: Any, outputs: Sequence[str]) -> str:
    """One line about a run that gave something; a latency has only what is live."""
    if not report.get("frames_out"):
        return ""
    swapped, frames = report["states"].get("swapped", 0), report["frames_out"]
    without = frames - swapped - report["states"].get("paused", 0)
    kind = (report["input"] or {}).get("kind")
    if kind == "picture":
        return f"{', '.join(outputs)}: 1 picture, {'swapped' if swapped else 'not swapped'}" if outputs else ""
    if kind == "file":
        rate = frames / report["seconds"] if report["seconds"] else None
        where = ", ".join(outputs) or "nothing was kept"
        where += ", cut short" if outputs and not report["whole"] else ""
        return f"{where}: {_counted(frames)} in {report['seconds']:.1f} s ({milliseconds(rate)} fps), {without} without a face"
    age, files = report["age_ms"], [text for text in outputs if output_file(text)]
    where = f"{', '.join(files)}: " if files else ""
    return (
        f"{where}{_counted(frames)} in {report['seconds']:.1f} s ({milliseconds(report['fps'])} fps), {report['dropped']} dropped, "
        f"{without} without a face; capture to sent {milliseconds(age['p50'])} ms (median), "
        f"{milliseconds(age['p95'])} ms (p95), {milliseconds(age['p99'])} ms (p99)"
    )


def afterwords(report: Any, on_lost: str) -> list[str]:
    """What a run that came through has to tell all the same: networks that failed, outputs that were not ready for every frame."""
    told = []
    failed, hangs = sum(report.get("failures", {}).values()), report.get("hangs", 0)
    if failed:
        shown = {"freeze": "showed the picture before", "pass": "were passed on unswapped"}.get(on_lost, "were hidden")
        why = f"{failed} frames {shown} ({max(report['failures'], key=report['failures'].get)})"
        told.append(f"the networks failed: {why}; {_recovered(report)}")
    if hangs:
        times = "once" if hangs == 1 else f"{hangs} times"
        why = "gave no answer for a second or more, as on a busy machine, and the placeholder was shown"
        told.append(f"{times} the networks {why}; {_recovered(report)}")
    for output in report.get("outputs", []):
        missed, frames = output["missed"], output["missed"] + output["written"]
        if missed > frames * MOST_MISSED and not output.get("left"):
            cure = "choose a smaller --size, or a faster disk"
            told.append(f"{output['name']} lacks {missed} of {frames} frames, for which it was not ready in time: {cure}")
    return told


def _recovered(report: Any) -> str:
    return "they did not recover: start again, with another --backend if it comes again" if report.get("failing") else "they recovered"


def unswapped(report: Any, settings: Settings) -> str:
    """The sentence about a run that gave nothing, or a file or picture in which no face was swapped; empty when all is well."""
    about = report["input"]
    if emptied := _masked_away(report, settings):
        return emptied
    if about is not None and not report["frames_out"] and (limit := _limit(settings)):
        return f"no frame of {about['name']} was ready before {limit} ended the run, so nothing was written: let it run longer"
    if about is None or about["kind"] == "live" or not report["frames_out"] or report["states"].get("swapped"):
        return ""
    cure = f"a face must be upright (turn the picture with --rotate) and at least {settings.min_face:g} pixels wide (--min-face)"
    cure += "" if settings.faces in ("main", "all") else f", and be the one that --faces {settings.faces} means"
    return f"no face to swap was found in {about['name']}, so {_instead(report, settings)}: {cure}"


def _instead(report: Any, settings: Settings) -> str:
    """What became of an input without a face."""
    if not report["hidden_frames"]:
        return "it was passed on as it is"
    return "the placeholder was shown in its place" if written(settings.outputs, report) else "nothing was written"


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
