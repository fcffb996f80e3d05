"""Stand-ins for the field's enhancers: the same names, shapes, ranges and quirks, and a known function of the picture inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

_ORDER = (2, 0, 1)
_GAIN = 0.5
_OFFSET = 0.25


def face_twin(size: int = 512, weight: str = "", element: int = TensorProto.FLOAT) -> Any:
    """Planes (1, 3, s, s) of RGB -1..1 in and out: see `restored`. With `weight` a float64 number of that name multiplies."""
    dtype = helper.tensor_dtype_to_np_dtype(element)
    weights = {"order": np.array(_ORDER), "gain": np.array(_GAIN, dtype), "offset": np.array(_OFFSET, dtype)}
    nodes = [
        helper.make_node("Gather", ["input", "order"], ["a"], axis=1),
        helper.make_node("Mul", ["a", "gain"], ["b"]),
        helper.make_node("Add", ["b", "offset"], ["output"]),
    ]
    inputs = [helper.make_tensor_value_info("input", element, [1, 3, size, size])]
    if weight:
        inputs.append(helper.make_tensor_value_info(weight, TensorProto.DOUBLE, [1]))
        nodes[2] = helper.make_node("Add", ["b", "offset"], ["c"])
        nodes += [
            helper.make_node("Cast", [weight], ["d"], to=element),
            helper.make_node("Mul", ["c", "d"], ["output"]),
        ]
    outputs = [helper.make_tensor_value_info("output", element, [1, 3, size, size])]
    return _model(nodes, weights, inputs, outputs)


def restored(planes: Floats, weight: float = 1.0) -> Floats:
    """What `face_twin` gives."""
    return np.asarray((planes[:, _ORDER] * _GAIN + _OFFSET) * weight, np.float32)


def frame_twin(factor: int, size: int | str = "width") -> Any:
    """As Real-ESRGAN: planes (1, 3, h, w) of RGB 0..1 in, `factor` times as large out, each pixel repeated and the planes turned round."""
    weights = {"order": np.array(_ORDER), "scales": np.array([1, 1, factor, factor], np.float32)}
    nodes = [
        helper.make_node("Gather", ["input", "order"], ["a"], axis=1),
        helper.make_node("Resize", ["a", "", "scales"], ["output"], mode="nearest", coordinate_transformation_mode="asymmetric",
                         nearest_mode="floor"),
    ]  # fmt: skip
    sides = ["height", "width"] if isinstance(size, str) else [size, size]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, *sides])]
    larger = ["h", "w"] if isinstance(size, str) else [size * factor, size * factor]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3, *larger])]
    return _model(nodes, weights, inputs, outputs)


def enlarged(image: Array, factor: int) -> Array:
    """What `frame_twin` makes of a picture (h, w, 3) of BGR."""
    rgb = image[..., ::-1][..., list(_ORDER)]
    return rgb[..., ::-1].repeat(factor, 0).repeat(factor, 1)


def _model(nodes: list[Any], weights: dict[str, Array], inputs: list[Any], outputs: list[Any]) -> Any:
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "twin", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
