"""Options: from the command line and a TOML file to one frozen `Settings` of plain, checked values.

`OPTIONS` is the single list of what can be set: the command line, the file's keys, their checks and the help all come from it.
Everything here is the edge: a value that gets past it is of the right type and range, so that nothing behind it checks again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realtime.errors import AbsentError, UsageError, reason
from realtime.faces import MAIN, parse_faces, parse_map, resolve, rule
from realtime.models.choose import model_choice
from realtime.models.finishes.choice import COLOURS, MASKS, REGIONS, names, parse_enhancer, parse_enlarger, parse_padding
from realtime.models.swappers.choice import holds_person, parse_layers, parse_swapper
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.sinks.files import there_already
from realtime.values import (
    SIZES,
    choice_of,
    is_file,
    near_miss,
    number_between,
    one_of,
    output_file,
    parse_count,
    parse_degrees,
    parse_device,
    parse_flag,
    parse_folder,
    parse_outputs,
    parse_people,
    parse_size,
    parse_target,
    parse_text,
    same_file,
    whole_between,
)

GLASSES = ("cover", "keep")
ON_LOST = ("hide", "freeze", "pass")
CORNERS = ("top-left", "top-right", "bottom-left", "bottom-right")
SWAP_CONTRACTS = (
    "inswapper", "hyperswap", "ghost", "simswap", "simswap_512", "hififace", "uniface", "blendswap", "dfm", "latent"
)  # fmt: skip
BACKENDS = ("auto", "tensorrt", "tensorrt-rtx", "cuda", "directml", "coreml", "openvino", "onnxruntime")
LOG_LEVELS = ("debug", "info", "warning", "error")

_TOML = "write one `key = value` a line, with text in quotes, as in the example of docs/options.md"
_BACKSLASHES = r"put a path with backslashes between single quotes, as 'C:\Users\me.jpg', or write it with /"
_LARGEST_CONFIG = 1 << 20


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be set, with how to read it from text (command line) or a TOML value."""

    name: str
    """`--name` on the command line and the key in a file."""
    field: str
    topic: str
    metavar: str
    help: str
    expected: str
    """Ends the sentence "'x' is not ..."."""
    parse: Callable[[Any], object]
    """Raises ValueError for anything that is not `expected`, UsageError where only a sentence of its own will do."""
    choices: tuple[str, ...] = ()
    shown_default: str = ""
    """The default in words, where the value itself says too little."""

    @property
    def default(self) -> str:
        """The default as the help shows it; empty when there is none."""
        if self.shown_default or self.name == "source":
            return self.shown_default
        value = Settings.__dataclass_fields__[self.field].default
        if isinstance(value, bool) or value is None:
            return "off"
        return f"{value:g}" if isinstance(value, float) else str(value)


_IN_OUT, _PICTURE, _SWAP, _RUN = "In and out", "Picture", "Swap", "Run"

