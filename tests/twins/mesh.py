"""A stand-in for the face mesh network that puts the same face into every crop, so that one knows where it must come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.models.landmarks.fake import mesh_at
from realtime.types import Array, Floats

SIZE = 192
LOGIT = 3.0


def mesh_in_crop() -> Floats:
    """(468, 3): the face that the twin sees in a black crop, in crop pixels."""
    points = mesh_at(96, 100, 128, angle=4).points
    points[:, 2] = np.linspace(-30, 30, len(points))
    return points


def mesh_twin() -> Any:
    """Planes (1, 3, 192, 192) in; `mesh` (1, 1, 1, 1404) and `logit` (1, 1, 1, 1) out.

    The mesh is moved by what the crop shows (see `mesh_of`): a wrong order of channels or a wrong scale then moves every landmark.
    """
    initializers = [
        numpy_helper.from_array(mesh_in_crop().reshape(1, 1, 1, -1), "face"),
        numpy_helper.from_array(np.array(_PULL, np.float32).reshape(1, 3, 1, 1), "pull"),
        numpy_helper.from_array(np.full((1, 1, 1, 1), LOGIT, np.float32), "certain"),
    ]
    nodes = [
        helper.make_node("GlobalAveragePool", ["planes"], ["means"], name="means"),
        helper.make_node("Conv", ["means", "pull"], ["shift"], name="pull"),
        helper.make_node("Add", ["face", "shift"], ["mesh"], name="place"),
        helper.make_node("Add", ["shift", "certain"], ["logit"], name="judge"),
    ]
    inputs = [helper.make_tensor_value_info("planes", TensorProto.FLOAT, [1, 3, SIZE, SIZE])]
    outputs = [
        helper.make_tensor_value_info("mesh", TensorProto.FLOAT, [1, 1, 1, 468 * 3]),
        helper.make_tensor_value_info("logit", TensorProto.FLOAT, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph(nodes, "mesh_twin", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


_PULL = (3.0, -2.0, 5.0)


def mesh_of(planes: Array) -> tuple[Floats, float]:
    """What `mesh_twin` gives for planes (1, 3, 192, 192)."""
    shift = float(planes.mean((0, 2, 3)) @ np.array(_PULL))
    return mesh_in_crop() + np.float32(shift), LOGIT + shift
