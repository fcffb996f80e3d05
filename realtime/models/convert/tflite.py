"""TensorFlow Lite to ONNX, for float networks: one small function per operator, in the table OPERATORS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import tflite

from realtime.errors import ModelError
from realtime.models.convert.tflite_file import Operator, TfliteFile
from realtime.models.convert.tflite_graph import FROM_ONNX, TO_ONNX, Graph, onnx_shape
from realtime.types import Array

Pair = tuple[int, int]


def convert_tflite(data: bytes) -> Any:
    """The ONNX model. Inputs and outputs keep their names; inputs are in ONNX's layout.

    Raises ModelError for an operator it does not know.
    """
    file = TfliteFile(data)
    graph = Graph(file)
    for operator in file.operators():
        if operator.kind not in OPERATORS:
            raise ModelError(f"the TensorFlow Lite operator {operator.kind} is not among those that can be converted")
        OPERATORS[operator.kind](graph, operator)
    return graph.finish()


def _window(graph: Graph, operator: Operator, options: Any, kernel: Pair, dilation: Pair = (1, 1)) -> dict[str, object]:
    """ONNX's attributes of a sliding window: `same` padding puts the odd pixel at the end."""
    stride = options.StrideH(), options.StrideW()
    pads = [0, 0, 0, 0]
    if options.Padding() == tflite.Padding.SAME:
        before, after = graph.file.shape(operator.inputs[0])[1:3], graph.file.shape(operator.outputs[0])[1:3]
        for axis in (0, 1):
            reach = (after[axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1
            total = max(reach - before[axis], 0)
            pads[axis], pads[axis + 2] = total // 2, total - total // 2
    return {"kernel_shape": kernel, "strides": stride, "pads": pads}


def _dequantize(graph: Graph, operator: Operator) -> None:
    """Half-precision weights to float: done now."""
    graph.remember(operator.outputs[0], graph.weights(operator.inputs[0]))


def _densify(graph: Graph, operator: Operator) -> None:
    """Reading a sparse constant made it dense already."""
    graph.remember(operator.outputs[0], graph.weights(operator.inputs[0]))


def _conv(graph: Graph, operator: Operator) -> None:
    """Kernels (out, row, column, in) to (out, in, row, column)."""
    options, kernels = operator.options(tflite.Conv2DOptions), graph.weights(operator.inputs[1])
    _add_conv(graph, operator, options, kernels.transpose(0, 3, 1, 2), groups=1)


def _depthwise(graph: Graph, operator: Operator) -> None:
    """Kernels (1, row, column, channel) to (channel, 1, row, column)."""
    options, kernels = operator.options(tflite.DepthwiseConv2DOptions), graph.weights(operator.inputs[1])
    _add_conv(graph, operator, options, kernels.transpose(3, 0, 1, 2), groups=graph.file.shape(operator.inputs[0])[3])


def _add_conv(graph: Graph, operator: Operator, options: Any, kernels: Array, groups: int) -> None:
    dilation = options.DilationHFactor(), options.DilationWFactor()
    window = _window(graph, operator, options, (kernels.shape[2], kernels.shape[3]), dilation)
    inputs = [graph.name(operator.inputs[0]), graph.store(kernels), *_bias(graph, operator)]
    output, activation = graph.name(operator.outputs[0]), options.FusedActivationFunction()
    graph.add_activated("Conv", inputs, output, activation, dilations=dilation, group=groups, **window)


def _bias(graph: Graph, operator: Operator) -> list[str]:
    given = len(operator.inputs) > 2 and operator.inputs[2] >= 0
    return [graph.store(graph.weights(operator.inputs[2]))] if given else []


def _transposed_conv(graph: Graph, operator: Operator) -> None:
    """MediaPipe's custom operator; its options begin with padding and strides as 32-bit integers."""
    kernels = graph.weights(operator.inputs[1])
    _, stride_x, stride_y = np.frombuffer(bytes(operator.table.CustomOptionsAsNumpy())[:12], np.int32)
    if kernels.shape[1:3] != (stride_y, stride_x):
        raise ModelError("Convolution2DTransposeBias is converted only where kernel and stride are equal")
    inputs = [graph.name(operator.inputs[0]), graph.store(kernels.transpose(3, 0, 1, 2)), *_bias(graph, operator)]
    graph.add("ConvTranspose", inputs, graph.name(operator.outputs[0]), strides=[int(stride_y), int(stride_x)])


def _pool(kind: str) -> Convert:
    def convert(graph: Graph, operator: Operator) -> None:
        options = operator.options(tflite.Pool2DOptions)
        window = _window(graph, operator, options, (options.FilterHeight(), options.FilterWidth()))
        output, activation = graph.name(operator.outputs[0]), options.FusedActivationFunction()
        graph.add_activated(kind, [graph.name(operator.inputs[0])], output, activation, **window)

    return convert


def _mean(graph: Graph, operator: Operator) -> None:
    axes = graph.constant(operator.inputs[1])
    if axes is None or sorted(axes.ravel().tolist()) != [1, 2]:
        raise ModelError("MEAN is converted only over rows and columns")
    graph.add("GlobalAveragePool", [graph.name(operator.inputs[0])], graph.name(operator.outputs[0]))


def _prelu(graph: Graph, operator: Operator) -> None:
    slopes = graph.store(graph.weights(operator.inputs[1]).transpose(2, 0, 1))
    graph.add("PRelu", [graph.name(operator.inputs[0]), slopes], graph.name(operator.outputs[0]))


def _binary(kind: str, options: type[Any]) -> Convert:
    def convert(graph: Graph, operator: Operator) -> None:
        activation = operator.options(options).FusedActivationFunction()
        inputs = [graph.operand(tensor) for tensor in operator.inputs]
        graph.add_activated(kind, inputs, graph.name(operator.outputs[0]), activation)

    return convert


def _unary(kind: str) -> Convert:
    def convert(graph: Graph, operator: Operator) -> None:
        graph.add(kind, [graph.name(operator.inputs[0])], graph.name(operator.outputs[0]))

    return convert


def _fully_connected(graph: Graph, operator: Operator) -> None:
    """Weights (out, in); what comes in is flattened to (1, in), which orders values alike in both layouts when rows and columns are one."""
    options, weights = operator.options(tflite.FullyConnectedOptions), graph.weights(operator.inputs[1])
    shape = graph.file.shape(operator.inputs[0])
    if int(np.prod(shape)) != weights.shape[1] or (len(shape) == 4 and shape[1:3] != [1, 1]):
        raise ModelError("FULLY_CONNECTED is converted only for one vector")
    output = graph.name(operator.outputs[0])
    graph.add("Reshape", [graph.name(operator.inputs[0]), graph.store(np.array([1, weights.shape[1]]))], f"{output}_in")
    inputs = [f"{output}_in", graph.store(weights), *_bias(graph, operator)]
    graph.add_activated("Gemm", inputs, output, options.FusedActivationFunction(), transB=1)


def _hard_swish(graph: Graph, operator: Operator) -> None:
    """x * clip(x / 6 + 1/2, 0, 1); ONNX has the operator itself from opset 14 on."""
    value, output = graph.name(operator.inputs[0]), graph.name(operator.outputs[0])
    graph.add("HardSigmoid", [value], f"{output}_gate", alpha=1 / 6, beta=0.5)
    graph.add("Mul", [value, f"{output}_gate"], output)


def _pad(graph: Graph, operator: Operator) -> None:
    sides = graph.constant(operator.inputs[1])
    if sides is None:
        raise ModelError("PAD is converted only by constant amounts")
    sides = sides[list(TO_ONNX)]
    amounts = graph.store(np.concatenate([sides[:, 0], sides[:, 1]]).astype(np.int64))
    graph.add("Pad", [graph.name(operator.inputs[0]), amounts], graph.name(operator.outputs[0]))


def _reshape(graph: Graph, operator: Operator) -> None:
    """By way of the file's layout, in which the order of values is defined."""
    value, output, shape = graph.name(operator.inputs[0]), graph.name(operator.outputs[0]), graph.file.shape(operator.outputs[0])
    if len(graph.file.shape(operator.inputs[0])) == 4:
        graph.add("Transpose", [value], f"{output}_in", perm=FROM_ONNX)
        value = f"{output}_in"
    plain = f"{output}_plain" if len(shape) == 4 else output
    graph.add("Reshape", [value, graph.store(np.array(shape, np.int64))], plain)
    if len(shape) == 4:
        graph.add("Transpose", [plain], output, perm=TO_ONNX)


def _concatenation(graph: Graph, operator: Operator) -> None:
    rank = len(graph.file.shape(operator.outputs[0]))
    axis = operator.options(tflite.ConcatenationOptions).Axis() % rank
    axis = TO_ONNX.index(axis) if rank == 4 else axis
    graph.add("Concat", [graph.name(tensor) for tensor in operator.inputs], graph.name(operator.outputs[0]), axis=axis)


def _resize_bilinear(graph: Graph, operator: Operator) -> None:
    options = operator.options(tflite.ResizeBilinearOptions)
    mode = "align_corners" if options.AlignCorners() else "half_pixel" if options.HalfPixelCenters() else "asymmetric"
    sizes = graph.store(np.array(onnx_shape(graph.file.shape(operator.outputs[0])), np.int64))
    inputs = [graph.name(operator.inputs[0]), "", "", sizes]
    graph.add("Resize", inputs, graph.name(operator.outputs[0]), mode="linear", coordinate_transformation_mode=mode)


def _depth_to_space(graph: Graph, operator: Operator) -> None:
    block = operator.options(tflite.DepthToSpaceOptions).BlockSize()
    graph.add("DepthToSpace", [graph.name(operator.inputs[0])], graph.name(operator.outputs[0]), blocksize=block, mode="DCR")


Convert = Callable[[Graph, Operator], None]

OPERATORS: Mapping[str, Convert] = MappingProxyType(
    {
        "ADD": _binary("Add", tflite.AddOptions),
        "AVERAGE_POOL_2D": _pool("AveragePool"),
        "CONCATENATION": _concatenation,
        "CONV_2D": _conv,
        "Convolution2DTransposeBias": _transposed_conv,
        "DENSIFY": _densify,
        "DEPTHWISE_CONV_2D": _depthwise,
        "DEPTH_TO_SPACE": _depth_to_space,
        "DEQUANTIZE": _dequantize,
        "FULLY_CONNECTED": _fully_connected,
        "HARD_SWISH": _hard_swish,
        "LOGISTIC": _unary("Sigmoid"),
        "MAX_POOL_2D": _pool("MaxPool"),
        "MEAN": _mean,
        "MUL": _binary("Mul", tflite.MulOptions),
        "PAD": _pad,
        "PRELU": _prelu,
        "RELU": _unary("Relu"),
        "RESHAPE": _reshape,
        "RESIZE_BILINEAR": _resize_bilinear,
    }
)
