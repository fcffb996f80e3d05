"""The ONNX graph that a TensorFlow Lite file becomes, while it grows.

TensorFlow Lite lays images out as (batch, row, column, channel), ONNX as (batch, channel, row, column). Every four-dimensional value
is converted to ONNX's layout on the way in and back to the file's on the way out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from onnx import TensorProto, helper, numpy_helper

from realtime.errors import ModelError
from realtime.models.convert.tflite_file import TfliteFile
from realtime.types import Array

_OPSET = 13
_IR = 8
TO_ONNX = (0, 3, 1, 2)
"""Where each axis of ONNX's layout lies in the file's."""
FROM_ONNX = (0, 2, 3, 1)
_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: "",
    tflite.ActivationFunctionType.RELU: "Relu",
    tflite.ActivationFunctionType.RELU6: "Relu6",
}


class Graph:
    """Nodes and constants of the ONNX graph. Tensors go by their numbers in the file."""

    def __init__(self, file: TfliteFile) -> None:
        self.file = file
        self.nodes: list[Any] = []
        self._initializers: list[Any] = []
        self._computed: dict[int, Array] = {}
        """Constants made from other constants, by tensor number."""
        self._names = {tensor: file.name(tensor) for tensor in file.inputs}

    def name(self, tensor: int) -> str:
        """The ONNX name of a value computed at run time."""
        return self._names.get(tensor, f"value_{tensor}")

    def constant(self, tensor: int) -> Array | None:
        """Its values in the file's layout; None when it is computed at run time."""
        return self._computed[tensor] if tensor in self._computed else self.file.constant(tensor)

    def weights(self, tensor: int) -> Array:
        """A constant as float32 in the file's layout."""
        values = self.constant(tensor)
        if values is None:
            raise ModelError(f"tensor {self.file.name(tensor)} should be a constant but is computed at run time")
        return values.astype(np.float32)

    def remember(self, tensor: int, values: Array) -> None:
        """Note a constant that was made from others, now and not at run time."""
        self._computed[tensor] = values

    def store(self, values: Array) -> str:
        """Keep a constant in the ONNX file; returns its name."""
        name = f"constant_{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: object) -> None:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{len(self.nodes)}", **attributes))

    def add_activated(self, kind: str, inputs: list[str], output: str, activation: int, **attributes: object) -> None:
        """Like `add`, followed by the activation that TensorFlow Lite fuses into the operator."""
        if activation not in _ACTIVATIONS:
            raise ModelError(f"the fused activation number {activation} is not among those that can be converted")
        then = _ACTIVATIONS[activation]
        plain = f"{output}_plain" if then else output
        self.add(kind, inputs, plain, **attributes)
        if then == "Relu":
            self.add("Relu", [plain], output)
        elif then:
            self.add("Clip", [plain, self.store(np.float32(0)), self.store(np.float32(6))], output)  # type: ignore[arg-type]

    def operand(self, tensor: int) -> str:
        """The name of a value or of a constant, the latter laid out to broadcast against ONNX's layout."""
        values = self.constant(tensor)
        if values is None:
            return self.name(tensor)
        values = values.astype(np.float32)
        if values.ndim == 1:
            values = values.reshape(-1, 1, 1)
        elif values.ndim >= 3:
            values = np.moveaxis(values, -1, -3)
        return self.store(values)

    def finish(self) -> Any:
        """The onnx.ModelProto; outputs are in the file's layout."""
        inputs = [_value(self.name(tensor), onnx_shape(self.file.shape(tensor))) for tensor in self.file.inputs]
        outputs = []
        for tensor in self.file.outputs:
            shape, name = self.file.shape(tensor), self.file.name(tensor)
            if len(shape) == 4:
                self.add("Transpose", [self.name(tensor)], name, perm=FROM_ONNX)
            else:
                self.add("Identity", [self.name(tensor)], name)
            outputs.append(_value(name, shape))
        graph = helper.make_graph(self.nodes, "network", inputs, outputs, self._initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)


def _value(name: str, shape: list[int]) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def onnx_shape(shape: list[int]) -> list[int]:
    """A tensor's shape in ONNX's layout."""
    return [shape[axis] for axis in TO_ONNX] if len(shape) == 4 else shape
