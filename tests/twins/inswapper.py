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


def full_twin(width: float = 1.0, seed: int = 1) -> Any:
    """As large as inswapper_128 and laid out like it: 138 M weights and 175 G multiply-adds at `width` 1, which scales its channels.

    An encoder 128-256-512-1024 of one 7 x 7 and three 3 x 3 convolutions, six residual blocks of two convolutions whose norms the latent
    sets (AdaIN), a decoder back to 128 pixels; `emap` is the last initializer. The layout as public descriptions of SimSwap's generator, on
    which the network rests, have it (Chen et al., 2020); the counts are those of the published file.

    Random weights, but as tame as trained ones: filters are blind to flat colour, and each block changes its features by a fifth. Without
    that each layer enlarges whatever errors come in, and what a gate says of lower precisions would be about noise. What it computes is
    painted faintly over the face that it is given, so that there is a person to be seen in it. All this says how fast such a network is,
    and nothing about what lower precisions do to real weights.
    """
    net = _Net(seed)
    a, b, c, d = (max(4, int(channels * width)) for channels in (128, 256, 512, 1024))
    x = net.conv(net.padded("target", 3), 3, a, 7, act="LeakyRelu")
    x = net.conv(x, a, b, act="LeakyRelu", pad=1)
    x = net.conv(x, b, c, act="LeakyRelu", pad=1, stride=2)
    x = net.conv(x, c, d, act="LeakyRelu", pad=1, stride=2)
    for _ in range(6):
        y = net.add("Relu", net.styled(net.conv(net.padded(x, 1), d, d), d))
        x = net.add("Add", x, net.styled(net.conv(net.padded(y, 1), d, d), d, strength=0.2))
    x = net.conv(net.doubled(x), d, c, act="LeakyRelu", pad=1)
    x = net.conv(net.doubled(x), c, b, act="LeakyRelu", pad=1)
    x = net.conv(x, b, a, act="LeakyRelu", pad=1)
    x = net.add("Tanh", net.conv(net.padded(x, 3), a, 3, 7))
    net.nodes.append(helper.make_node("Mul", [x, net.constant(np.float32(0.25))], ["faint"], name="weaken"))
    net.nodes.append(helper.make_node("Add", ["faint", "target"], ["output"], name="paint"))
    turn, _ = np.linalg.qr(net.rng.standard_normal((LATENT, LATENT)))
    weights = [*net.weights, numpy_helper.from_array(turn.astype(np.float32), "emap")]
    return _model(net.nodes, weights, SIZE, LATENT, TensorProto.FLOAT)


class _Net:
    """Collects nodes and random weights of a variance that keeps values in range."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [f"{name}:0"], name=name, **attributes))
        return f"{name}:0"

    def constant(self, array: Any) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, *shape: int, fan: int, strength: float = 1.0) -> str:
        return self.constant(self.rng.standard_normal(shape, np.float32) * np.float32(strength * fan**-0.5))

    def conv(
        self, x: str, into: int, out: int, side: int = 3, *, act: str = "", pad: int = 0, stride: int = 1, strength: float = 1.0
    ) -> str:
        fan = into * side * side
        weights = self.rng.standard_normal((out, into, side, side), np.float32) * np.float32(strength * fan**-0.5)
        weights -= weights.mean((1, 2, 3), keepdims=True)
        names = [x, self.constant(weights), self.random(out, fan=fan)]
        made = self.add("Conv", *names, kernel_shape=[side, side], strides=[stride] * 2, pads=[pad] * 4)
        return self.add(act, made, alpha=0.2) if act else made

    def padded(self, x: str, by: int) -> str:
        return self.add("Pad", x, self.constant(np.array([0, 0, by, by, 0, 0, by, by], np.int64)), mode="reflect")

    def doubled(self, x: str) -> str:
        """Twice as high and wide, bilinear."""
        places = [self.constant(np.empty(0, np.float32)), self.constant(np.array([1, 1, 2, 2], np.float32))]
        return self.add("Resize", x, *places, mode="linear", coordinate_transformation_mode="half_pixel")

    def styled(self, x: str, channels: int, *, strength: float = 1.0) -> str:
        """Each channel brought to mean 0 and deviation 1, then to those that the latent gives."""
        offset = self.add("Sub", x, self.add("ReduceMean", x, axes=[2, 3], keepdims=1))
        spread = self.add("ReduceMean", self.add("Mul", offset, offset), axes=[2, 3], keepdims=1)
        normal = self.add("Div", offset, self.add("Sqrt", self.add("Add", spread, self.constant(np.float32(1e-8)))))
        weights = self.random(2 * channels, LATENT, fan=1, strength=strength)
        styles = self.add("Gemm", "source", weights, self.random(2 * channels, fan=LATENT), transB=1)
        gain, shift = (self._half(styles, part, channels) for part in (0, 1))
        return self.add("Add", self.add("Mul", normal, gain), shift)

    def _half(self, styles: str, part: int, channels: int) -> str:
        ends = [self.constant(np.array([value], np.int64)) for value in (part * channels, (part + 1) * channels, 1)]
        cut = self.add("Slice", styles, *ends)
        return self.add("Reshape", cut, self.constant(np.array([1, channels, 1, 1], np.int64)))


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
