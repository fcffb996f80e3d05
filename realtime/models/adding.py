"""Which model a file of the user's is, and whether it is one at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from realtime.errors import ModelError, UsageError
from realtime.models.records import PARTIAL, sha256_of
from realtime.models.row import LARGEST, Model
from realtime.values import near_miss


def recognise(file: Path, catalogue: Mapping[str, Model], name: str = "") -> tuple[Model, str]:
    """The row that a file belongs to, and the file's SHA-256.

    By `name` if it is given, else by its content, else by its own name where the row knows no SHA-256. Raises UsageError.
    """
    digest = _digest(file)
    if name:
        if name not in catalogue:
            raise UsageError(f"there is no model {name!r}{near_miss(name, tuple(catalogue)) or ': `models list` shows all'}")
        return catalogue[name], digest
    for model in catalogue.values():
        if digest in (model.sha256, *model.also):
            return model, digest
    return _by_name(file, catalogue), digest


def _digest(file: Path) -> str:
    try:
        if not file.is_file():
            raise UsageError(f"{file} is no file: name the model's file")
        if not 0 < file.stat().st_size <= LARGEST:
            raise UsageError(f"{file} has {file.stat().st_size} bytes, as no model has: name another file")
        return sha256_of(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror or error}): make it readable") from error


def _by_name(file: Path, catalogue: Mapping[str, Model]) -> Model:
    named = [model for model in catalogue.values() if file.name in (model.file_name, f"{model.name}.onnx")]
    unknown = [model for model in named if not model.sha256]
    if unknown:
        return unknown[0]
    if named:
        raise UsageError(
            f"{file.name} is not the file that is known by that name (its SHA-256 differs): if you trust it, say `--as {named[0].name}`"
        )
    raise UsageError(f"it cannot be told which model {file.name} is: say it with `--as NAME`, a name of `models list`")


def taken(file: Path, folder: Path, model: Model, digest: str) -> Path:
    """A copy in `folder`, which is a network unless its row's converter has to tell that. Raises ModelError."""
    copy = folder / f"{PARTIAL}{model.name}"
    shutil.copyfile(file, copy)
    try:
        if sha256_of(copy) != digest:
            raise ModelError(f"{file} changed while it was read: try again")
        if digest not in (model.sha256, *model.also):
            _check_network(copy, file.name)
    except BaseException:
        copy.unlink()
        raise
    return copy


def _check_network(path: Path, name: str) -> None:
    """Raises ModelError unless it is an ONNX file that holds all of its weights."""
    import onnx

    if path.read_bytes()[4:8] == b"TFL3":
        return
    try:
        network = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # a parser meeting bytes it does not understand raises anything
        raise ModelError(f"{name} is no ONNX file, or a truncated one: get it anew") from error
    if not network.graph.node or not network.graph.input or not network.graph.output:
        raise ModelError(f"{name} is no ONNX file, or a truncated one: get it anew")
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in network.graph.initializer):
        raise ModelError(f"{name} keeps its weights in a second file: save it as one file first")
