"""Stand-ins for inswapper_128 and its kin, whose weights may not be had: the same names and shapes, other numbers.

A twin is `target` (1, 3, s, s) and `source` (1, d) float32 in, `output` (1, 3, s, s) out, in the old opset that such files come in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SIZE, LATENT = 128, 512
_OPSET = 11
_GAINS = (0.4, 0.25, -0.3)
"""How strongly the latent's first three numbers drive the three planes of the known twin."""


def random_twin(size: int = SIZE, latent: int = LATENT, channels: int = 8, seed: int = 0, element: int = TensorProto.FLOAT) -> Any:
    """Convolutions with random weights, modulated by the latent as in the real network: what it computes depends on all inputs."""
    rng = np.random.default_rng(seed)
    dtype = helper.tensor_dtype_to_np_dtype(element)

    def weights(name: str, *shape: int, fan: int) -> Any:
        return numpy_helper.from_array((rng.standard_normal(shape) / fan**0.5).astype(dtype), name)

    initializers = [
        weights("down", channels, 3, 3, 3, fan=27),
        weights("style", latent, channels, fan=1),
        weights("mix", channels, channels, 3, 3, fan=9 * channels),
        weights("up", channels, 3, 4, 4, fan=4 * channels),
        numpy_helper.from_array(np.array([1, channels, 1, 1], np.int64), "shape"),
    ]
    nodes = [
        helper.make_node("Conv", ["target", "down"], ["d"], name="down", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        helper.make_node("LeakyRelu", ["d"], ["e"], name="bend", alpha=0.2),
        helper.make_node("MatMul", ["source", "style"], ["s"], name="style"),
        helper.make_node("Reshape", ["s", "shape"], ["t"], name="spread"),
        helper.make_node("Mul", ["e", "t"], ["f"], name="modulate"),
        helper.make_node("Conv", ["f", "mix"], ["g"], name="mix", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("ConvTranspose", ["g", "up"], ["h"], name="up", kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4),
        helper.make_node("Sigmoid", ["h"], ["output"], name="limit"),
    ]
    return _model(nodes, initializers, size, latent, element)


def known_twin(size: int = SIZE, latent: int = LATENT) -> Any:
    """A network of which one can say what it must give: see `known`."""
    gains = np.zeros((latent, 3), np.float32)
    gains[range(3), range(3)] = _GAINS
    initializers = [
        numpy_helper.from_array(np.array([1, 2, 0], np.int64), "order"),
        numpy_helper.from_array(gains, "gains"),
        numpy_helper.from_array(np.array([1, 3, 1, 1], np.int64), "shape"),
        numpy_helper.from_array(np.float32(1), "one"),
    ]
    nodes = [
        helper.make_node("Gather", ["target", "order"], ["a"], name="permute", axis=1),
        helper.make_node("MatMul", ["source", "gains"], ["b"], name="gain"),
        helper.make_node("Reshape", ["b", "shape"], ["c"], name="spread"),
        helper.make_node("Add", ["c", "one"], ["d"], name="offset"),
        helper.make_node("Mul", ["a", "d"], ["output"], name="scale"),
    ]
    return _model(nodes, initializers, size, latent, TensorProto.FLOAT)


def known(target: NDArray[np.float32], source: NDArray[np.float32]) -> NDArray[np.float32]:
    """What `known_twin` computes: planes in another order (the second, third and first), each times a gain that the latent sets."""
    gains = 1 + source[0, :3] * np.array(_GAINS, np.float32)
    return np.asarray(target[:, [1, 2, 0]] * gains.reshape(1, 3, 1, 1), np.float32)


def _model(nodes: list[Any], initializers: list[Any], size: int, latent: int, element: int) -> Any:
    inputs = [
        helper.make_tensor_value_info("target", element, [1, 3, size, size]),
        helper.make_tensor_value_info("source", element, [1, latent]),
    ]
    outputs = [helper.make_tensor_value_info("output", element, [1, 3, size, size])]
    graph = helper.make_graph(nodes, "twin", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=6)
