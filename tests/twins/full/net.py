"""A graph under construction: nodes with random weights, the shapes of what lies between them, and what it all costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from realtime.types import Array

Shape = tuple[int, ...]
_OPSET = 17
_SWISH = "Swish"


@dataclass
class Net:
    """Values go by their names. Widths are those published times `share`, which is for a quick look. Weights are written into the model as
    they are made: a copy of a gigabyte of them would be one too many.
    """

    share: float = 1.0
    counting: bool = False
    """Only count: weights are not made."""
    weights: int = 0
    """Numbers learned, the ones of norms among them, that a file holds."""
    products: int = 0
    """Multiply-adds of convolutions and matrices."""
    shapes: dict[str, Shape] = field(default_factory=dict)
    model: Any = field(default_factory=lambda: onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", _OPSET)]))
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def wide(self, channels: int) -> int:
        """Channels at this share: a multiple of 4."""
        return channels if self.share == 1 else max(4 * round(channels * self.share / 4), 4)

    def input(self, name: str, *shape: int | str, element: int = TensorProto.FLOAT) -> str:
        """What is open ("batch") is counted as one."""
        self.model.graph.input.append(helper.make_tensor_value_info(name, element, shape))
        self.shapes[name] = tuple(1 if isinstance(side, str) else side for side in shape)
        return name

    def output(self, x: str, name: str, *shape: int | str) -> None:
        self.op("Identity", x, gives=name)
        self.model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape or self.shapes[x]))

    def constant(self, value: Array) -> str:
        tensor = self.model.graph.initializer.add()
        tensor.name, tensor.dims[:] = f"w{len(self.model.graph.initializer)}", value.shape
        tensor.data_type = helper.np_dtype_to_tensor_dtype(value.dtype)
        tensor.raw_data = b"" if self.counting else np.ascontiguousarray(value).tobytes()
        self.shapes[tensor.name] = value.shape
        return str(tensor.name)

    def whole(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def weight(self, *shape: int, size: float | None = None) -> str:
        """As large as keeps what goes through them as large as it is; `size`: their deviation."""
        self.weights += int(np.prod(shape))
        if self.counting:
            return self.constant(np.broadcast_to(np.float32(0), shape))
        deviation = np.float32(max(int(np.prod(shape[1:])), 1) ** -0.5 if size is None else size)
        values = self.random.standard_normal(shape, np.float32)
        values *= deviation
        return self.constant(values)

    def op(self, kind: str, *takes: str, shape: Shape | None = None, gives: str = "", **attributes: Any) -> str:
        """`shape`: of what it gives, where that is not what numpy would make of all that it takes."""
        node = self.model.graph.node.add()
        node.CopyFrom(helper.make_node(kind, list(takes), [gives or f"t{len(self.model.graph.node)}"], **attributes))
        node.name = f"{kind}_{len(self.model.graph.node)}"
        self.shapes[node.output[0]] = shape or np.broadcast_shapes(*(self.shapes[each] for each in takes if each))
        return str(node.output[0])

    def act(self, x: str, kind: str) -> str:
        """`PRelu` with a slope for each channel; nothing for an empty name."""
        if kind == "PRelu":
            return self.op(kind, x, self.weight(self.shapes[x][1], 1, 1, size=0.25))
        if kind == _SWISH:
            return self.op("Mul", x, self.op("Sigmoid", x))
        return self.op(kind, x, **({"alpha": 0.2} if kind == "LeakyRelu" else {})) if kind else x

    def conv(
        self,
        x: str,
        width: int,
        kernel: int = 3,
        stride: int = 1,
        *,
        act: str = "",
        groups: int = 1,
        bias: bool = True,
        pad: int | None = None,
    ) -> str:
        """A norm behind it is taken to be part of it, as exporters have it."""
        weights = [self.weight(width, self.shapes[x][1] // groups, kernel, kernel)]
        weights += [self.weight(width, size=0.1)] if bias else []
        return self.act(self.convolved(x, *weights, stride=stride, groups=groups, pad=kernel // 2 if pad is None else pad), act)

    def convolved(self, x: str, *weights: str, stride: int = 1, groups: int = 1, pad: int = 0) -> str:
        width, depth, kernel, _ = self.shapes[weights[0]]
        sides = [(side + 2 * pad - kernel) // stride + 1 for side in self.shapes[x][2:]]
        self.products += width * depth * kernel * kernel * sides[0] * sides[1]
        return self.op(
            "Conv", x, *weights, shape=(1, width, *sides), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups
        )

    def deconv(self, x: str, width: int, kernel: int = 4, *, act: str = "", pad: int = 1, past: int = 0) -> str:
        """Doubles the side; `past`: rows and columns added at the end."""
        return self.act(self.deconvolved(x, self.weight(self.shapes[x][1], width, kernel, kernel), pad, past), act)

    def deconvolved(self, x: str, weights: str, pad: int, past: int = 0) -> str:
        depth, width, kernel, _ = self.shapes[weights]
        side = self.shapes[x][2]
        self.products += depth * width * kernel * kernel * side * side
        after = 2 * (side - 1) + kernel - 2 * pad + past
        return self.op(
            "ConvTranspose", x, weights, shape=(1, width, after, after), kernel_shape=[kernel] * 2, strides=[2, 2], pads=[pad] * 4,
            output_padding=[past] * 2,
        )  # fmt: skip

    def dense(self, x: str, width: int, *, act: str = "", bias: bool = True) -> str:
        """Rows (n, depth) to (n, width)."""
        rows, depth = self.shapes[x]
        self.products += rows * depth * width
        weights = [self.weight(width, depth)] + ([self.weight(width, size=0.1)] if bias else [])
        return self.act(self.op("Gemm", x, *weights, shape=(rows, width), transB=1), act)

    def product(self, a: str, b: str) -> str:
        """Of matrices in the last two axes."""
        *more, rows, depth = self.shapes[a]
        columns = self.shapes[b][-1]
        self.products += int(np.prod(more)) * rows * depth * columns
        return self.op("MatMul", a, b, shape=(*more, rows, columns))

    def up(self, x: str, factor: float = 2, mode: str = "nearest") -> str:
        before = self.shapes[x]
        scales = self.constant(np.array([1, 1, factor, factor], np.float32))
        way = {"mode": mode, "coordinate_transformation_mode": "asymmetric" if mode == "nearest" else "half_pixel"}
        floor = {"nearest_mode": "floor"} if mode == "nearest" else {}
        return self.op("Resize", x, "", scales, shape=(*before[:2], *(int(side * factor) for side in before[2:])), **way, **floor)

    def cat(self, *takes: str, axis: int = 1) -> str:
        shape = list(self.shapes[takes[0]])
        shape[axis] = sum(self.shapes[each][axis] for each in takes)
        return self.op("Concat", *takes, shape=tuple(shape), axis=axis)

    def part(self, x: str, start: int, end: int, axis: int = 1) -> str:
        shape = list(self.shapes[x])
        shape[axis] = end - start
        return self.op("Slice", x, self.whole(start), self.whole(end), self.whole(axis), shape=tuple(shape))

    def reshape(self, x: str, *shape: int) -> str:
        whole = int(np.prod(self.shapes[x]))
        known = -int(np.prod(shape)) if -1 in shape else 1
        return self.op("Reshape", x, self.whole(*shape), shape=tuple(whole // known if side == -1 else side for side in shape))

    def transpose(self, x: str, *order: int) -> str:
        return self.op("Transpose", x, shape=tuple(self.shapes[x][axis] for axis in order), perm=list(order))

    def mean(self, x: str) -> str:
        """Of each plane: (1, c, 1, 1)."""
        return self.op("GlobalAveragePool", x, shape=(*self.shapes[x][:2], 1, 1))

    def pool(self, x: str, kernel: int = 2, stride: int = 2, pad: int = 0, kind: str = "MaxPool") -> str:
        sides = [(side + 2 * pad - kernel) // stride + 1 for side in self.shapes[x][2:]]
        shape = (*self.shapes[x][:2], *sides)
        return self.op(kind, x, shape=shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def instance_norm(self, x: str) -> str:
        ones, zeros = (self.constant(np.full(self.shapes[x][1], value, np.float32)) for value in (1, 0))
        return self.op("InstanceNormalization", x, ones, zeros, shape=self.shapes[x], epsilon=1e-5)

    def group_norm(self, x: str, groups: int = 32) -> str:
        """As exporters write it down: an instance norm of rows between two changes of shape."""
        shape = self.shapes[x]
        rows = self.instance_norm(self.reshape(x, 1, gcd(groups, shape[1]), -1))
        scale, shift = (self.weight(shape[1], 1, 1, size=1) for _ in range(2))
        return self.op("Add", self.op("Mul", self.reshape(rows, *shape), scale), shift)

    def layer_norm(self, x: str) -> str:
        width = self.shapes[x][-1]
        return self.op("LayerNormalization", x, self.weight(width, size=1), self.weight(width, size=0.1), shape=self.shapes[x], axis=-1)

    def squeezed(self, x: str, by: int = 16) -> str:
        """Channels scaled by what their means say (Hu et al., "Squeeze-and-excitation networks", 2018)."""
        width = self.shapes[x][1]
        gate = self.conv(self.conv(self.mean(x), max(width // by, 1), 1, act="Relu", bias=False), width, 1, act="Sigmoid", bias=False)
        return self.op("Mul", x, gate)

    def save(self, path: Path) -> None:
        self.model.graph.name = path.stem
        path.write_bytes(self.model.SerializeToString())