OPTIONS: tuple[Option, ...] = (
    Option("source", "sources", _IN_OUT, "PHOTO", "photos of the face to show; again for a second person",
           "a list of photo files", parse_people),
    Option("input", "input", _IN_OUT, "WHAT", "camera number or name, file, rtsp:// or http:// URL, synthetic",
           "an input", parse_text, shown_default="the first camera"),
    Option("output", "outputs", _IN_OUT, "WHERE", "virtualcam[:DEVICE], window, FILE.mp4, FILE.png, null; again for more",
           "an output or a list of outputs", parse_outputs, shown_default="virtualcam"),
    Option("overwrite", "overwrite", _IN_OUT, "", "replace pictures and videos that are there already",
           "true or false", parse_flag),
    Option("size", "size", _PICTURE, "SIZE", "picture size to ask for, as 1280x720 or 720p",
           f"a size such as 1280x720 (even numbers, 64 to 7680) or {one_of(tuple(SIZES))}", parse_size, shown_default="720p for cameras"),
    Option("fps", "fps", _PICTURE, "N", "frames a second to ask for",
           "a number from 1 to 240", number_between(1, 240), shown_default="30 for cameras"),
    Option("mirror", "mirror", _PICTURE, "", "flip left and right, as in a mirror",
           "true or false", parse_flag),
    Option("rotate", "rotate", _PICTURE, "DEG", "turn clockwise by 0, 90, 180 or 270",
           "one of 0, 90, 180, 270", parse_degrees),
    Option("profile", "profile", _SWAP, "NAME", "fast, quality (finds smaller faces) or light (least memory)",
           one_of(tuple(PROFILES)), choice_of(*PROFILES), tuple(PROFILES)),
    Option("swapper", "swapper", _SWAP, "NAME|FILE", "mesh, a swap network by its name, or a .onnx or .dfm file",
           "a swapper", parse_swapper),
    Option("swap-contract", "swap_contract", _SWAP, "NAME", "which kind of swap network a .onnx file is, where that cannot be told",
           one_of(SWAP_CONTRACTS), choice_of(*SWAP_CONTRACTS), SWAP_CONTRACTS, shown_default="recognised"),
    Option("swap-size", "swap_size", _SWAP, "PX", "side of the swapped face, some times the network's own",
           "a whole number from 64 to 1024", whole_between(64, 1024), shown_default="the network's own"),
    Option("morph", "morph", _SWAP, "N", "how far a .dfm file goes towards its person, 0 to 1",
           "a number from 0 to 1", number_between(0, 1)),
    Option("swap-layers", "swap_layers", _SWAP, "LAYERS", "layers of a latent swap network that the source decides",
           "layers such as 4-7 or 4-7,10, from 0 to 17", parse_layers, shown_default="4-7"),
    Option("detector", "detector", _SWAP, "NAME|FILE", "what finds faces: auto, a detector by its name, or an .onnx file",
           "a detector", model_choice("detector", "auto")),
    Option("landmarker", "landmarker", _SWAP, "NAME|FILE", "what aligns faces for swap networks: mesh, a network's name or .onnx file",
           "a landmark network", model_choice("landmarker", "mesh")),
    Option("recogniser", "recogniser", _SWAP, "NAME|FILE", "what knows people again: auto, a network's name or .onnx file",
           "a recogniser", model_choice("recogniser", "auto")),
    Option("mask", "masks", _SWAP, "NAMES", f"parts shown: {','.join(MASKS)}",
           f"a list of {', '.join(MASKS)}, or off", names(MASKS), MASKS, shown_default="the profile's"),
    Option("mask-padding", "mask_padding", _SWAP, "PERCENT", "smaller box or hull: one number, or top,right,bottom,left",
           "one number, or four, from 0 to 60", parse_padding, shown_default="0"),
    Option("mask-blur", "mask_blur", _SWAP, "N", "how soft the edge of box and hull is, 0 to 1",
           "a number from 0 to 1", number_between(0, 1)),
    Option("keep", "keep", _SWAP, "REGIONS", "what the region mask keeps live: glasses, hair, eyes, ...",
           f"a list of {', '.join(REGIONS)}, or off", names(REGIONS), REGIONS, shown_default="glasses,hair,mouth"),
    Option("glasses", "glasses", _SWAP, "WHAT", "the mesh swap: cover your glasses, or keep them on the swapped face",
           one_of(GLASSES), choice_of(*GLASSES), GLASSES),
    Option("colour", "colours", _SWAP, "NAMES", f"colour match: {', '.join(COLOURS)}",
           f"a list of {', '.join(COLOURS)}, or off", names(COLOURS), COLOURS, shown_default="the profile's"),
    Option("enhance", "enhance", _SWAP, "NAME|FILE", "sharpen, a face enhancer by its name, a .onnx file, or off",
           "an enhancer", parse_enhancer, shown_default="the profile's"),
    Option("enhance-blend", "enhance_blend", _SWAP, "N", "how much of the enhanced face is shown, 0 to 1",
           "a number from 0 to 1", number_between(0, 1)),
    Option("fidelity", "fidelity", _SWAP, "N", "how true CodeFormer stays to what it is given, 0 to 1",
           "a number from 0 to 1", number_between(0, 1)),
    Option("enlarge", "enlarge", _SWAP, "NAME", "enlarge pictures and videos: real_esrgan_x2, real_esrgan_x4 or off",
           "a network that enlarges frames, or off", parse_enlarger),
    Option("faces", "faces", _SWAP, "WHICH", "main, all, largest, left, right, index:N or reference:PHOTO",
           "one of main, all, largest, left, right, index:N (from the left, 1 is the first), reference:PHOTO", parse_faces),
    Option("map", "map", _SWAP, "SRC=REF,...", "for several people: which source goes on the face of which photo",
           "a list such as me.jpg=anna.jpg,you.jpg=ben.jpg", parse_map, shown_default="off"),
    Option("similarity", "similarity", _SWAP, "N", "how alike two faces of one person must be, 0.05 to 0.99",
           "a number from 0.05 to 0.99", number_between(0.05, 0.99), shown_default="what suits the network"),
    Option("on-lost", "on_lost", _SWAP, "WHAT", "when the face is not found: hide it, freeze, or pass it unswapped",
           one_of(ON_LOST), choice_of(*ON_LOST), ON_LOST),
    Option("min-face", "min_face", _SWAP, "PX", "smallest face to swap, in pixels",
           "a number from 16 to 2000", number_between(16, 2000)),
    Option("score", "score", _SWAP, "N", "how sure the face finder must be, 0.05 to 1",
           "a number from 0.05 to 1", number_between(0.05, 1)),
    Option("badge", "badge", _SWAP, "CORNER", "corner of the 'AI' badge: top-left, bottom-right, ... or off",
           one_of((*CORNERS, "off")), choice_of(*CORNERS, "off"), (*CORNERS, "off")),
    Option("backend", "backend", _RUN, "NAME", "what runs the networks: tensorrt, cuda, openvino, ... or auto",
           one_of(BACKENDS), choice_of(*BACKENDS), BACKENDS),
    Option("device", "device", _RUN, "WHICH", "where: cpu, a GPU's number, or 0,1 to follow on one, swap on one",
           "auto, cpu, a GPU's number such as 0, or two such as 0,1", parse_device),
    Option("gpu-memory-fraction", "gpu_memory_fraction", _RUN, "N", "most of the GPU's memory to take, 0.05 to 1",
           "a number from 0.05 to 1", number_between(0.05, 1), shown_default="no limit"),
    Option("engines", "engines", _RUN, "DIR", "where engines were built to",
           "a folder", parse_folder, shown_default="where it puts them by itself"),
    Option("frames", "frames", _RUN, "N", "stop after so many frames",
           "a whole number above 0", parse_count, shown_default="no limit"),
    Option("seconds", "seconds", _RUN, "N", "stop after so many seconds, of a file: of its own time",
           "a number from 0.1 to 1000000", number_between(0.1, 1e6), shown_default="no limit"),
    Option("report", "report", _RUN, "FILE", "write rates, latency and stage times as JSON at the end",
           "a file name", parse_target),
    Option("frame-log", "frame_log", _RUN, "FILE", "write one JSON line a frame: state, reason, times",
           "a file name", parse_target),
    Option("log-level", "log_level", _RUN, "LEVEL", "debug, info, warning or error",
           one_of(LOG_LEVELS), choice_of(*LOG_LEVELS), LOG_LEVELS),
)  # fmt: skip


