"""What an option may be told: from text or a TOML value to a checked value.

Each `parse_...` raises ValueError for anything else, UsageError where only a sentence of its own will do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from realtime.errors import AbsentError, UsageError

SIZES = {"360p": (640, 360), "480p": (640, 480), "540p": (960, 540), "720p": (1280, 720), "1080p": (1920, 1080), "1440p": (2560, 1440)}


def parse_text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # `input = 0` in a file
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def parse_texts(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, Sequence) or not values:
        raise ValueError
    return tuple(parse_text(each) for each in values)


def parse_photo(value: Any) -> Path:
    return existing_file(value, "source photo")


def existing_file(value: Any, what: str) -> Path:
    """A file that is there and may be read; `what` it is to be is said in errors. Raises ValueError for what is no text."""
    if not isinstance(value, str) or not value:
        raise ValueError
    path = Path(value).expanduser()
    if not value.isprintable() and not path.exists():  # "C:\temp\new.jpg" between double quotes in a TOML file: a tab and a line break
        raise AbsentError(f"the {what} {value!r} does not exist: put a path with backslashes between single quotes, or write it with /")
    if path.is_dir():
        raise AbsentError(f"the {what} {value} is a folder: name a file in it")
    if not path.is_file():
        raise AbsentError(f"the {what} {value} does not exist: check the name (the current folder is {Path.cwd()})")
    if not os.access(path, os.R_OK):
        raise AbsentError(f"the {what} {value} may not be read: make it readable")
    return path


def parse_people(value: Any) -> tuple[tuple[Path, ...], ...]:
    """`"me.jpg"`, `["a.jpg", "b.jpg"]` (one person) or `[["a1.jpg", "a2.jpg"], ["b.jpg"]]` (two people)."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value:
        raise ValueError
    groups = value if isinstance(value[0], list) else [value]
    if not all(isinstance(group, list) and group for group in groups):
        raise ValueError
    return tuple(tuple(parse_photo(each) for each in group) for group in groups)


def parse_size(value: Any) -> tuple[int, int]:
    text = parse_text(value).lower()
    if text in SIZES:
        return SIZES[text]
    match = re.fullmatch(r"(\d{1,5})\s*[x×*]\s*(\d{1,5})", text)
    if match is None:
        raise ValueError
    width, height = int(match[1]), int(match[2])
    # Even, because the I420 that sinks get has half-size colour planes; 8K is more than any path here keeps up with.
    if width % 2 or height % 2 or not (64 <= width <= 7680 and 64 <= height <= 7680):
        raise ValueError
    return width, height


def number_between(low: float, high: float) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        if not low <= number <= high:  # also refuses nan
            raise ValueError
        return number

    return parse


def whole_between(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, (bool, float)) or not low <= int(value) <= high:
            raise ValueError
        return int(value)

    return parse


def parse_count(value: Any) -> int:
    if isinstance(value, (bool, float)) or int(value) < 1:
        raise ValueError
    return int(value)


def parse_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def choice_of(*names: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return parse


def parse_device(value: Any) -> str:
    text = parse_text(value).lower().replace(" ", "")
    if text not in ("auto", "cpu") and re.fullmatch(r"\d{1,2}(,\d{1,2})?", text) is None:
        raise ValueError
    one, _, other = text.partition(",")
    if one == other:
        raise UsageError(f"{text} names one GPU twice: give its number once, or two different ones")
    return text


def parse_degrees(value: Any) -> int:
    return int(choice_of("0", "90", "180", "270")(parse_text(value)))


def parse_target(value: Any) -> Path:
    """A file to be written at the end: its folder must be there now, or the run's result would be lost."""
    path = Path(parse_text(value)).expanduser()
    if "\0" in str(path):
        raise ValueError
    if path.is_dir():
        raise AbsentError(f"cannot write {value}: it is a folder, name a file in it")
    if not path.parent.is_dir():
        raise AbsentError(f"cannot write {value}: the folder {path.parent} does not exist, make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise AbsentError(f"cannot write {value}: permission denied, choose a folder you may write to")
    return path


def parse_folder(value: Any) -> Path:
    """A folder that is there."""
    path = Path(parse_text(value)).expanduser()
    if "\0" in str(path):
        raise ValueError
    if not path.is_dir():
        raise AbsentError(f"there is no folder {value}: check its name")
    return path


def parse_outputs(value: Any) -> tuple[str, ...]:
    """What kind of output each is, the sinks know; where a file would go is checked here, before anything is loaded."""
    texts = parse_texts(value)
    for text in texts:
        if (path := output_file(text)) is not None and (path.suffix or path.parent != Path() or path.is_dir()):
            parse_target(text)
    return texts


def output_file(text: str) -> Path | None:
    """The file that an output names; None for a device, a window and the like."""
    return None if text.partition(":")[0] in ("virtualcam", "window", "null") else Path(text).expanduser()


def one_of(choices: Sequence[str]) -> str:
    return "one of " + ", ".join(choices)


def near_miss(word: object, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?" when a known word is close, else nothing."""
    import difflib

    close = difflib.get_close_matches(str(word).lower(), known, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # no file name at all: a URL, a camera
        return False


def same_file(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, ValueError, RuntimeError):  # one of them is not there, or is no file name
        return False
