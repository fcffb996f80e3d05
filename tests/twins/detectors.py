"""Stand-ins for face detectors: the field's names, shapes and ranges, and one rule that all follow.

A twin undoes the normalisation that the field gives its kind, with numbers of its own, so that a wrong mean, scale or order of channels
changes what it sees. A cell of the grid it watches is a face when its mean colour is like SKIN: see `answer` for what it then says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

STRIDES = (8, 16, 32)
Size = int | tuple[int, int]
"""Of a square, or height and width."""
SKIN = (230, 140, 100)
"""Red, green, blue. Anything about as red, grey or black is no face."""
YUNET_SHARE = np.float32(0.3)
_NEVER = -30.0
_SHARP, _FROM = 40.0, 12.0
_DISTANCES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]], np.float32), np.array([1.5, 2, 1.75, 2.5], np.float32)
_POINTS = (
    np.array([[0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3], [0.2, 0.2, 0], [0, 0.2, 0.2]] * 2, np.float32),
    np.array([-0.8, -1, 0.6, -1.1, 0, 0.1, -0.6, 0.9, 0.7, 1], np.float32),
)


def answer(colour: tuple[int, int, int] = SKIN) -> tuple[float, Floats, Floats]:
    """The logit of a face, four and ten numbers that a twin says of a cell of this colour, red first."""
    unit = np.array(colour, np.float32) / 255
    logit = _SHARP * (unit[0] - unit[2]) - _FROM
    return float(logit), _DISTANCES[0] @ unit + _DISTANCES[1], _POINTS[0] @ unit + _POINTS[1]


def scrfd_twin(stride: int = 16, size: Size | None = None, names: tuple[str, ...] = (), batched: bool = False) -> Any:
    """`input.1` (1, 3, height, width), open where None; nine outputs (cells * 2, 1 | 4 | 10), the first anchor of each cell alive.

    The names default to those of det_10g; exports with `batched` outputs (1, cells * 2, ...) exist too.
    """
    net = _Net("input.1", size or "?", mean=(127.5, 127.5, 127.5), deviation=128.0, rgb=True)
    names = names or ("448", "471", "494", "451", "474", "497", "454", "477", "500")
    for number, (kind, width) in enumerate((("logit", 1), ("distances", 4), ("points", 10))):
        for step, each in zip(STRIDES, names[3 * number : 3 * number + 3], strict=True):
            head = net.anchors(kind, step, 2, alive=step == stride)
            rows = net.op("Reshape", net.op("Transpose", head, perm=[0, 2, 3, 1]), net.whole([*([1] if batched else []), -1, width]))
            net.output(net.op("Sigmoid", rows) if kind == "logit" else rows, each, [*([1] if batched else []), f"n{each}", width])
    return net.model("scrfd")


def retinaface_twin(
    stride: int = 16, size: Size | None = 640, names: tuple[str, str, str] = ("output", "outputt", "outputtt"), softmax: bool = True
) -> Any:
    """`input` (1, 3, size, size), open where None; boxes (1, n, 4), probabilities (1, n, 2), points (1, n, 10); the first prior alive."""
    net = _Net("input", size or "size", mean=(104.0, 117.0, 123.0), deviation=1.0, rgb=False)
    for (kind, width), name in zip((("distances", 4), ("logit", 2), ("points", 10)), names, strict=True):
        grids = []
        for step in STRIDES:
            head = net.op("Transpose", net.anchors(kind, step, 2, alive=step == stride), perm=[0, 2, 3, 1])
            grids.append(net.op("Reshape", head, net.whole([1, -1, 1 if kind == "logit" else width])))
        rows = net.op("Concat", *grids, axis=1)
        if kind == "logit":
            rows = net.op("Concat", net.op("Mul", rows, net.const(np.float32(0))), rows, axis=2)
            rows = net.op("Softmax", rows, axis=-1) if softmax else rows
        net.output(rows, name, [1, f"n{width}", width])
    return net.model("retinaface")


def yolo_twin(stride: int = 16, size: Size = 640) -> Any:
    """`images` (1, 3, 640, 640) -> `output0` (1, 20, n): the box's middle lies in the middle of the cell; sizes and points in pixels."""
    net = _Net("images", size, mean=(0.0, 0.0, 0.0), deviation=255.0, rgb=True)
    grids = []
    for step in STRIDES:
        middle, sides, score, points = _finished(net, size, step, step == stride)
        seen = [part for point in points for part in (point, score)]
        grids.append(net.op("Concat", middle, sides, score, *seen, axis=1))
    net.output(net.op("Concat", *grids, axis=2), "output0", [1, 20, sum(_count(size, step) for step in STRIDES)])
    return net.model("yolo")


def yolo5_twin(stride: int = 16, size: Size = 640) -> Any:
    """`input` -> `output` (1, n, 16) as YOLOv5-face: objectness 1 everywhere, the score of the class last."""
    net = _Net("input", size, mean=(0.0, 0.0, 0.0), deviation=255.0, rgb=True)
    grids = []
    for step in STRIDES:
        middle, sides, score, points = _finished(net, size, step, step == stride)
        sure = net.op("Add", net.op("Mul", score, net.const(np.float32(0))), net.const(np.float32(1)))
        grids.append(net.op("Concat", middle, sides, sure, *points, score, axis=1))
    table = net.op("Transpose", net.op("Concat", *grids, axis=2), perm=[0, 2, 1])
    net.output(table, "output", [1, sum(_count(size, step) for step in STRIDES), 16])
    return net.model("yolo5")


