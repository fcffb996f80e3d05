"""`<model>.json` beside its engines: what they were made of, with what, for which machine, and how good they are.

The only thing that the builder and a live run share. Reading it imports no inference library unless there is an engine of that library.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realtime import graphs
from realtime.backends.base import BUILD
from realtime.backends.gpus import Gpu
from realtime.errors import BackendError
from realtime.machine import processor
from realtime.models.catalog import MODELS
from realtime.models.records import replace, sha256_of

FORMAT = 1
GPU_TARGETS = ("tensorrt", "tensorrt-rtx")
"""Targets whose engines are for a GPU, in the order of preference: those leave the processor to the rest of the program."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One engine."""

    target: str
    precision: str
    arithmetic: str
    file: str
    """Name within the folder of the manifest."""
    sha256: str
    bytes: int
    onnx_sha256: str
    """Of what it was made of; `fingerprint`."""
    library: str
    version: str
    device: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]
    gate: Mapping[str, Any]
    """A `gate.Judgement`: verdict, figures, limits, ms, reason."""
    build_seconds: float
    built_at: str
    chosen: bool
    """The fastest that passed the gate for this target."""
    tried: Sequence[str]
    """The precisions that it was chosen among."""
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def ms(self) -> float:
        value = self.gate.get("ms")
        return float(value) if value else float("inf")


_TEXTS = ("target", "precision", "arithmetic", "file", "sha256", "onnx_sha256", "library", "version", "built_at")
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(("inputs", "outputs", "tried", "notes"), (list, tuple)),
    **dict.fromkeys(("device", "gate"), dict),
    "bytes": int,
    "build_seconds": (int, float),
    "chosen": bool,
}


def rebuild_command(model: str, folder: Path) -> str:
    """Which builds them anew into the same folder."""
    from realtime.storage import engines_folder  # here: only who has something to complain of needs it

    usual = folder.absolute() == engines_folder().absolute()
    place = "" if usual else f" --engines {_quoted(folder)}"
    return f"{BUILD} --models {_quoted(model)}{place}"


def _quoted(text: object) -> str:
    return f'"{text}"' if " " in str(text) else str(text)


def asked_for(model: str, onnx: Path | Sequence[Path], graph: str = "") -> str:
    """By which name the builder is asked for the engines of a model: files of the user's by their path."""
    files = [onnx] if isinstance(onnx, Path) else onnx
    if len(files) > 1:  # a graph around the mesh and a swap network
        return f"{graph}:{asked_for(model.removeprefix(f'{graph}-'), files[-1])}"
    return model if graph or model in MODELS else str(files[0])


def path_of(folder: Path, model: str) -> Path:
    return folder / f"{model}.json"


