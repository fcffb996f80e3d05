"""What can be wrong with an ONNX file, said before anything is built of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx

from realtime.errors import ModelError

NEWEST_OPSET = 24
"""What today's runtimes read at most; an older one is no obstacle."""


def check(path: Path) -> Any:
    """The model in the file, weights included, with names for all nodes. Raises ModelError with one sentence."""
    model = _read(path)
    _check_external(model, path)
    opsets = {imported.domain: imported.version for imported in model.opset_import}
    if opsets.get("", 0) > NEWEST_OPSET:
        raise ModelError(f"{path.name} uses opset {opsets['']}, newer than {NEWEST_OPSET}: export it with an older one")
    _check_shapes(model, path)
    _check_operators(model, path)
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{index}"
    return model


def _read(path: Path) -> Any:
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror or error}): check the path") from error
    except Exception as error:  # protobuf's own error, which has no stable name
        raise ModelError(f"{path.name} is no ONNX file, or a truncated one: get it anew") from error
    if not model.graph.node or not model.graph.output:
        raise ModelError(f"{path.name} is no ONNX file, or an empty one: get it anew")
    return model


def _check_external(model: Any, path: Path) -> None:
    """Load weights that lie in files beside the model."""
    outside = [tensor for tensor in model.graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL]
    for tensor in outside:
        places = {entry.key: entry.value for entry in tensor.external_data}
        beside = path.parent / places.get("location", "")
        if not beside.is_file():
            raise ModelError(f"{path.name} keeps its weights in {beside.name}, which is missing: put it beside the model")
    if outside:
        try:
            onnx.load_external_data_for_model(model, str(path.parent))
        except Exception as error:  # onnx raises several kinds for a file that is too short
            raise ModelError(f"the weights of {path.name} beside it are damaged: get them anew") from error


def _check_shapes(model: Any, path: Path) -> None:
    """An open batch is taken as one by every backend; any other open size has to be set by whoever exports the model."""
    weights = {tensor.name for tensor in model.graph.initializer}
    for port in model.graph.input:
        sizes = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        if port.name not in weights and (0 in sizes[1:] or not port.type.tensor_type.HasField("shape")):
            raise ModelError(f"input {port.name} of {path.name} has an open size: export the model with fixed sizes")


def _check_operators(model: Any, path: Path) -> None:
    """Operators that the ONNX standard does not know; whether a backend takes the others, its own parser says."""
    unknown = sorted({node.op_type for node in model.graph.node if node.domain in ("", "ai.onnx") and not _known(node.op_type)})
    if unknown:
        raise ModelError(f"{path.name} has operators that are not in ONNX: {', '.join(unknown)}")


def _known(operator: str) -> bool:
    return bool(onnx.defs.has(operator))