def default_config_file() -> Path:
    """Where a user's own defaults are looked for; the file need not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("realtime-faceswap", appauthor=False)) / "config.toml"


def read_config(path: Path) -> dict[str, object]:
    """The keys of a TOML file, underscores read as dashes. Raises UsageError when it cannot be read or has an unknown key."""
    values = _toml(path)
    known = [option.name for option in OPTIONS]
    named = {key.replace("_", "-"): value for key, value in values.items()}
    for key in values:
        if "_" in key and key.replace("_", "-") in values:
            raise UsageError(f"'{key}' and '{key.replace('_', '-')}' in {path} are the same key: keep one of them")
    for key in named:
        if key not in known:
            raise UsageError(f"unknown key '{key}' in {path}{near_miss(key, known) or ' (the keys are ' + ', '.join(known) + ')'}")
    return named


def _toml(path: Path) -> dict[str, object]:
    import tomllib

    try:
        # utf-8-sig: some editors on Windows put a byte-order mark in front, which TOML does not allow.
        return tomllib.loads(_beginning(path).decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise UsageError(f"the configuration file {path} is not text in UTF-8: save it as UTF-8, or name another file") from None
    except (ValueError, RecursionError) as error:  # also of numbers too long for Python, and of brackets in brackets without end
        raise UsageError(f"the configuration file {path} is not valid TOML: {error}; {_hint(path)}") from None


def _hint(path: Path) -> str:
    return _BACKSLASHES if b"\\" in _beginning(path) else _TOML


def _beginning(path: Path) -> bytes:
    """All of the file, which must be small: a device has no end."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_CONFIG + 1)
    except FileNotFoundError:
        raise UsageError(f"the configuration file {path} does not exist: check the name given to --config") from None
    except OSError as error:
        cure = "make it readable, or name another with --config"
        raise UsageError(f"cannot read the configuration file {path}: {reason(error)}; {cure}") from None
    if len(content) > _LARGEST_CONFIG:
        raise UsageError(f"the configuration file {path} is larger than a megabyte: that is something else")
    return content