def _finished(net: _Net, size: Size, step: int, alive: bool) -> tuple[str, str, str, list[str]]:
    """Of one grid: middles (1, 2, n) of the cells, width and height, the score and the five points, in pixels."""
    middle = net.const(_corners(size, step)[None] * step + step / 2)
    distances, logit, points = (net.head(kind, step, alive=alive) for kind in ("distances", "logit", "points"))
    scaled = [net.op("Mul", net.flat(head, width), net.const(np.float32(step))) for head, width in ((distances, 4), (points, 10))]
    each = [net.op("Add", net.part(scaled[1], 2 * n, 2 * n + 2), middle) for n in range(5)]
    return middle, net.part(scaled[0], 0, 2), net.op("Sigmoid", net.flat(logit, 1)), each


def yolo_raw_twin(stride: int = 16, size: Size | None = 640) -> Any:
    """`images` -> three grids (1, 80, h, w): four distributions of 16, all of them at once at the bin of the rounded distance, the logit,
    and five points with visibility, in half strides from the cell's corner."""
    net = _Net("images", size or "side", mean=(0.0, 0.0, 0.0), deviation=255.0, rgb=True)
    for number, step in enumerate(STRIDES):
        logit, points = net.head("logit", step, alive=step == stride), net.head("points", step, alive=True)
        distances = net.op("Split", net.head("distances", step, alive=True), count=4, axis=1)
        bins = net.const(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
        peaks = [net.op("Mul", net.op("Abs", net.op("Sub", bins, net.op("Round", each))), net.const(np.float32(-50))) for each in distances]
        pairs = net.op("Split", points, count=5, axis=1)
        seen = [part for pair in pairs for part in (net.op("Mul", pair, net.const(np.float32(0.5))), logit)]
        net.output(net.op("Concat", *peaks, logit, *seen, axis=1), f"output{number}", [1, 80, f"h{number}", f"w{number}"])
    return net.model("yolo_raw")


def yunet_twin(stride: int = 16, size: Size = 320) -> Any:
    """`input` (1, 3, size, size) blue first, 0..255; cls, obj, bbox and kps of each stride, (1, cells, 1 | 1 | 4 | 10).

    The four numbers of the box are YUNET_SHARE of `answer`'s: two of them are logarithms.
    """
    net = _Net("input", size, mean=(0.0, 0.0, 0.0), deviation=1.0, rgb=False)
    for step in STRIDES:
        for name, kind, width in (("cls", "logit", 1), ("obj", "logit", 1), ("bbox", "distances", 4), ("kps", "points", 10)):
            head = net.op("Transpose", net.head(kind, step, alive=step == stride), perm=[0, 2, 3, 1])
            rows = net.op("Reshape", head, net.whole([1, -1, width]))
            rows = net.op("Mul", rows, net.const(YUNET_SHARE)) if name == "bbox" else rows
            net.output(net.op("Sigmoid", rows) if kind == "logit" else rows, f"{name}_{step}", [1, _count(size, step), width])
    return net.model("yunet")


def _corners(size: Size, step: int) -> Array:
    """(2, cells): column and row of each cell."""
    return np.indices([int(side) // step for side in _sides(size)], np.float32)[::-1].reshape(2, -1)


def _count(size: Size, step: int) -> int:
    return _corners(size, step).shape[1]


def _sides(size: Size | str) -> tuple[int | str, int | str]:
    return size if isinstance(size, tuple) else (size, size)


class _Net:
    """A graph that sees unit red, green and blue, whatever goes in."""

    def __init__(self, name: str, size: Size | str, *, mean: tuple[float, float, float], deviation: float, rgb: bool) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._pooled: dict[int, str] = {}
        self._input = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, *_sides(size)])
        pixels = self.op("Mul", name, self.const(np.float32(deviation / 255)))
        unit = self.op("Add", pixels, self.const(np.array(mean, np.float32).reshape(1, 3, 1, 1) / 255))
        self._unit = unit if rgb else self.op("Gather", unit, self.whole([2, 1, 0]), axis=1)

    def const(self, value: Array | np.float32) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32).reshape(np.shape(value)), name))
        return name

    def whole(self, values: list[int]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def op(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        names = [f"t{len(self._nodes)}_{n}" for n in range(count)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{len(self._nodes)}", **attributes))
        return names[0] if count == 1 else names

    def head(self, kind: str, stride: int, *, alive: bool) -> str:
        """(1, k, h, w): `answer` for each cell; no face anywhere unless `alive`."""
        if stride not in self._pooled:
            self._pooled[stride] = self.op("AveragePool", self._unit, kernel_shape=[stride] * 2, strides=[stride] * 2)
        sharp = np.array([[_SHARP, 0, -_SHARP]], np.float32), np.array([-_FROM], np.float32)
        weights, bias = {"logit": sharp, "distances": _DISTANCES, "points": _POINTS}[kind]
        if kind == "logit" and not alive:
            weights, bias = weights * 0, bias * 0 + _NEVER
        return str(self.op("Conv", self._pooled[stride], self.const(weights[:, :, None, None]), self.const(bias), kernel_shape=[1, 1]))

    def anchors(self, kind: str, stride: int, count: int, *, alive: bool) -> str:
        """As `head`, for several anchors a cell, of which the first only sees faces."""
        return str(self.op("Concat", *(self.head(kind, stride, alive=alive and n == 0) for n in range(count)), axis=1))

    def flat(self, head: str, width: int) -> str:
        return str(self.op("Reshape", head, self.whole([1, width, -1])))

    def part(self, flat: str, start: int, end: int) -> str:
        return str(self.op("Slice", flat, self.whole([start]), self.whole([end]), self.whole([1])))

    def output(self, value: str, name: str, shape: list[int | str]) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name], name=f"as_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def model(self, name: str) -> Any:
        graph = helper.make_graph(self._nodes, name, [self._input], self._outputs, self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
