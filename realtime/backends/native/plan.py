"""From an ONNX file to the steps, weights and places that the kernels need; or a sentence that says why it cannot be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from realtime.backends.base import UnavailableError
from realtime.backends.native.kernels import BLOCK, DENSE, FIELDS, HALVING, POINTWISE, STEM, WIDE
from realtime.compiled.emit import LANES, TILE
from realtime.types import Array, Floats

_SAME, _AFTER = [1, 1, 1, 1], [0, 0, 1, 1]
"""Padding (top, left, bottom, right) of a 3 x 3 window with stride 1, and with stride 2 on an even size."""


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    shape: tuple[int, ...]
    at: int
    """Offset in the arena; the values lie there in order."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A network made ready for `kernels.execute`."""

    steps: Array
    """(n, FIELDS) int64."""
    weights: Floats
    table: Array
    """(m,) int64."""
    arena: int
    """Floats that it takes."""
    input: str
    shape: tuple[int, int, int]
    """Planes, height, width of the input."""
    at: int
    """Offset of the input; its rows are `pitch` floats long, its planes have one row more than they show: zeros at the end of both."""
    pitch: int
    outputs: tuple[Output, ...]


def read(path: Path) -> Plan:
    """Plan the network in an ONNX file. Raises UnavailableError when it is none, or has a layer that there is no kernel for."""
    import onnx  # a quarter of a second: plans are kept, so this is for the first start

    try:
        model = onnx.load(str(path), load_external_data=False)
        return _Planner(model.graph, onnx.numpy_helper.to_array).plan()
    except UnavailableError:
        raise
    except Exception as error:  # whatever a damaged file makes of the parser, or of us
        raise UnavailableError(f"{path.name} is no network for the native backend ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True)
class _Picture:
    """Where a tensor lies, (height + 2, width + 2, channels) with its border."""

    at: int
    height: int
    width: int
    channels: int

    @property
    def size(self) -> int:
        return (self.height + 2) * (self.width + 2) * self.channels


@dataclass(slots=True)
class _Arena:
    """Hands out places. One given back is used again for a picture of the same shape only, so that borders stay zero."""

    end: int = WIDE  # offset 0: zeros, to be added where there is no residual
    free: list[_Picture] = field(default_factory=list)

    def take(self, size: int) -> int:
        at, self.end = self.end, self.end + -(-size // TILE) * TILE
        return at

    def picture(self, height: int, width: int, channels: int) -> _Picture:
        for n, each in enumerate(self.free):
            if (each.height, each.width, each.channels) == (height, width, channels):
                return self.free.pop(n)
        blank = _Picture(0, height, width, channels)
        return _Picture(self.take(blank.size), height, width, channels)


class _Planner:
    """Goes from activation to activation; what lies between two is one step."""

    def __init__(self, graph: Any, to_array: Any) -> None:
        self._graph = graph
        self._constants = {each.name: np.asarray(to_array(each)) for each in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output}
        self._uses = Counter(name for node in graph.node for name in node.input)
        self._pictures: dict[str, _Picture] = {}
        self._arena = _Arena()
        self._steps: list[list[int]] = []
        self._weights: list[Floats] = []
        self._length = 0
        self._table: list[int] = []
        self._scratch = 0

    def plan(self) -> Plan:
        given = next(each for each in self._graph.input if each.name not in self._constants)
        batch, planes, height, width = (side.dim_value for side in given.type.tensor_type.shape.dim)
        fits = batch == 1 and planes > 0 and height > 0 and height % 2 == 0 and width > 0 and width % 12 == 0
        _demand(fits, f"its input is {batch}x{planes}x{height}x{width}")
        self._input, self._shape, self._pitch = given.name, (planes, height, width), width + LANES
        self._at = self._arena.take(planes * (height + 1) * self._pitch)
        for node in self._graph.node:
            if node.op_type == "PRelu":
                self._activation(node)
        outputs = tuple(self._dense(each) for each in self._graph.output)
        scratch = self._arena.take(self._scratch)
        for step in self._steps:
            step[-1] = scratch if step[0] in (BLOCK, HALVING, DENSE) else step[-1]
        steps, table = np.array(self._steps, np.int64).reshape(-1, FIELDS), np.array([*self._table, 0], np.int64)
        weights = np.concatenate(self._weights)
        return Plan(steps, weights, table, self._arena.end, self._input, self._shape, self._at, self._pitch, outputs)

    # -- one step each ---------------------------------------------------------------------------------------

    def _activation(self, node: Any) -> None:
        before, slopes = self._maker(node.input[0]), self._constant(node.input[1]).reshape(-1).astype(np.float32)
        _demand(_op(before) in ("Conv", "Add"), f"{node.name or node.op_type} follows neither Conv nor Add")
        if before.op_type == "Add":
            self._residual(node, before, slopes)
        elif before.input[0] == self._input:
            self._stem(node, before, slopes)
        else:
            self._pointwise(node, before, slopes)

    def _stem(self, node: Any, conv: Any, slopes: Floats) -> None:
        planes = self._shape[0]
        weights, biases = self._filters(conv, planes, kernel=3, stride=2, pads=_AFTER)
        channels = len(weights)
        offsets = [(p * (self._shape[1] + 1) + y) * self._pitch + x for p in range(planes) for y in range(3) for x in range(3)]
        result = self._arena.picture(self._shape[1] // 2, self._shape[2] // 2, channels)
        extra = len(self._table)
        self._table += [len(offsets), self._pitch, *offsets]
        at = self._pack(_tiles(weights.reshape(channels, -1), biases, slopes, TILE))
        self._add(node, STEM, self._at, result, planes, at, extra)

    def _pointwise(self, node: Any, conv: Any, slopes: Floats) -> None:
        source = self._picture(conv.input[0])
        weights, biases = self._filters(conv, source.channels, kernel=1)
        at = self._pack(_tiles(weights.reshape(len(weights), -1), biases, slopes, TILE))
        self._add(node, POINTWISE, source.at, self._arena.picture(source.height, source.width, len(weights)), source.channels, at)
        self._release(conv.input[0])

    def _residual(self, node: Any, add: Any, slopes: Floats) -> None:
        """Depthwise and pointwise convolution, with the block's input added."""
        (conv, other) = self._branches(add)
        deep = self._maker(conv.input[0])
        _demand(_op(deep) == "Conv", f"{conv.name} follows no depthwise convolution")
        source = self._picture(deep.input[0])
        halving = list(_attribute(deep, "strides", [1, 1])) == [2, 2]
        pads, stride = (_AFTER, 2) if halving else (_SAME, 1)
        taps, offsets = self._filters(deep, source.channels, kernel=3, stride=stride, pads=pads, group=source.channels)
        weights, biases = self._filters(conv, source.channels, kernel=1)
        _demand(len(taps) == source.channels, f"{deep.name} makes {len(taps)} channels of {source.channels}")
        _demand(not (halving and (source.height % 2 or source.width % 2)), f"{deep.name} halves {source.height} x {source.width}")
        self._check_residual(other, deep.input[0], source.channels, len(weights), halving)
        at = self._pack(_depthwise(taps, offsets), _tiles(weights.reshape(len(weights), -1), biases, slopes, TILE))
        height, width = (source.height // 2, source.width // 2) if halving else (source.height, source.width)
        self._scratch = max(self._scratch, 2 * width * source.channels)
        result = self._arena.picture(height, width, len(weights))
        self._add(node, HALVING if halving else BLOCK, source.at, result, source.channels, at)
        self._release(deep.input[0], times=2)

    def _dense(self, output: Any) -> Output:
        """A convolution over the whole of a picture, then perhaps a Transpose, which changes nothing in a vector."""
        conv = self._makers[output.name]
        if conv.op_type == "Transpose":
            conv = self._makers[conv.input[0]]
        source = self._picture(conv.input[0])
        weights, biases = self._filters(conv, source.channels, kernel=source.height)
        _demand(source.height == source.width, f"{conv.name} does not cover its input")
        flat = weights.transpose(0, 2, 3, 1).reshape(len(weights), -1)
        tile = WIDE if len(weights) >= WIDE else TILE
        count = -(-len(weights) // tile) * tile
        result = self._arena.take(count)
        at = self._pack(_tiles(flat, biases, np.ones(len(weights), np.float32), tile))
        self._scratch = max(self._scratch, flat.shape[1])
        self._steps.append([DENSE, source.at, result, source.height, source.width, source.channels, count, at, 0])
        shape = tuple(side.dim_value for side in output.type.tensor_type.shape.dim)
        _demand(np.prod(shape) == len(weights), f"{output.name} has the shape {shape}")
        return Output(output.name, shape, result)

    # -- their parts -----------------------------------------------------------------------------------------

    def _branches(self, add: Any) -> tuple[Any, str]:
        """The convolution that ends a block, and the name of what is added to it."""
        for own, other in (tuple(add.input), tuple(add.input)[::-1]):
            conv = self._maker(own)
            if _op(conv) == "Conv" and other not in self._constants:
                return conv, other
        raise UnavailableError(f"{add.name or add.output[0]} adds no block to its input")

    def _check_residual(self, other: str, source: str, channels: int, wanted: int, halving: bool) -> None:
        maker = self._maker(other)
        if _op(maker) == "Pad":
            pads = self._constant(maker.input[1]).reshape(-1).tolist()
            zeros = len(maker.input) < 3 or not maker.input[2] or not self._constant(maker.input[2]).any()
            zeros = zeros and all(each.s == b"constant" for each in maker.attribute if each.name == "mode")
            _demand(zeros and pads == [0, 0, 0, 0, 0, wanted - channels, 0, 0], f"{other} is padded by {pads}")
            other = maker.input[0]
            maker = self._maker(other)
        elif channels != wanted:
            raise UnavailableError(f"{other} has {channels} channels, not {wanted}")
        if halving:
            _demand(_op(maker) == "MaxPool", f"{other} is no pooling")
            window = [_attribute(maker, name, []) for name in ("kernel_shape", "strides")]
            _demand(window == [[2, 2]] * 2 and not any(_attribute(maker, "pads", [0])), f"{other} pools otherwise than 2 x 2")
            other = maker.input[0]
        _demand(other == source, f"{other} is not the block's input")

    def _filters(
        self, conv: Any, channels: int, kernel: int, stride: int = 0, pads: list[int] | None = None, group: int = 1
    ) -> tuple[Floats, Floats]:
        """Weights (out, in, kernel, kernel) and biases of a convolution that is as demanded; a `stride` of 0 is any."""
        _demand(conv.op_type == "Conv" and len(conv.input) == 3, f"{conv.name or conv.op_type} is no convolution with a bias")
        weights, biases = self._constant(conv.input[1]), self._constant(conv.input[2])
        strides = _attribute(conv, "strides", [1, 1])
        fits = weights.shape[2:] == (kernel, kernel) and (stride == 0 or strides == [stride, stride])
        fits = fits and _attribute(conv, "group", 1) == group and _attribute(conv, "dilations", [1, 1]) == [1, 1]
        fits = fits and _attribute(conv, "pads", [0] * 4) == (pads or [0] * 4)
        if stride == 0 and kernel == 1:
            fits = fits and strides == [1, 1]
        fits = fits and weights.shape[1] * group == channels and biases.shape == (len(weights),)
        fits = fits and weights.dtype == biases.dtype == np.float32
        _demand(fits, f"{conv.name or 'a convolution'} is {weights.shape}, stride {strides}")
        return weights, biases

    def _maker(self, name: str) -> Any:
        """The node that makes a tensor, or None."""
        return self._makers.get(name)

    def _constant(self, name: str) -> Array:
        _demand(name in self._constants, f"{name} is not constant")
        return self._constants[name]

    def _picture(self, name: str) -> _Picture:
        _demand(name in self._pictures, f"{name} is made by a layer of another kind")
        return self._pictures[name]

    def _pack(self, *parts: Floats) -> int:
        at = self._length
        self._weights += parts
        self._length += sum(map(len, parts))
        return at

    def _add(self, node: Any, kind: int, source: int, result: _Picture, channels: int, at: int, extra: int = 0) -> None:
        _demand(channels % TILE == 0 or kind == STEM, f"{node.output[0]} has {channels} channels in")
        _demand(result.channels % TILE == 0, f"{node.output[0]} has {result.channels} channels")
        self._pictures[node.output[0]] = result
        self._steps.append([kind, source, result.at, result.height, result.width, channels, result.channels, at, extra])

    def _release(self, name: str, times: int = 1) -> None:
        self._uses[name] -= times
        if self._uses[name] == 0:
            self._arena.free.append(self._pictures[name])


def _op(node: Any) -> str:
    return "" if node is None else str(node.op_type)


def _demand(met: bool, otherwise: str) -> None:
    if not met:
        raise UnavailableError(f"the native backend has no kernel for this network: {otherwise}")


def _attribute(node: Any, name: str, default: Any) -> Any:
    for each in node.attribute:
        if each.name == name:
            return list(each.ints) if each.type == 7 else each.i
    return default


def _tiles(weights: Floats, biases: Floats, slopes: Floats, tile: int) -> Floats:
    """(out, depth) as the kernels read it: for every `tile` outputs their biases, their slopes, then a row of weights a depth."""
    count = -(-len(weights) // tile) * tile
    rows = np.zeros((2 + weights.shape[1], count), np.float32)
    rows[0, : len(weights)], rows[1, : len(weights)], rows[2:, : len(weights)] = biases, slopes, weights.T
    return np.ascontiguousarray(rows.reshape(len(rows), -1, tile).transpose(1, 0, 2)).reshape(-1)


def _depthwise(taps: Floats, biases: Floats) -> Floats:
    """(channels, 1, 3, 3) as the kernels read it: for every eight channels their biases, then nine rows of taps."""
    rows = np.concatenate([biases[None], taps.reshape(len(taps), 9).T])
    return np.ascontiguousarray(rows.reshape(10, -1, LANES).transpose(1, 0, 2)).reshape(-1)
