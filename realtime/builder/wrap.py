"""Graphs of ours around a network, built as one engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx

Shapes = Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
"""Input -> its smallest, likeliest and largest shape."""

GRAPHS: Mapping[str, Shapes] = MappingProxyType({"follow": {"frame": ((480, 640, 3), (720, 1280, 3), (2160, 3840, 3))}})
"""Name -> the sizes of its inputs that are open."""


def wrap(graph: str, network: Path, target: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the graph around the network in a file; returns its inputs and outputs, open sizes as -1."""
    from realtime.graphs.follow import follow

    model = {"follow": follow}[graph](network)
    onnx.save(model, target)
    return [_port(port) for port in model.graph.input], [_port(port) for port in model.graph.output]


def _port(port: Any) -> dict[str, Any]:
    kind = port.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
    return {"name": port.name, "shape": shape, "dtype": onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name}