def option(name: str) -> Option:
    return next(each for each in OPTIONS if each.name == name)


def parse_value(option: Option, value: object, where: str) -> object:
    """The checked value. Raises UsageError that begins with `where`."""
    try:
        return option.parse(value)
    except (ValueError, TypeError, OverflowError, OSError, RuntimeError):  # the last two: no file name, or the home of nobody
        hint = near_miss(value, option.choices) if isinstance(value, str) else ""
        if value in ([""], [[""]]):
            raise UsageError(f"{where}: it is empty; expected {option.expected}") from None
        raise UsageError(f"{where}: {value!r} is not {option.expected}{hint}") from None
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from None


def load_settings(given: Mapping[str, object], config_file: Path | None = None) -> Settings:
    """The settings of a run: what was given on the command line, then the file, then the defaults.

    `given` maps option names ("on-lost") to their values as text, a flag to a bool, and "source" to a list of lists. `config_file`
    must exist when named; None looks for the user's own. Raises UsageError naming the option or key, the file and what is allowed.
    """
    path = config_file.expanduser() if config_file else default_config_file()
    # os.path answers "no" for a folder that may not be entered, where pathlib raises
    from_file = read_config(path) if config_file or os.path.isfile(path) else {}  # noqa: PTH113
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name in from_file:
            values.update(_from_file(option, from_file[option.name], path, overridden=option.name in given))
        if option.name in given:
            values[option.field] = parse_value(option, given[option.name], f"--{option.name}")
    if values.get("map"):
        values["sources"], values["map"] = resolve(values["map"], values.get("sources", ()))
        if values.get("faces", MAIN) != MAIN:
            raise UsageError("--map says by itself whose faces are swapped: leave --faces out")
    if "sources" not in values and holds_person(values.get("swapper"), values.get("swap_contract")):
        values["sources"] = ()
    if "sources" not in values:
        raise UsageError("no source photo: say whose face to show with --source me.jpg (or try `python -m realtime demo` first)")
    settings = Settings(**values)
    _keep_apart(settings, path if from_file else None)
    return settings


def _from_file(option: Option, value: object, path: Path, *, overridden: bool) -> dict[str, object]:
    """The field with its value. Of one that the command line overrides, the files that it names need not be there: nothing then."""
    try:
        return {option.field: parse_value(option, value, f"'{option.name}' in {path}")}
    except AbsentError:
        if overridden:
            return {}
        raise


def _keep_apart(settings: Settings, config_file: Path | None) -> None:
    """Raises UsageError when a file would be written over one that the run reads, over another one that it writes, or, of pictures and
    videos, over one that is there already and may not go."""
    _, _, photo = settings.input.rpartition("synthetic:")
    taken = [("the input", Path(photo).expanduser())] if is_file(photo) else []
    taken += [("a source photo", path) for group in settings.sources for path in group]
    taken += [("a reference photo", path) for path in (rule(settings.faces).photo, *(photo for _, photo in settings.map)) if path]
    taken += [("the configuration file", config_file)] if config_file else []
    outputs = [("--output", path) for text in settings.outputs if (path := output_file(text))]
    for name, path in (*outputs, ("--report", settings.report), ("--frame-log", settings.frame_log)):
        if path is None or (path.exists() and not path.is_file()):  # a device, as /dev/null, takes it all
            continue
        for what, other in taken:
            if same_file(path, other):
                raise UsageError(f"{name}: {path} would overwrite {what} {other}: give another name")
        if name == "--output" and path.is_file() and not settings.overwrite:
            raise UsageError(f"--output: {there_already(path)}")
        taken.append((f"the file for {name}", path))
