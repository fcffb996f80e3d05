"""A thin layer over onnx.helper in which a graph reads like the arithmetic it stands for.

Written on `onnx` alone, which is needed anyway to convert models. onnxscript writes graphs as legibly, but is one dependency more with an
intermediate representation of its own, made for translating Python functions; ours are put together from parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx import helper, numpy_helper

from realtime.types import Array

OPSET = 20
"""The oldest that every runtime of ours takes and in which every operator used here has its present form."""
IR_VERSION = 10
"""The file format of opset 21; ONNX Runtime refuses one newer than itself, so it is stated rather than left to the installed onnx."""
FLOAT32_PREFIXES = ("f32/",)
"""How the names of nodes begin that must stay float32 at every precision: all that we author, where coordinates are computed.

A half float has steps of one pixel from 1024 on. Networks spliced in bear other names and may be converted.
"""

Shape = Sequence[int | str]
"""Dimensions; a string names one that is dynamic."""


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor in a graph under construction. Arithmetic on it adds nodes; the other operand may be a number or an array."""

    graph: Graph
    name: str
    __array_ufunc__: ClassVar[None] = None
    """Makes numpy leave `array - value` to us."""

    def __add__(self, other: Operand) -> Value:
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.graph.op("Div", other, self)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __ge__(self, other: Operand) -> Value:
        return self.graph.op("GreaterOrEqual", self, other)

    def __le__(self, other: Operand) -> Value:
        return self.graph.op("LessOrEqual", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.graph.op("Greater", self, other)

    def __and__(self, other: Value) -> Value:
        return self.graph.op("And", self, other)

    def abs(self) -> Value:
        return self.graph.op("Abs", self)

    def sqrt(self) -> Value:
        return self.graph.op("Sqrt", self)

    def at_least(self, low: Operand) -> Value:
        """The greater of the two, element by element."""
        return self.graph.op("Max", self, low)

    def at_most(self, high: Operand) -> Value:
        """The smaller of the two, element by element."""
        return self.graph.op("Min", self, high)

    def clip(self, low: Operand, high: Operand) -> Value:
        return self.at_least(low).at_most(high)

    def where(self, yes: Operand, no: Operand) -> Value:
        """This one is boolean: `yes` where it holds, else `no`."""
        return self.graph.op("Where", self, yes, no)

    def cast(self, dtype: type[np.generic]) -> Value:
        return self.graph.op("Cast", self, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def reshape(self, *shape: int) -> Value:
        return self.graph.op("Reshape", self, list(shape))

    def transpose(self, *order: int) -> Value:
        return self.graph.op("Transpose", self, perm=list(order))

    def take(self, index: int | Array | Value, axis: int) -> Value:
        """numpy.take: a single index drops the axis, an array of indexes puts its own axes in place of it."""
        return self.graph.op("Gather", self, index, axis=axis)

    def part(self, start: int, stop: int, axis: int) -> Value:
        """The elements from `start` up to `stop` along one axis."""
        return self.graph.op("Slice", self, [start], [stop], [axis])

    def sum(self, *axes: int, keep: bool = False) -> Value:
        return self._reduce("ReduceSum", axes, keep)

    def mean(self, *axes: int, keep: bool = False) -> Value:
        return self._reduce("ReduceMean", axes, keep)

    def max(self, *axes: int, keep: bool = False) -> Value:
        return self._reduce("ReduceMax", axes, keep)

    def min(self, *axes: int, keep: bool = False) -> Value:
        return self._reduce("ReduceMin", axes, keep)

    def _reduce(self, kind: str, axes: Sequence[int], keep: bool) -> Value:
        return self.graph.op(kind, self, list(axes), keepdims=int(keep))


Operand = Value | Array | np.generic | float | int | list[int]
"""What an operator takes: numbers with a point become float32, whole ones int64; arrays keep their type."""


class Graph:
    """Collects nodes and constants; `model` makes the finished ModelProto."""

    def __init__(self, opset: int = OPSET) -> None:
        self.opset = max(opset, OPSET)
        self._scope = FLOAT32_PREFIXES[0]
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self._networks: list[Any] = []
        self._renamed: dict[str, str] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Nodes made within bear this in their names, for whoever looks at the graph or at a profile."""
        outer, self._scope = self._scope, f"{self._scope}{name}/"
        yield
        self._scope = outer

    def input(self, name: str, dtype: type[np.generic], shape: Shape) -> Value:
        self._inputs.append(_info(name, dtype, shape))
        return Value(self, name)

    def output(self, name: str, value: Value, dtype: type[np.generic], shape: Shape) -> None:
        """Let a computed value be an output. It takes the name itself: TensorRT allows bytes only right out of a cast, no Identity."""
        if value.name in self._renamed:
            raise ValueError(f"{value.name} is the output {self._renamed[value.name]} already")
        self._renamed[value.name] = name
        self._outputs.append(_info(name, dtype, shape))

    def op(self, kind: str, *operands: Operand, **attributes: Any) -> Value:
        """A node of the standard domain with one output."""
        return self.ops(kind, 1, *operands, **attributes)[0]

    def ops(self, kind: str, outputs: int, *operands: Operand, **attributes: Any) -> list[Value]:
        """A node with several outputs."""
        name = f"{self._scope}{kind}_{len(self._nodes)}"
        results = [f"{name}:{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(kind, [self._name(operand) for operand in operands], results, name=name, **attributes))
        return [Value(self, result) for result in results]

    def constant(self, array: Array) -> Value:
        return Value(self, self._constant(array))

    def concat(self, *values: Operand, axis: int) -> Value:
        return self.op("Concat", *values, axis=axis)

    def splice(self, network: Any, feeds: dict[str, Value]) -> dict[str, Value]:
        """Put a whole model into the graph, its inputs connected to `feeds`: its outputs by name.

        The model must be prepared by `networks.prepare` with a prefix that no other one in this graph has; it becomes part of this graph.
        """
        for name, value in feeds.items():
            self._nodes.append(helper.make_node("Identity", [value.name], [name], name=f"{self._scope}{name}"))
        self._nodes.extend(network.graph.node)
        self._networks.append(network)
        return {output.name: Value(self, output.name) for output in network.graph.output}

    def model(self, name: str) -> Any:
        """The finished onnx.ModelProto, checked. Raises onnx.checker.ValidationError for a graph that makes no sense."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [self._renamed.get(value, value) for value in names]
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, list(self._constants.values()))
        domains = {"": self.opset}
        for network in self._networks:
            graph.initializer.extend(network.graph.initializer)
            domains |= {entry.domain: entry.version for entry in network.opset_import if entry.domain not in ("", "ai.onnx")}
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="realtime-faceswap")
        onnx.checker.check_model(model)
        return model

    def _name(self, operand: Operand) -> str:
        return operand.name if isinstance(operand, Value) else self._constant(operand)

    def _constant(self, operand: Array | np.generic | float | int | list[int]) -> str:
        """One initializer for all equal constants."""
        array = np.asarray(operand)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"{FLOAT32_PREFIXES[0]}constant_{len(self._constants)}"
            self._constants[key] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        return str(self._constants[key].name)


def sized(model: Any, **dimensions: int) -> Any:
    """A copy of a model with its named dynamic dimensions fixed, as in `sized(follow, height=720, width=1280)`.

    For runtimes, or uses of them, that want fixed shapes. Names that the model does not have are ignored.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in (*copy.graph.input, *copy.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in dimensions:
                dim.dim_value = dimensions[dim.dim_param]
    return copy


def _info(name: str, dtype: type[np.generic], shape: Shape) -> Any:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape))
