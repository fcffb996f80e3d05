"""A copy of a network with its input size written down: what leaves it open cannot be bound to buffers before it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from realtime.errors import ModelError
from realtime.models.convert.resize import forget_shapes
from realtime.models.records import PARTIAL, sha256_of


def fixed_copies(path: Path, sizes: tuple[int, ...], folder: Path) -> tuple[Path, ...]:
    """The file itself when its input has a fixed size, else one copy for each of `sizes`, kept in `folder` for the next time.

    A copy is as high and as wide as its size where the file leaves height or width open.

    For networks with one picture (batch, 3, height, width) as input that run at any size. Raises ModelError when the file is no such
    network, cannot be read, or the copy cannot be written.
    """
    network = _loaded(path)
    dims = _dims(network, path)
    if all(dim.dim_value > 0 for dim in dims[2:]):
        return (path,)
    copies = f"{path.stem}-{sha256_of(path)[:12]}"
    return tuple(_copy(path, size, folder / f"{copies}-{size}.onnx") for size in sizes)


def checked(path: Path) -> Path:
    """The same path. Raises ModelError when it is no ONNX file of a network that takes one picture: backends say so at length."""
    _dims(_loaded(path), path)
    return path


def _loaded(path: Path) -> Any:
    import onnx

    try:
        return onnx.load(str(path))
    except OSError as error:
        raise ModelError(f"the model {path} cannot be read ({error.strerror or error}): check the name and the permissions") from error
    except Exception as error:  # a parser meeting bytes it does not understand raises anything
        raise ModelError(f"{path.name} is no ONNX file, or a truncated one: get it anew") from error


def _dims(network: Any, path: Path) -> Any:
    """Of the one picture that the network takes, to be written to. Weights listed among the inputs, as in old files, are none."""
    weights = {weight.name for weight in network.graph.initializer}
    inputs = [port for port in network.graph.input if port.name not in weights]
    dims: Any = inputs[0].type.tensor_type.shape.dim if len(inputs) == 1 else []
    if len(dims) != 4 or dims[1].dim_value not in (0, 3):
        raise ModelError(f"{path.name} takes something else than one picture: name a file of a network that looks at faces")
    return dims


def _copy(path: Path, size: int, target: Path) -> Path:
    import onnx

    if target.is_file():
        return target
    network = _loaded(path)
    dims = _dims(network, path)
    for dim, wanted in zip(dims, (1, 3, dims[2].dim_value or size, dims[3].dim_value or size), strict=True):
        dim.dim_value = wanted
    forget_shapes(network)
    try:
        network = onnx.shape_inference.infer_shapes(network, data_prop=True)
    except Exception as error:  # its own errors, of no common base
        raise ModelError(f"{path.name} cannot be given an input of {size} pixels ({error}): export it with a fixed size") from error
    del network.graph.value_info[:]
    return _written(network.SerializeToString(), target)


def _written(content: bytes, target: Path) -> Path:
    """There at once and complete, whoever else may be writing it."""
    temporary = target.with_name(f"{PARTIAL}{os.getpid()}-{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as error:
        if target.is_file():  # another run was first, and on Windows a file that is being read is not replaced
            return target
        cure = "make it writable, or name another folder in REALTIME_MODELS"
        raise ModelError(f"the models' folder {target.parent} cannot be written ({error.strerror or error}): {cure}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return target
