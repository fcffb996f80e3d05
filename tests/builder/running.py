"""Small networks run for real, and one whose values can be set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.backends.openvino import OpenVinoSession
from realtime.types import Array


def samples_of(path: Path, count: int = 4) -> list[dict[str, Array]]:
    random = np.random.default_rng(0)
    with OnnxRuntimeSession(path) as session:
        specs = session.specs.inputs
    return [{spec.name: random.uniform(-1, 1, spec.shape).astype(np.float32) for spec in specs} for _ in range(count)]


def output(session: OnnxRuntimeSession | OpenVinoSession, sample: dict[str, Array]) -> Array:
    with session:
        return next(iter(session.run(sample).values())).copy()


def scaled(path: Path, weight: float, gain: float = 1.0) -> Path:
    """y = mean over the pixels of (weight x) * gain, (1, 4, 8, 8) to (1, 4, 1, 1); the product is called `large`."""
    constants = [numpy_helper.from_array(np.full((4, 4, 1, 1), value, np.float32), name) for name, value in (("w", weight), ("g", gain))]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["large"], name="enlarge"),
        helper.make_node("Conv", ["large", "g"], ["small"], name="shrink"),
        helper.make_node("GlobalAveragePool", ["small"], ["y"], name="mean"),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 4, 8, 8]), ("y", [1, 4, 1, 1]))]
    graph = helper.make_graph(nodes, "scaled", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
