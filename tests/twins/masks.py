"""Stand-ins for the field's mask networks: the same names, shapes, ranges and quirks, and a known function of the picture inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

CLASSES = 19
STEP = 13
"""Levels of red from one class of the region twin to the next."""
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def person_twin(size: int = 256) -> Any:
    """As the converted selfie segmentation: planes of RGB 0..1 in, (1, s, s, 1) out; a person is what is red."""
    nodes = [
        helper.make_node("Gather", ["input_1", "red"], ["a"], axis=1),
        helper.make_node("Transpose", ["a"], ["activation_10"], perm=[0, 2, 3, 1]),
    ]
    return _model(nodes, {"red": np.array([0])}, ("input_1", [1, 3, size, size]), [("activation_10", [1, size, size, 1])])


def occluder_twin() -> Any:
    """As the occluder network: planes (1, 3, 128, 128) of RGB 0..1 in, (1, 1, 64, 64) out; skin is what is red."""
    nodes = [
        helper.make_node("Gather", ["image", "red"], ["a"], axis=1),
        helper.make_node("AveragePool", ["a"], ["visible"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    return _model(nodes, {"red": np.array([0])}, ("image", [1, 3, 128, 128]), [("visible", [1, 1, 64, 64])])


def occlusion_twin() -> Any:
    """As XSeg: pixels (n, 256, 256, 3) of BGR 0..1 in, (n, 256, 256, 1) out; the face is what is blue. It overshoots 0..1, as nets do."""
    nodes = [
        helper.make_node("Gather", ["input", "blue"], ["a"], axis=3),
        helper.make_node("Mul", ["a", "gain"], ["b"]),
        helper.make_node("Add", ["b", "offset"], ["output"]),
    ]
    weights = {"blue": np.array([0]), "gain": np.float32(1.2), "offset": np.float32(-0.1)}
    return _model(nodes, weights, ("input", ["batch", 256, 256, 3]), [("output", ["batch", 256, 256, 1])])


def region_twin() -> Any:
    """As BiSeNet: normalised planes of RGB in, 19 scores out, the best where red is STEP times the class's number; two more outputs.

    A wrong mean, deviation or order of channels gives other classes.
    """
    centres = np.arange(CLASSES, dtype=np.float32).reshape(1, CLASSES, 1, 1) * STEP / 255
    weights = {
        "std": np.array(_STD, np.float32).reshape(1, 3, 1, 1), "mean": np.array(_MEAN, np.float32).reshape(1, 3, 1, 1),
        "red": np.array([0]), "centres": centres, "two": np.float32(2), "zero": np.float32(0),
    }  # fmt: skip
    nodes = [
        helper.make_node("Mul", ["input", "std"], ["a"]),
        helper.make_node("Add", ["a", "mean"], ["b"]),
        helper.make_node("Gather", ["b", "red"], ["c"], axis=1),
        helper.make_node("Sub", ["c", "centres"], ["d"]),
        helper.make_node("Pow", ["d", "two"], ["e"]),
        helper.make_node("Sub", ["zero", "e"], ["output"]),
        helper.make_node("Mul", ["output", "two"], ["aux_16"]),
        helper.make_node("Mul", ["output", "two"], ["aux_32"]),
    ]
    shape = [1, CLASSES, 512, 512]
    return _model(nodes, weights, ("input", [1, 3, 512, 512]), [(name, shape) for name in ("output", "aux_16", "aux_32")])


PALM_ANCHOR = 9 * 24 * 2 + 11 * 2
"""The first box of row 9, column 11 of the fine grid: centre (92, 76) of 192."""


def palm_twin(wrist: tuple[float, float], middle: tuple[float, float], size: float) -> Any:
    """As palm_detection: one palm of `size` pixels halfway between `wrist` and `middle`, pixels of 192, as sure as the picture is green."""
    centre = np.array([92.0, 76.0])
    points = np.tile((np.array(wrist) + middle) / 2, (7, 1))
    points[0], points[2] = wrist, middle
    raw = np.zeros((1, 2016, 18), np.float32)
    raw[0, PALM_ANCHOR, :2] = points[1] - centre
    raw[0, PALM_ANCHOR, 2:4] = size
    raw[0, PALM_ANCHOR, 4:] = (points - centre).ravel()
    scores = np.full((1, 2016, 1), -8, np.float32)
    gains = np.zeros((1, 2016, 1), np.float32)
    gains[0, PALM_ANCHOR] = 16
    weights = {"green": np.array([1]), "raw": raw, "scores": scores, "gains": gains, "flat": np.array([1, 1, 1]), "zero": np.float32(0)}
    nodes = [
        helper.make_node("Gather", ["input_1", "green"], ["a"], axis=1),
        helper.make_node("GlobalAveragePool", ["a"], ["b"]),
        helper.make_node("Reshape", ["b", "flat"], ["c"]),
        helper.make_node("Mul", ["c", "gains"], ["d"]),
        helper.make_node("Add", ["d", "scores"], ["Identity_1"]),
        helper.make_node("Mul", ["c", "zero"], ["e"]),
        helper.make_node("Add", ["raw", "e"], ["Identity"]),
    ]
    return _model(nodes, weights, ("input_1", [1, 3, 192, 192]), [("Identity", [1, 2016, 18]), ("Identity_1", [1, 2016, 1])])


def hand_points() -> Floats:
    """(21, 2): an upright open hand in pixels of 224."""
    fingers = [(112 + 22 * (column - 1.5), 120 - 25 * joint) for column in range(4) for joint in range(4)]
    thumb = [(60 - 8 * joint, 170 - 15 * joint) for joint in range(4)]
    return np.array([(112, 200), *thumb, *fingers], np.float32)


def hand_twin() -> Any:
    """As hand_landmark: the same hand in every picture, as present as the picture is green."""
    points = np.concatenate([hand_points(), np.zeros((21, 1), np.float32)], 1).reshape(1, 63)
    weights = {"green": np.array([1]), "points": points, "flat": np.array([1, 1]), "zero": np.float32(0)}
    nodes = [
        helper.make_node("Gather", ["input_1", "green"], ["a"], axis=1),
        helper.make_node("GlobalAveragePool", ["a"], ["b"]),
        helper.make_node("Reshape", ["b", "flat"], ["Identity_1"]),
        helper.make_node("Mul", ["Identity_1", "zero"], ["c"]),
        helper.make_node("Add", ["points", "c"], ["Identity"]),
        helper.make_node("Neg", ["Identity_1"], ["Identity_2"]),
        helper.make_node("Neg", ["Identity"], ["Identity_3"]),
    ]
    outputs = [("Identity", [1, 63]), ("Identity_1", [1, 1]), ("Identity_2", [1, 1]), ("Identity_3", [1, 63])]
    return _model(nodes, weights, ("input_1", [1, 3, 224, 224]), outputs)


def _model(nodes: list[Any], weights: dict[str, Array], taken: tuple[str, list[Any]], given: list[tuple[str, list[Any]]]) -> Any:
    inputs = [helper.make_tensor_value_info(taken[0], TensorProto.FLOAT, taken[1])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "twin", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
