"""Reading a TensorFlow Lite file: operators, tensors, constants (dense or sparse)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

from realtime.errors import ModelError
from realtime.types import Array

_DTYPES = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64,
}
_INDEX_VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
"""By the schema's SparseIndexVector union."""


@dataclass(frozen=True)
class Operator:
    kind: str
    """The built-in operator's name in the schema, or a custom operator's own name."""
    inputs: tuple[int, ...]
    """Tensor numbers; -1 stands for an input left out."""
    outputs: tuple[int, ...]
    table: Any

    def options(self, kind: type[Any]) -> Any:
        """The operator's settings read as the schema's table `kind`, such as tflite.Conv2DOptions."""
        raw, options = self.table.BuiltinOptions(), kind()
        options.Init(raw.Bytes, raw.Pos)
        return options


class TfliteFile:
    """The only subgraph of a model file."""

    def __init__(self, data: bytes) -> None:
        if not tflite.Model.ModelBufferHasIdentifier(data, 0):
            raise ModelError("this is not a TensorFlow Lite file: it lacks the mark TFL3")
        self._model = tflite.Model.GetRootAsModel(data, 0)
        self._graph = self._model.Subgraphs(0)

    @property
    def inputs(self) -> list[int]:
        return [int(index) for index in self._graph.InputsAsNumpy()]

    @property
    def outputs(self) -> list[int]:
        return [int(index) for index in self._graph.OutputsAsNumpy()]

    def operators(self) -> Iterator[Operator]:
        names = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
        for index in range(self._graph.OperatorsLength()):
            table = self._graph.Operators(index)
            code = self._model.OperatorCodes(table.OpcodeIndex())
            custom = code.CustomCode()
            # Codes up to 127 lie in a byte field that old readers knew; later ones in a wider field. The larger is the true one.
            kind = custom.decode() if custom else names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            yield Operator(kind, _numbers(table.InputsAsNumpy()), _numbers(table.OutputsAsNumpy()), table)

    def name(self, tensor: int) -> str:
        name: str = self._graph.Tensors(tensor).Name().decode()
        return name

    def shape(self, tensor: int) -> list[int]:
        table = self._graph.Tensors(tensor)
        return [int(side) for side in table.ShapeAsNumpy()] if table.ShapeLength() else []

    def constant(self, tensor: int) -> Array | None:
        """The tensor's stored values in its shape, or None when it is computed at run time."""
        table = self._graph.Tensors(tensor)
        buffer = self._model.Buffers(table.Buffer())
        if buffer.DataLength() == 0:
            return None
        values = np.frombuffer(buffer.DataAsNumpy().tobytes(), _DTYPES[table.Type()])
        sparsity = table.Sparsity()
        return values.reshape(self.shape(tensor)) if sparsity is None else densify(values, self.shape(tensor), _levels(sparsity))


@dataclass(frozen=True)
class Level:
    """One level of a sparse tensor's traversal, from the outermost."""

    dim: int
    """Which dimension of the dense tensor it walks along."""
    stride: int
    """How far one step goes along it: the block size for the outer levels of a blocked dimension, else 1."""
    size: int = 0
    """Of a dense level."""
    segments: Array | None = None
    indices: Array | None = None
    """Of a sparse (compressed) level: the children of entry p are indices[segments[p]:segments[p + 1]]."""


def densify(values: Array, shape: list[int], levels: list[Level]) -> Array:
    """The dense tensor of `shape`, as the sparsity encoding of TensorFlow Lite (after Chou et al., "Format abstraction for sparse
    tensor algebra compilers", 2018) defines it. Absent values are zero."""
    entries = np.zeros(1, np.int64)
    where = np.zeros((1, len(shape)), np.int64)
    for level in levels:
        parents, steps, entries = _expand(level, entries)
        where = where[parents]
        where[:, level.dim] += steps * level.stride
    dense = np.zeros(shape, values.dtype)
    dense[tuple(where.T)] = values[entries]
    return dense


def _expand(level: Level, entries: Array) -> tuple[Array, Array, Array]:
    """One level down: for each child, its parent's position among `entries`, its index along the level, and its own entry number."""
    if level.segments is None or level.indices is None:
        steps = np.tile(np.arange(level.size), len(entries))
        return np.repeat(np.arange(len(entries)), level.size), steps, np.repeat(entries, level.size) * level.size + steps
    starts, ends = level.segments[entries], level.segments[entries + 1]
    children = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)]).astype(np.int64)
    return np.repeat(np.arange(len(entries)), ends - starts), level.indices[children], children


def _levels(sparsity: Any) -> list[Level]:
    order = _numbers(sparsity.TraversalOrderAsNumpy())
    blocked = _numbers(sparsity.BlockMapAsNumpy()) if sparsity.BlockMapLength() else ()
    rank = len(order) - len(blocked)
    tables = [sparsity.DimMetadata(index) for index in range(sparsity.DimMetadataLength())]
    sides = {dim: tables[rank + index].DenseSize() for index, dim in enumerate(blocked)}
    return [_level(table, dim, blocked, sides, rank) for table, dim in zip(tables, order, strict=True)]


def _level(table: Any, dim: int, blocked: tuple[int, ...], sides: dict[int, int], rank: int) -> Level:
    """Traversal numbers from `rank` on are positions inside the blocks."""
    target, stride = (dim, sides.get(dim, 1)) if dim < rank else (blocked[dim - rank], 1)
    if table.Format() == tflite.DimensionType.DENSE:
        return Level(target, stride, size=table.DenseSize())
    segments = _vector(table.ArraySegmentsType(), table.ArraySegments())
    return Level(target, stride, segments=segments, indices=_vector(table.ArrayIndicesType(), table.ArrayIndices()))


def _vector(kind: int, raw: Any) -> Array:
    vector = _INDEX_VECTORS[kind]()
    vector.Init(raw.Bytes, raw.Pos)
    return np.asarray(vector.ValuesAsNumpy(), np.int64)


def _numbers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
