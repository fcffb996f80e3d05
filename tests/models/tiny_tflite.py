"""Write TensorFlow Lite files of one operator, for the converter's tests, with the schema package's own builders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

_TYPES = {"float32": tflite.TensorType.FLOAT32, "float16": tflite.TensorType.FLOAT16, "int32": tflite.TensorType.INT32}
Options = Callable[[flatbuffers.Builder], int]


@dataclass
class Tiny:
    """One operator. `inputs` are shapes (computed) or arrays (constants), in the operator's order."""

    kind: int | str
    inputs: Sequence[tuple[int, ...] | np.ndarray]
    output: tuple[int, ...]
    options_type: int = tflite.BuiltinOptions.NONE
    options: Options | None = None
    custom_options: bytes = b""
    _buffers: list[bytes] = field(default_factory=lambda: [b""])

    def data(self) -> bytes:
        b = flatbuffers.Builder(1024)
        tensors = [self._tensor(b, f"in{i}", value) for i, value in enumerate(self.inputs)] + [self._tensor(b, "out", self.output)]
        operator = self._operator(b)
        graph = self._graph(b, _table_vector(b, tensors), _table_vector(b, [operator]))
        code, buffers = self._code(b), _table_vector(b, [_buffer(b, data) for data in self._buffers])
        codes, graphs = _table_vector(b, [code]), _table_vector(b, [graph])
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, 3)
        tflite.ModelAddOperatorCodes(b, codes)
        tflite.ModelAddSubgraphs(b, graphs)
        tflite.ModelAddBuffers(b, buffers)
        b.Finish(tflite.ModelEnd(b), b"TFL3")
        return bytes(b.Output())

    def _tensor(self, b: flatbuffers.Builder, name: str, value: tuple[int, ...] | np.ndarray) -> int:
        constant = isinstance(value, np.ndarray)
        shape = _ints(b, value.shape if constant else value)
        text, buffer = b.CreateString(name), 0
        if constant:
            buffer = len(self._buffers)
            self._buffers.append(value.tobytes())
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, _TYPES[str(value.dtype)] if constant else tflite.TensorType.FLOAT32)
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddName(b, text)
        return int(tflite.TensorEnd(b))

    def _operator(self, b: flatbuffers.Builder) -> int:
        inputs, outputs = _ints(b, range(len(self.inputs))), _ints(b, [len(self.inputs)])
        options = self.options(b) if self.options else None
        custom = b.CreateByteVector(self.custom_options) if self.custom_options else None
        tflite.OperatorStart(b)
        tflite.OperatorAddInputs(b, inputs)
        tflite.OperatorAddOutputs(b, outputs)
        if options is not None:
            tflite.OperatorAddBuiltinOptionsType(b, self.options_type)
            tflite.OperatorAddBuiltinOptions(b, options)
        if custom is not None:
            tflite.OperatorAddCustomOptions(b, custom)
        return int(tflite.OperatorEnd(b))

    def _graph(self, b: flatbuffers.Builder, tensors: int, operators: int) -> int:
        computed = [i for i, value in enumerate(self.inputs) if not isinstance(value, np.ndarray)]
        inputs, outputs = _ints(b, computed), _ints(b, [len(self.inputs)])
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, tensors)
        tflite.SubGraphAddInputs(b, inputs)
        tflite.SubGraphAddOutputs(b, outputs)
        tflite.SubGraphAddOperators(b, operators)
        return int(tflite.SubGraphEnd(b))

    def _code(self, b: flatbuffers.Builder) -> int:
        custom = b.CreateString(self.kind) if isinstance(self.kind, str) else None
        number = tflite.BuiltinOperator.CUSTOM if isinstance(self.kind, str) else self.kind
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
        tflite.OperatorCodeAddBuiltinCode(b, number)
        if custom is not None:
            tflite.OperatorCodeAddCustomCode(b, custom)
        return int(tflite.OperatorCodeEnd(b))


def _ints(b: flatbuffers.Builder, values: Sequence[int] | range | tuple[int, ...]) -> int:
    return int(b.CreateNumpyVector(np.array(list(values), np.int32)))


def _table_vector(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _buffer(b: flatbuffers.Builder, data: bytes) -> int:
    content = b.CreateByteVector(data) if data else None
    tflite.BufferStart(b)
    if content is not None:
        tflite.BufferAddData(b, content)
    return int(tflite.BufferEnd(b))


def built(name: str, **values: object) -> Options:
    """Options of table `name` with these fields: built("Conv2DOptions", StrideW=2)."""

    def build(b: flatbuffers.Builder) -> int:
        getattr(tflite, f"{name}Start")(b)
        for key, value in values.items():
            getattr(tflite, f"{name}Add{key}")(b, value)
        return int(getattr(tflite, f"{name}End")(b))

    return build
