"""One network at half precision, as an ONNX file; `quantise` writes it in 8 bits.

Precision lives in the graph: TensorRT from version 11 on, TensorRT-RTX and OpenVINO all take it from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import version_converter

from realtime.backends.onnxruntime import load
from realtime.builder.source import check
from realtime.errors import ModelError
from realtime.types import Array

FULL_PRECISION_OPS = frozenset(
    {
        "BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LpNormalization", "RMSNormalization",
        "ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp",
        "GlobalAveragePool", "Softmax", "LogSoftmax", "Exp", "Log", "Pow", "CumSum", "GridSample",
    }
)  # fmt: skip
"""Sums over many values, and functions that grow fast: what half precision (11 bits, up to 65504) loses most in."""
HALF_MAX = 65504.0
_HEADROOM = 4.0
"""Other faces than those of the calibration reach further."""
_OPSET, _OLDEST_OPSET = 17, 13
_ADDED = re.compile(r"(graph_input_cast\d+|_output_cast\d+|_cast_to_fp16_node)$")
"""Names of the casts that the converter, in its older and newer versions, adds behind inputs and nodes that stay fp32."""
_PROBED = 6
"""Samples that all inner values are looked at on; they are many."""

Samples = Sequence[Mapping[str, Array]]
"""What the network is fed, one mapping a run."""


def fp16(source: Path, target: Path, samples: Samples) -> list[str]:
    """Write a half-precision copy with fp32 inputs and outputs.

    Norms and reductions stay fp32, and so do nodes whose values come near the end of the range on `samples`: their names are returned.
    Raises ModelError when a weight does not fit into half precision.
    """
    load()
    from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

    model = modern(check(source))
    _check_weights(model)
    hot = saturating(source, samples)
    blocked = sorted({*DEFAULT_OP_BLOCK_LIST, *FULL_PRECISION_OPS})
    converted = convert_float_to_float16(model, keep_io_types=True, op_block_list=blocked, node_block_list=hot)
    onnx.save(_without_detours(converted), target)
    return hot


def saturating(source: Path, samples: Samples, limit: float = HALF_MAX / _HEADROOM) -> list[str]:
    """Names of the nodes that give, or take, values beyond `limit` on any of the samples. Nodes without a name cannot be told."""
    model = _named(onnx.load(source))
    produced = _floats(model)
    largest = dict.fromkeys(produced, 0.0)
    for values in inner_values(model, produced, samples[:_PROBED]):
        for name, value in values.items():
            largest[name] = max(largest[name], float(np.abs(value).max(initial=0.0)))
    hot = {name for name, value in largest.items() if not value <= limit}
    return [node.name for node in model.graph.node if hot & {*node.output, *node.input}]


def modern(model: Any) -> Any:
    """In an opset that knows a scale for each channel (13 on); files of swap networks are often older."""
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), _OPSET)
    return model if opset >= _OLDEST_OPSET else version_converter.convert_version(model, _OPSET)


def _without_detours(model: Any) -> Any:
    """Nodes that stay fp32 hand each other fp32: the converter has them round to half precision, and overflow, in between."""
    half, full = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    added = [node for node in model.graph.node if _ADDED.search(node.name)]  # a Cast of the network's own may begin at integers
    rounded = {node.output[0]: node.input[0] for node in added if _casts_to(node, half)}
    direct = {node.output[0]: rounded[node.input[0]] for node in model.graph.node if _casts_to(node, full) and node.input[0] in rounded}
    outputs = {port.name for port in model.graph.output}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = direct.get(name, name)
        if _casts_to(node, full) and node.output[0] in outputs and node.output[0] in direct:
            node.CopyFrom(onnx.helper.make_node("Identity", [direct[node.output[0]]], [node.output[0]], name=node.name))
    _drop_unused(model.graph, outputs)
    _sort(model.graph)
    return model


def _sort(graph: Any) -> None:
    """Each node behind those that feed it, as ONNX demands: the converter adds its casts at the end."""
    waiting = list(graph.node)
    made = {name for node in waiting for name in node.output} - {""}
    done: list[Any] = []
    while waiting:
        ready = [node for node in waiting if not made & set(reads(node))]
        if not ready:
            raise ModelError("the network is a circle: export it anew")
        done += ready
        made -= {name for node in ready for name in node.output}
        waiting = [node for node in waiting if made & set(node.output)]
    del graph.node[:]
    graph.node.extend(done)


def reads(node: Any) -> Iterator[str]:
    """What a node needs, its branches included."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from reads(inner)


def _casts_to(node: Any, element: int) -> bool:
    return bool(node.op_type == "Cast" and node.attribute[0].i == element)


def _drop_unused(graph: Any, outputs: set[str]) -> None:
    """Casts that nobody reads any more, last first."""
    used = outputs | {name for node in graph.node for name in node.input}
    for node in list(graph.node)[::-1]:
        if node.op_type == "Cast" and not used & set(node.output):
            graph.node.remove(node)
            used = outputs | {name for other in graph.node for name in other.input}


def _check_weights(model: Any) -> None:
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        largest = float(np.abs(onnx.numpy_helper.to_array(tensor)).max(initial=0.0))
        if not largest <= HALF_MAX:
            raise ModelError(f"the weight {tensor.name} reaches {largest:g}, half precision ends at {HALF_MAX:g}: build fp32 or int8")


def _named(model: Any) -> Any:
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{index}"
    return model


def _floats(model: Any) -> list[str]:
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {v.name: v.type.tensor_type.elem_type for v in [*inferred.graph.value_info, *inferred.graph.output]}
    inner = [name for node in model.graph.node for name in node.output if name]
    return [name for name in inner if known.get(name) == onnx.TensorProto.FLOAT]


def inner_values(model: Any, names: Sequence[str], samples: Samples) -> Iterator[dict[str, Array]]:
    """For each sample the values of these tensors."""
    onnxruntime = load()
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    have = {output.name for output in probe.graph.output}
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in have)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for sample in samples:
        yield dict(zip(names, session.run(list(names), dict(sample)), strict=True))
