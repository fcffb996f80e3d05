"""What an ONNX file takes and gives, and single weights of it, without reading the other half gigabyte."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from realtime.errors import ModelError
from realtime.types import Array

# Field numbers of onnx.proto, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
_GRAPH: Final = 7
_INITIALIZER, _INPUT, _OUTPUT = 5, 11, 12
_DIMS, _TYPE, _NAME = 1, 2, 8
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class Peek:
    """The header of an ONNX file. Raises ModelError when the file cannot be read or is no ONNX model."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                self._read(data)
        except OSError as error:
            raise ModelError(f"{path} cannot be read ({error.strerror or error}): check its name and that you may read it") from error
        except Exception as error:  # bytes that are no protobuf surface as any error
            raise ModelError(f"{path.name} is no ONNX file, or a truncated one: get it anew") from error

    def _read(self, data: mmap.mmap) -> None:
        import onnx

        header = bytearray()
        self.weights: dict[str, tuple[int, int]] = {}
        """Where each weight lies in the file, in its order."""
        for number, first, last in _graph_fields(data):
            if number in (_INPUT, _OUTPUT):
                header += _field(number, data[first:last])
            elif number == _INITIALIZER:
                tensor = _without_data(data, first, last)
                header += _field(_INITIALIZER, tensor)
                self.weights[onnx.TensorProto.FromString(tensor).name] = (first, last)
        self.network: Any = onnx.ModelProto(graph=onnx.GraphProto.FromString(bytes(header)))
        """An onnx.ModelProto with inputs, outputs and weights that have no numbers."""
        if not self.network.graph.output:
            raise ValueError("no outputs")

    def weight(self, name: str) -> Array:
        """One weight's numbers. Raises KeyError when there is none of that name, ModelError when it cannot be read."""
        import onnx

        first, last = self.weights[name]
        try:
            with self._path.open("rb") as file:
                file.seek(first)
                tensor = onnx.TensorProto.FromString(file.read(last - first))
            values: Array = onnx.numpy_helper.to_array(tensor, str(self._path.parent))
        except Exception as error:  # its data may be damaged, or lie in another file, which may be absent
            raise ModelError(f"{self._path.name} cannot be read with its weights: get the file anew") from error
        return values


def _graph_fields(data: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """The fields of the graph, as `_fields` gives them."""
    for number, start, end in _fields(data, 0, len(data)):
        if number == _GRAPH:
            yield from _fields(data, start, end)


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, first and last byte of each length-delimited field between two places; the others are skipped."""
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _LENGTH:
            length, at = _varint(data, at)
            if at + length > end:
                raise ValueError("a field ends beyond the file")
            yield key >> 3, at, at + length
            at += length
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("no protobuf")


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _field(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | _LENGTH) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _without_data(data: mmap.mmap, at: int, end: int) -> bytes:
    """A tensor's name, shape and type only."""
    kept = bytearray()
    while at < end:
        begin = at
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _LENGTH:
            length, at = _varint(data, at)
            at += length
        else:
            at += 8 if kind == _FIXED64 else 4
        if number in (_DIMS, _TYPE, _NAME):
            kept += data[begin:at]
    return bytes(kept)
