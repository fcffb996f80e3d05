"""Graphs of ours around a network, built as one engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx

from realtime.builder.contract import Contract
from realtime.graphs.builder import sized
from realtime.graphs.follow import follow, follow_swap
from realtime.graphs.networks import inputs, load

Shapes = Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
"""Input -> its smallest, likeliest and largest shape."""
Ports = tuple[list[dict[str, Any]], list[dict[str, Any]]]

_FRAMES = {"frame": ((480, 480, 3), (720, 1280, 3), (2160, 3840, 3))}
"""480p to 2160p; upright frames of phones up to 1080p are as narrow as 480."""
GRAPHS: Mapping[str, Shapes] = MappingProxyType({"follow": _FRAMES, "follow_swap": _FRAMES})
"""Name -> the sizes of its inputs that are open."""


def wrap(graph: str, networks: Sequence[Path], contract: Contract, target: Path, size: tuple[int, int] | None = None) -> Ports:
    """Write the graph around the networks in a file; returns its inputs and outputs, open sizes as -1.

    `size`: height and width of the frames, where the runtime wants them fixed.
    """
    model = _MAKERS[graph](networks, contract)
    if size:
        model = sized(model, height=size[0], width=size[1])
    onnx.save(model, target)
    return [_port(port) for port in model.graph.input], [_port(port) for port in model.graph.output]


def _follow(networks: Sequence[Path], contract: Contract) -> Any:
    return follow(networks[0])


def _follow_swap(networks: Sequence[Path], contract: Contract) -> Any:
    """Around a swap network of any size that takes one latent."""
    swapper = load(networks[1])
    side = next((port.shape[2] for port in inputs(swapper) if port.is_square_image), 0)
    return follow_swap(networks[0], contract.swap(swapper, side))


_MAKERS: Mapping[str, Callable[[Sequence[Path], Contract], Any]] = MappingProxyType({"follow": _follow, "follow_swap": _follow_swap})


def _port(port: Any) -> dict[str, Any]:
    kind = port.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
    return {"name": port.name, "shape": shape, "dtype": onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name}
