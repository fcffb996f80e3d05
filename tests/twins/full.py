"""Swap networks of the published size: as many weights, random ones, in the shape that such networks have.

They answer how long a network takes, and nothing else. inswapper's twin has its published layout (138 M weights, 175 G multiply-adds); of
the others only the number of weights is known, from the sizes of their files, so that their time is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.twins.swappers import TWINS


@dataclass(frozen=True)
class Layout:
    """An encoder, residual blocks that the source modulates, and a decoder."""

    widths: tuple[int, ...]
    """Channels of the encoder's layers; every one but the first `flat` halves the side, and the decoder mirrors them."""
    flat: int
    blocks: int
    source: int = 512
    """Numbers that modulate; a source's picture is averaged to so many first."""


LAYOUTS = {
    "inswapper_128": Layout((128, 256, 512, 1024), 2, 6),
    "hyperswap_1a_256": Layout((64, 128, 256, 512, 736), 2, 8),
    "simswap_unofficial_512": Layout((32, 64, 128, 256, 512), 1, 10),
    "hififace_unofficial_256": Layout((64, 128, 256, 512), 1, 8),
    "uniface_256": Layout((64, 128, 256, 512, 736), 2, 8),
}


@dataclass
class Builder:
    """Nodes and weights of a network under construction, and what they cost."""

    nodes: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    weights: int = 0
    products: int = 0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def constant(self, value: Any) -> str:
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weight(self, *shape: int) -> str:
        self.weights += int(np.prod(shape))
        fan = max(int(np.prod(shape[1:])), 1)
        return self.constant(self.random.standard_normal(shape, np.float32) * np.float32(fan**-0.5))

    def op(self, kind: str, *takes: str, gives: str = "", **attributes: Any) -> str:
        gives = gives or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(takes), [gives], name=f"{kind}_{len(self.nodes)}", **attributes))
        return gives

    def conv(self, x: str, before: int, after: int, side: int, kernel: int = 3, stride: int = 1) -> str:
        """`side`: of what comes out."""
        self.products += before * after * kernel * kernel * side * side
        weights = self.weight(after, before, kernel, kernel), self.weight(after)
        return self.op("Conv", x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)

    def modulated(self, x: str, source: str, numbers: int, width: int) -> str:
        """Instance normalisation, then a scale and a shift that the source decides."""
        self.products += numbers * 2 * width
        style = self.op("Gemm", source, self.weight(numbers, 2 * width), self.weight(2 * width))
        style = self.op("Reshape", style, self.constant(np.array([1, 2 * width, 1, 1], np.int64)))
        cuts = [self.constant(np.array([at], np.int64)) for at in (0, width, 2 * width, 1)]
        scale, shift = (self.op("Slice", style, *cuts[n : n + 2], cuts[3]) for n in (0, 1))
        ones, zeros = (self.constant(np.full(width, value, np.float32)) for value in (1, 0))
        x = self.op("InstanceNormalization", x, ones, zeros, epsilon=1e-5)
        return self.op("Add", self.op("Mul", x, scale), shift)


def full_twin(name: str, path: Path, share: float = 1.0) -> dict[str, float]:
    """Write the network; millions of weights and billions of multiply-adds. `share` of the published widths, for a quick look."""
    layout, quirks, b = LAYOUTS[name], TWINS[name], Builder()
    widths = [max(int(width * share), 4) for width in layout.widths]
    source = _source(b, quirks.source, layout.source)
    side, before, x = quirks.size, 3, "target"
    for index, width in enumerate(widths):
        stride = 1 if index < layout.flat else 2
        side //= stride
        x, before = b.op("LeakyRelu", b.conv(x, before, width, side, 7 if index == 0 else 3, stride), alpha=0.2), width
    for _ in range(layout.blocks):
        inner = b.op("Relu", b.modulated(b.conv(x, before, before, side), source, layout.source, before))
        x = b.op("Add", x, b.modulated(b.conv(inner, before, before, side), source, layout.source, before))
    twice = b.constant(np.array([1, 1, 2, 2], np.float32))
    for index in range(len(widths) - 1, 0, -1):
        if index >= layout.flat:
            x, side = b.op("Resize", x, "", twice, mode="linear", coordinate_transformation_mode="half_pixel"), side * 2
        x, before = b.op("LeakyRelu", b.conv(x, before, widths[index - 1], side), alpha=0.2), widths[index - 1]
    b.op("Sigmoid", b.conv(x, before, 3, side, 7), gives="output")
    _save(b, path, quirks)
    return {"weights_M": b.weights / 1e6, "products_G": b.products / 1e9}


def _source(b: Builder, shape: tuple[int, ...], numbers: int) -> str:
    if len(shape) == 2:
        return "source"
    return b.op("Flatten", b.op("GlobalAveragePool", b.conv("source", 3, numbers, shape[2] // 8, 8, 8)))


def _save(b: Builder, path: Path, quirks: Any) -> None:
    face = [1, 3, quirks.size, quirks.size]
    ports = [("target", face), ("source", list(quirks.source))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports]
    if quirks.emap:
        matrix, _ = np.linalg.qr(b.random.standard_normal((512, 512)))
        b.stored.append(numpy_helper.from_array(matrix.astype(np.float32), quirks.emap))
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, face)
    graph = helper.make_graph(b.nodes, path.stem, inputs, [output], b.stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