def read(folder: Path, model: str, asked: str = "") -> list[Entry]:
    """The engines of a model; none without a manifest. Raises BackendError for a manifest that makes no sense.

    `asked`: by which name the builder is asked for them, where that is another.
    """
    path = path_of(folder, model)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}")
        return [_checked(Entry(**entry)) for entry in content["engines"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        cure = f"{rebuild_command(asked or model, folder)} --force"
        why = " ".join("".join(sign if sign.isprintable() else " " for sign in str(error)).split())  # it may quote what is in there
        raise BackendError(f"the manifest {path.name} makes no sense ({why}): run `{cure}`") from error


def _checked(entry: Entry) -> Entry:
    """Raises TypeError or ValueError for what `write` would not have written: no file beyond the folder is ever opened."""
    for name, kind in _KINDS.items():
        value = getattr(entry, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{name} is {type(value).__name__}")
    if Path(entry.file).name != entry.file or not entry.file or "\\" in entry.file or "\0" in entry.file:
        raise ValueError("an engine lies elsewhere")
    if not isinstance(entry.gate.get("ms"), int | float | type(None)):
        raise TypeError("a time that is no number")
    return entry


def write(folder: Path, model: str, entries: Iterable[Entry]) -> None:
    """Replace the manifest at once, then remove engine files of the model that it no longer names."""
    rows = list(entries)
    content = {"format": FORMAT, "model": model, "engines": [dataclasses.asdict(entry) for entry in rows]}
    replace(path_of(folder, model), json.dumps(content, indent=1).encode())
    named = {entry.file for entry in rows}
    ours = re.compile(rf"{re.escape(model)}\.[\w-]+\.(fp32|fp16|int8)\.[0-9a-f]{{8}}\.\w+")
    for old in folder.iterdir():
        if ours.fullmatch(old.name) and old.name not in named:
            old.unlink(missing_ok=True)


def file_name(model: str, target: str, precision: str, sha256: str, suffix: str) -> str:
    """With part of the hash: a new engine never replaces the file that the old manifest speaks of."""
    return f"{model}.{target}.{precision}.{sha256[:8]}{suffix}"


def problem(entry: Entry, folder: Path, onnx_sha256: str, version: str | None, device: Mapping[str, Any]) -> str:
    """What keeps the engine from being used, as half a sentence; empty when it fits. `version` None: not looked at."""
    if entry.onnx_sha256 != onnx_sha256:
        models, _, _ = onnx_sha256.rpartition("+")  # of a graph, the last is that of the code which writes it
        same = models and models == entry.onnx_sha256.rpartition("+")[0]
        return "was made by another version of this program" if same else "was made of another version of the model"
    if version is not None and entry.version != version:
        return f"was built with {entry.library} {entry.version} and this is {version}"
    for what, value in device.items():
        if entry.device.get(what) != value:
            return f"was built for the {what} {entry.device.get(what)} and this is {value}"
    path = folder / entry.file
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != entry.bytes or sha256_of(path) != entry.sha256:
        return "was altered or is incomplete"
    return ""


def find(
    folder: Path,
    model: str,
    onnx: Path | Sequence[Path],
    versions: Mapping[str, str],
    gpu: Gpu | None = None,
    refused: Callable[[str], None] | None = None,
    graph: str = "",
) -> Entry | None:
    """The best engine that was chosen for one of the targets in `versions` (target -> version of its library here), and fits.

    The GPU's come first, in the order of GPU_TARGETS, then the processor's, the fastest first. None when none was built. One that does not
    fit any more is told to `refused` in a sentence with the command that rebuilds, and the next is looked at; without `refused` it is
    raised as BackendError, as is a manifest that makes no sense. `onnx` and `graph`: what it was made of, as in `fingerprint`.
    """
    asked = asked_for(model, onnx, graph)
    rows = [entry for entry in read(folder, model, asked) if entry.chosen and entry.target in versions]
    made_of = _made_of(onnx, graph) if rows else ""
    for entry in sorted(rows, key=_preference):
        wrong = problem(entry, folder, made_of, versions[entry.target], _device(entry)) or gpu_problem(entry, gpu)
        if not wrong:
            return entry
        sentence = f"the engine {entry.file} {wrong}: run `{rebuild_command(asked, folder)}`"
        if refused is None:
            raise BackendError(sentence)
        refused(sentence)
    return None


def pending(
    folder: Path, model: str, onnx: Path | Sequence[Path], versions: Mapping[str, str], gpu: Gpu | None, graph: str = ""
) -> list[Entry]:
    """Engines that were built where their device was absent, and that can be judged here; of targets for which none is chosen yet."""
    entries = read(folder, model)
    settled = {entry.target for entry in entries if entry.chosen}
    waiting = [entry for entry in entries if entry.gate.get("verdict") == "pending" and entry.target in versions]
    fit = [entry for entry in waiting if entry.target not in settled and not gpu_problem(entry, gpu)]
    made_of = _made_of(onnx, graph) if fit else ""
    return [entry for entry in fit if not problem(entry, folder, made_of, versions[entry.target], {})]


def gpu_problem(entry: Entry, gpu: Gpu | None) -> str:
    """What keeps an engine of a GPU from being used on this one, as half a sentence; empty when nothing does, and for others.

    An engine that was built without a GPU names no driver, and fits every one that its library runs with.
    """
    if entry.target not in GPU_TARGETS:
        return ""
    if gpu is None:
        return "is for a GPU and there is none"
    capabilities = entry.device.get("compute_capabilities", [])
    if gpu.sm not in capabilities:
        named = ", ".join(str(number) for number in capabilities)
        return f"was built for compute capability {named} and this GPU has {gpu.sm}"
    driver = entry.device.get("driver")
    if driver is not None and driver != gpu.driver:
        return f"was built with a driver for CUDA {_cuda(driver)} and this one is for {_cuda(gpu.driver)}"
    return ""


def _cuda(driver: int) -> str:
    return f"{driver // 1000}.{driver % 1000 // 10}"


def _device(entry: Entry) -> Mapping[str, Any]:
    return {} if entry.target in GPU_TARGETS else {"processor": processor()}


def _preference(entry: Entry) -> tuple[int, float]:
    return (GPU_TARGETS.index(entry.target), 0.0) if entry.target in GPU_TARGETS else (len(GPU_TARGETS), entry.ms)


def fingerprint(paths: Sequence[Path], graph: str = "") -> str:
    """What an engine is made of: the SHA-256 of its ONNX files in order, and for a graph of ours that of the code that writes it."""
    code = [_sha256_of_code()] if graph else []
    return "+".join([*(sha256_of(path) for path in paths), *code])


def _made_of(onnx: Path | Sequence[Path], graph: str) -> str:
    return fingerprint([onnx] if isinstance(onnx, Path) else onnx, graph)


def _sha256_of_code() -> str:
    """An engine of a graph that is written otherwise now must not be used any more."""
    files = sorted(Path(graphs.__path__[0]).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
