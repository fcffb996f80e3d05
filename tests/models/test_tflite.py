"""The TensorFlow Lite converter, operator by operator, against plain numpy on the file's own layout (batch, row, column, channel)."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from realtime.errors import ModelError
from realtime.models.convert.tflite import convert_tflite
from realtime.models.convert.tflite_file import Level, densify
from tests.models.tiny_tflite import Tiny, built

Op, Kind, Relu6 = tflite.BuiltinOperator, tflite.BuiltinOptions, tflite.ActivationFunctionType.RELU6
SAME, VALID = tflite.Padding.SAME, tflite.Padding.VALID
RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def converted(tiny: Tiny, *values: np.ndarray) -> np.ndarray:
    """What the converted network makes of inputs in the file's layout."""
    network = convert_tflite(tiny.data())
    onnx.checker.check_model(network)
    assert all(item.name.startswith("in") for item in network.graph.input)
    feeds = {
        item.name: value.transpose(0, 3, 1, 2) if value.ndim == 4 else value
        for item, value in zip(network.graph.input, values, strict=True)
    }
    (output,) = ReferenceEvaluator(network).run(["out"], feeds)
    assert output.shape == tiny.output
    return np.asarray(output)


def windows(x: np.ndarray, kernel: int, stride: int, padding: int, fill: float = 0.0) -> np.ndarray:
    """(rows, columns, kernel, kernel, channels) of the picture x[0]; `same` padding puts the odd pixel last."""
    side = x.shape[1]
    count = -(-side // stride) if padding == SAME else (side - kernel) // stride + 1
    total = max((count - 1) * stride + kernel - side, 0) if padding == SAME else 0
    padded = np.pad(x[0], [(total // 2, total - total // 2)] * 2 + [(0, 0)], constant_values=fill)
    return np.stack([[padded[r * stride :, c * stride :][:kernel, :kernel] for c in range(count)] for r in range(count)])


@pytest.mark.parametrize(("padding", "stride", "side"), [(SAME, 1, 5), (SAME, 2, 6), (SAME, 2, 5), (VALID, 2, 7)])
def test_conv(padding: int, stride: int, side: int) -> None:
    x, kernels, bias = floats(1, side, side, 2), floats(3, 3, 3, 2), floats(3)
    expected = np.clip(np.einsum("rcijk,oijk->rco", windows(x, 3, stride, padding), kernels) + bias, 0, 6)
    options = built(
        "Conv2DOptions",
        Padding=padding,
        StrideW=stride,
        StrideH=stride,
        DilationWFactor=1,
        DilationHFactor=1,
        FusedActivationFunction=Relu6,
    )
    tiny = Tiny(Op.CONV_2D, [x.shape, kernels, bias], (1, *expected.shape), Kind.Conv2DOptions, options)
    np.testing.assert_allclose(converted(tiny, x)[0], expected, atol=1e-5)


def test_depthwise_conv() -> None:
    x, kernels, bias = floats(1, 6, 6, 3), floats(1, 3, 3, 3), floats(3)
    expected = np.einsum("rcijk,ijk->rck", windows(x, 3, 2, SAME), kernels[0]) + bias
    options = built(
        "DepthwiseConv2DOptions", Padding=SAME, StrideW=2, StrideH=2, DilationWFactor=1, DilationHFactor=1, DepthMultiplier=1
    )
    tiny = Tiny(Op.DEPTHWISE_CONV_2D, [x.shape, kernels, bias], (1, *expected.shape), Kind.DepthwiseConv2DOptions, options)
    np.testing.assert_allclose(converted(tiny, x)[0], expected, atol=1e-5)


def test_transposed_conv_of_mediapipe() -> None:
    x, kernels, bias = floats(1, 3, 3, 2), floats(4, 2, 2, 2), floats(4)
    expected = np.einsum("rck,oijk->ricjo", x[0], kernels).reshape(6, 6, 4) + bias
    settings_ = np.array([2, 2, 2], np.int32).tobytes()
    tiny = Tiny("Convolution2DTransposeBias", [x.shape, kernels, bias], (1, 6, 6, 4), custom_options=settings_)
    np.testing.assert_allclose(converted(tiny, x)[0], expected, atol=1e-5)


@pytest.mark.parametrize("kind", [Op.MAX_POOL_2D, Op.AVERAGE_POOL_2D])
def test_pools(kind: int) -> None:
    x = floats(1, 6, 6, 2)
    reduce = np.max if kind == Op.MAX_POOL_2D else np.mean
    expected = reduce(windows(x, 2, 2, VALID), axis=(2, 3))
    options = built("Pool2DOptions", Padding=VALID, StrideW=2, StrideH=2, FilterWidth=2, FilterHeight=2)
    tiny = Tiny(kind, [x.shape], (1, *expected.shape), Kind.Pool2DOptions, options)
    np.testing.assert_allclose(converted(tiny, x)[0], expected, atol=1e-6)


def test_prelu() -> None:
    x, slopes = floats(1, 4, 4, 3), floats(1, 1, 3)
    expected = np.where(x > 0, x, x * slopes)
    np.testing.assert_allclose(converted(Tiny(Op.PRELU, [x.shape, slopes], x.shape), x), expected, atol=1e-6)


@pytest.mark.parametrize("constant", [floats(3), floats(1, 1, 1, 3), floats(1, 2, 5, 3)])
def test_add_of_a_constant_in_the_files_layout(constant: np.ndarray) -> None:
    x = floats(1, 2, 5, 3)
    tiny = Tiny(Op.ADD, [x.shape, constant], x.shape, Kind.AddOptions, built("AddOptions"))
    np.testing.assert_allclose(converted(tiny, x), x + constant, atol=1e-6)


def test_mul_of_two_values() -> None:
    x, gate = floats(1, 4, 4, 3), floats(1, 1, 1, 3)
    tiny = Tiny(Op.MUL, [x.shape, gate.shape], x.shape, Kind.MulOptions, built("MulOptions"))
    np.testing.assert_allclose(converted(tiny, x, gate), x * gate, atol=1e-6)


def test_pad_of_rows_columns_and_channels() -> None:
    x, amounts = floats(1, 3, 4, 2), np.array([[0, 0], [1, 2], [0, 1], [0, 3]], np.int32)
    tiny = Tiny(Op.PAD, [x.shape, amounts], (1, 6, 5, 5))
    np.testing.assert_array_equal(converted(tiny, x), np.pad(x, amounts))


def test_fully_connected() -> None:
    x, weights, bias = floats(1, 1, 1, 6), floats(4, 6), floats(4)
    options = built("FullyConnectedOptions")
    tiny = Tiny(Op.FULLY_CONNECTED, [x.shape, weights, bias], (1, 4), Kind.FullyConnectedOptions, options)
    np.testing.assert_allclose(converted(tiny, x), (weights @ x.ravel() + bias)[None], atol=1e-5)


def test_fully_connected_of_a_picture_is_refused() -> None:
    tiny = Tiny(Op.FULLY_CONNECTED, [(1, 2, 1, 3), floats(4, 6)], (1, 4), Kind.FullyConnectedOptions, built("FullyConnectedOptions"))
    with pytest.raises(ModelError, match="only for one vector"):
        convert_tflite(tiny.data())


def test_mean_over_the_picture() -> None:
    x = floats(1, 4, 6, 3)
    tiny = Tiny(Op.MEAN, [x.shape, np.array([1, 2], np.int32)], (1, 1, 1, 3))
    np.testing.assert_allclose(converted(tiny, x), x.mean((1, 2), keepdims=True), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (Op.RELU, lambda x: np.maximum(x, 0)),
        (Op.LOGISTIC, lambda x: 1 / (1 + np.exp(-x))),
        (Op.HARD_SWISH, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ],
)
def test_functions_of_one_value(kind: int, function: object) -> None:
    x = floats(1, 4, 4, 2) * 4
    np.testing.assert_allclose(converted(Tiny(kind, [x.shape], x.shape), x), function(x), atol=1e-6)  # type: ignore[operator]


@pytest.mark.parametrize("shape", [(1, 24), (1, 6, 4), (1, 3, 4, 2)])
def test_reshape_keeps_the_files_order(shape: tuple[int, ...]) -> None:
    x = floats(1, 2, 3, 4)
    tiny = Tiny(Op.RESHAPE, [x.shape, np.array(shape, np.int32)], shape)
    np.testing.assert_array_equal(converted(tiny, x), x.reshape(shape))


@pytest.mark.parametrize("axis", [1, 2, 3, -1])
def test_concatenation(axis: int) -> None:
    x, y = floats(1, 2, 3, 4), floats(1, 2, 3, 4)
    expected = np.concatenate([x, y], axis)
    options = built("ConcatenationOptions", Axis=axis)
    tiny = Tiny(Op.CONCATENATION, [x.shape, y.shape], expected.shape, Kind.ConcatenationOptions, options)
    np.testing.assert_array_equal(converted(tiny, x, y), expected)


def test_bilinear_resize_with_half_pixel_centres() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
    options = built("ResizeBilinearOptions", HalfPixelCenters=True)
    tiny = Tiny(Op.RESIZE_BILINEAR, [x.shape, np.array([1, 8], np.int32)], (1, 1, 8, 1), Kind.ResizeBilinearOptions, options)
    expected = [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]
    np.testing.assert_allclose(converted(tiny, x).ravel(), expected, atol=1e-6)


def test_depth_to_space() -> None:
    x = floats(1, 2, 2, 8)
    expected = x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 4, 2)
    options = built("DepthToSpaceOptions", BlockSize=2)
    tiny = Tiny(Op.DEPTH_TO_SPACE, [x.shape], expected.shape, Kind.DepthToSpaceOptions, options)
    np.testing.assert_array_equal(converted(tiny, x), expected)


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(ModelError, match="operator COS is not among those that can be converted"):
        convert_tflite(Tiny(Op.COS, [(1, 2, 2, 1)], (1, 2, 2, 1)).data())


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ModelError, match="lacks the mark TFL3"):
        convert_tflite(b"PK\x03\x04 something else")


def compressed(matrix: np.ndarray) -> tuple[np.ndarray, list[Level]]:
    """A matrix as dense rows of compressed columns, as the file's encoding has it."""
    rows = [np.flatnonzero(row) for row in matrix]
    segments = np.cumsum([0, *map(len, rows)])
    values = np.concatenate([row[keep] for row, keep in zip(matrix, rows, strict=True)])
    return values, [Level(0, 1, size=len(matrix)), Level(1, 1, segments=segments, indices=np.concatenate(rows))]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=5))
def test_a_sparse_matrix_becomes_dense_again(rows: list[list[int]]) -> None:
    matrix = np.array(rows, np.float32)
    values, levels = compressed(matrix)
    np.testing.assert_array_equal(densify(values, list(matrix.shape), levels), matrix)


def test_blocks_of_a_sparse_matrix_become_dense_again() -> None:
    """Rows of blocks of 1 x 4, of which those with a value are stored whole."""
    matrix = np.zeros((3, 8), np.float32)
    matrix[0, 4:], matrix[2, :4] = [1, 0, 2, 3], [4, 5, 0, 6]
    levels = [
        Level(0, 1, size=3),
        Level(1, 4, segments=np.array([0, 1, 1, 2]), indices=np.array([1, 0])),
        Level(1, 1, size=4),
    ]
    np.testing.assert_array_equal(densify(np.array([1, 0, 2, 3, 4, 5, 0, 6], np.float32), [3, 8], levels), matrix)
