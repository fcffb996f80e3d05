"""Stand-ins for sparse landmark networks: they put the same points around the middle of whatever is red in the crop."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

SIZES = {"2d106det": 192, "1k3d68": 192, "2dfan4": 256}
FIVE = np.array([[-0.15, -0.1], [0.15, -0.12], [0.01, 0.05], [-0.1, 0.2], [0.12, 0.18]], np.float32)
"""Eyes, nose tip, mouth corners: distance from the red spot in shares of the crop's side."""


def offsets(kind: str) -> Floats:
    """(n, 2): of every point, in shares of the crop's side, so that the five come out as FIVE."""
    if kind == "2d106det":
        points = np.full((106, 2), 0.4, np.float32)
        points[[38, 88, 86, 52, 61]] = FIVE
        return points
    points = np.full((68, 2), -0.4, np.float32)
    points[36:42], points[42:48], points[[30, 48, 54]] = FIVE[0], FIVE[1], FIVE[2:]
    points[36:42, 0] += np.linspace(-0.05, 0.05, 6)
    points[42:48, 1] += np.linspace(-0.04, 0.04, 6)
    return points


def landmark_twin(kind: str) -> Any:
    """`data` (open, 3, 192, 192) of 0..255 -> `fc1` (1, 212 or 3309) of -1..1; or `input` (1, 3, 256, 256) of 0..1 -> `landmarks_xyscore`
    (1, 68, 3) in cells of 4 pixels and `heatmaps` (1, 68, 64, 64). All want red first."""
    return _heatmap_twin() if kind == "2dfan4" else _insightface_twin(kind)


def _insightface_twin(kind: str) -> Any:
    """It normalises by itself, with nodes named as MXNet's exporter names them. Before the 68 points of 1k3d68 come others."""
    size = SIZES[kind]
    points = offsets(kind) * 2
    width = 2 if kind == "2d106det" else 3
    rows = np.zeros((106 if width == 2 else 1103, width), np.float32)
    rows[-len(points) :, :2] = points
    follow = np.zeros_like(rows)
    follow[-len(points) :, :2] = 1
    nodes = [
        helper.make_node("Sub", ["data", "mean"], ["_minusscalar0"], name="_minusscalar0"),
        helper.make_node("Mul", ["_minusscalar0", "factor"], ["_mulscalar0"], name="_mulscalar0"),
        helper.make_node("Div", ["_mulscalar0", "factor"], ["plain"], name="undo"),
        *_spot("plain", "limit"),
        helper.make_node("Mul", ["spot", "two"], ["stretched"], name="stretch"),
        helper.make_node("Sub", ["stretched", "one"], ["placed"], name="place"),
        helper.make_node("Mul", ["placed", "follow"], ["moved"], name="move"),
        helper.make_node("Add", ["moved", "rows"], ["table"], name="add"),
        helper.make_node("Reshape", ["table", "flat"], ["fc1"], name="flat"),
    ]
    constants = {
        "mean": np.float32(127.5),
        "factor": np.float32(0.0078125),
        "limit": np.float32(100),
        "two": np.float32(2),
        "one": np.float32(1),
        "follow": follow,
        "rows": rows,
        "flat": np.array([1, -1], np.int64),
        **_grid(size, width),
    }
    output = helper.make_tensor_value_info("fc1", TensorProto.FLOAT, [1, rows.size])
    return _model(nodes, constants, helper.make_tensor_value_info("data", TensorProto.FLOAT, ["None", 3, size, size]), [output])


def _heatmap_twin() -> Any:
    size = SIZES["2dfan4"]
    points = np.zeros((1, 68, 3), np.float32)
    points[0, :, :2] = offsets("2dfan4")
    nodes = [
        *_spot("input", "limit"),
        helper.make_node("Add", ["spot", "points"], ["shares"], name="add"),
        helper.make_node("Mul", ["shares", "cells"], ["landmarks_xyscore"], name="cells"),
        helper.make_node("AveragePool", ["red"], ["small"], name="small", kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Expand", ["small", "heat_shape"], ["heatmaps"], name="heat"),
    ]
    constants = {
        "limit": np.float32(100 / 255),
        "points": points,
        "cells": np.array([64, 64, 1], np.float32),
        "heat_shape": np.array([1, 68, 64, 64], np.int64),
        **_grid(size, 3),
    }
    outputs = [
        helper.make_tensor_value_info("landmarks_xyscore", TensorProto.FLOAT, [1, 68, 3]),
        helper.make_tensor_value_info("heatmaps", TensorProto.FLOAT, [1, 68, 64, 64]),
    ]
    return _model(nodes, constants, helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size]), outputs)


def _spot(planes: str, limit: str) -> list[Any]:
    """`red` (1, 1, h, w): by how much a pixel is redder than `limit` over blue; `spot` (1, 1, 2 or 3): its centre in shares of the side."""
    return [
        helper.make_node("Conv", [planes, "pick"], ["excess"], name="pick", kernel_shape=[1, 1]),
        helper.make_node("Sub", ["excess", limit], ["over"], name="over"),
        helper.make_node("Relu", ["over"], ["red"], name="red"),
        helper.make_node("Mul", ["red", "grid"], ["weighed"], name="weigh"),
        helper.make_node("ReduceSum", ["weighed", "sides"], ["moments"], name="moments", keepdims=0),
        helper.make_node("ReduceSum", ["red", "sides"], ["mass"], name="mass", keepdims=0),
        helper.make_node("Add", ["mass", "little"], ["some"], name="some"),
        helper.make_node("Div", ["moments", "some"], ["centre"], name="centre"),
        helper.make_node("Reshape", ["centre", "row"], ["spot"], name="row"),
    ]


def _grid(size: int, width: int) -> dict[str, Array | np.float32]:
    shares = np.arange(size, dtype=np.float32) / size
    grid = np.zeros((1, width, size, size), np.float32)
    grid[0, 0], grid[0, 1] = shares, shares[:, None]
    return {
        "pick": np.array([1, 0, -1], np.float32).reshape(1, 3, 1, 1),
        "grid": grid,
        "sides": np.array([2, 3], np.int64),
        "little": np.float32(1e-6),
        "row": np.array([1, 1, width] if width == 3 and size == 256 else [1, width], np.int64),
    }


def _model(nodes: list[Any], constants: dict[str, Any], entry: Any, outputs: list[Any]) -> Any:
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "landmarks", [entry], outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
