"""Runs a ModelProto from memory on a real runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from realtime.backends import onnxruntime as backend
from realtime.graphs.builder import Graph, Value
from realtime.types import Array

Run = Callable[..., dict[str, Array]]
"""Takes the inputs by name, gives the outputs by name."""
RUNTIMES = ("onnxruntime", "openvino")


def load(model: Any, runtime: str) -> Run:
    return _onnxruntime(model) if runtime == "onnxruntime" else _openvino(model)


def loaded(build: Callable[[Graph], None], runtime: str) -> Run:
    """A graph put together by `build`, ready to run."""
    graph = Graph()
    build(graph)
    return load(graph.model("test"), runtime)


def unary(function: Callable[[Graph, Value], Value], shape: list[int | str], runtime: str) -> Callable[[Array], Array]:
    """One piece with one float32 input as a function on arrays."""

    def build(graph: Graph) -> None:
        graph.output("y", function(graph, graph.input("x", np.float32, shape)), np.float32, [])

    graph = Graph()
    build(graph)
    model = graph.model("unary")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    run = load(model, runtime)
    return lambda x: run(x=np.asarray(x, np.float32))["y"]


def _onnxruntime(model: Any) -> Run:
    ort = backend.load()  # by way of our own loader, which keeps its telemetry off
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda **feeds: dict(zip(names, session.run(None, feeds), strict=True))


def _openvino(model: Any) -> Run:
    ov = pytest.importorskip("openvino")
    core = ov.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    request = core.compile_model(core.read_model(model.SerializeToString()), "CPU", options).create_infer_request()
    names = [output.name for output in model.graph.output]
    return lambda **feeds: {name: np.array(value) for name, value in zip(names, request.infer(feeds).values(), strict=True)}
