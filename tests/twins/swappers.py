"""Stand-ins for the field's swap networks: the same names, shapes, ranges and quirks, and a known function inside.

A twin undoes the normalisation that its network was trained for, turns the planes round, dims them towards one corner and tints them by the
source. A wrong mean, order, template, converter, emap or denormalisation then shows in the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.types import Array, Floats

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HALF = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
PLAIN = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
_ORDER = (1, 2, 0)
_TINT = 0.2
_OPSET = 11


@dataclass(frozen=True)
class Quirks:
    """What a published network was trained to take and to give."""

    size: int
    source: tuple[int, ...] = (1, 512)
    normal: tuple[tuple[float, ...], tuple[float, ...]] = PLAIN
    denormalise: bool = False
    emap: str = ""
    """Name of the unused 512 x 512 weight at the end."""
    half: bool = False
    """Computes in float16 between casts, with float32 at both ends."""
    source_first: bool = True
    batch: int | str = 1
    more: str = ""
    """Name of a second output, a mask."""


TWINS = {
    "inswapper_128": Quirks(128, emap="buff2fs", source_first=False),
    "inswapper_128_fp16": Quirks(128, emap="emap", half=True, source_first=False),
    "hyperswap_1a_256": Quirks(256, normal=HALF, denormalise=True, more="mask"),
    "hyperswap_1b_256": Quirks(256, normal=HALF, denormalise=True, more="mask"),
    "hyperswap_1c_256": Quirks(256, normal=HALF, denormalise=True, more="mask"),
    "ghost_1_256": Quirks(256, normal=HALF, denormalise=True, source_first=False),
    "ghost_2_256": Quirks(256, normal=HALF, denormalise=True, source_first=False),
    "ghost_3_256": Quirks(256, normal=HALF, denormalise=True, source_first=False),
    "simswap_256": Quirks(256, normal=IMAGENET),
    "simswap_unofficial_512": Quirks(512),
    "hififace_unofficial_256": Quirks(256, normal=HALF, denormalise=True),
    "uniface_256": Quirks(256, (1, 3, 256, 256), HALF, denormalise=True),
    "blendswap_256": Quirks(256, (1, 3, 112, 112), batch="batch"),
}


def twin(name: str) -> Any:
    """The onnx.ModelProto: `target` and `source` in, `output` out; see `known`."""
    quirks = TWINS[name]
    mean, std = (np.array(each, np.float32).reshape(1, 3, 1, 1) for each in quirks.normal)
    weights = {
        "std": std, "mean": mean, "order": np.array(_ORDER, np.int64), "dim": _dim(quirks.size), "mix": _mix(quirks),
        "flat": np.array([1, -1], np.int64), "shape": np.array([1, 3, 1, 1], np.int64), "tint": np.float32(_TINT),
    }  # fmt: skip
    nodes = [
        ("Mul", ["target", "std"], "a"), ("Add", ["a", "mean"], "b"), ("Gather", ["b", "order"], "c"), ("Mul", ["c", "dim"], "d"),
        ("Reshape", ["source", "flat"], "e"), ("MatMul", ["e", "mix"], "f"), ("Sin", ["f"], "g"), ("Mul", ["g", "tint"], "h"),
        ("Reshape", ["h", "shape"], "i"), ("Add", ["d", "i"], "output"),
    ]  # fmt: skip
    if quirks.denormalise:
        nodes[-1] = ("Add", ["d", "i"], "j")
        nodes += [("Sub", ["j", "mean"], "k"), ("Div", ["k", "std"], "output")]
    if quirks.more:
        nodes.append(("ReduceMax", ["target"], quirks.more))
    if quirks.emap:
        weights[quirks.emap] = emap()
    return _model(name, quirks, nodes, weights)


def _model(name: str, quirks: Quirks, nodes: list[tuple[str, list[str], str]], weights: dict[str, Array]) -> Any:
    made = [helper.make_node(kind, takes, [gives], name=f"{kind}_{n}", **_attributes(kind)) for n, (kind, takes, gives) in enumerate(nodes)]
    if quirks.half:
        made, weights = _halved(made, weights)
    face = [quirks.batch, 3, quirks.size, quirks.size]
    ports = [("target", face), ("source", [quirks.batch, *quirks.source[1:]])]
    inputs = [helper.make_tensor_value_info(port, TensorProto.FLOAT, shape) for port, shape in ports]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, face)]
    if quirks.more:
        outputs.append(helper.make_tensor_value_info(quirks.more, TensorProto.FLOAT, [1, 1, quirks.size, quirks.size]))
    stored = [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()]
    graph = helper.make_graph(made, name, inputs[::-1] if quirks.source_first else inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=6)


def _attributes(kind: str) -> dict[str, Any]:
    return {"Gather": {"axis": 1}, "ReduceMax": {"axes": [1], "keepdims": 1}}.get(kind, {})


def _halved(nodes: list[Any], weights: dict[str, Array]) -> tuple[list[Any], dict[str, Array]]:
    """As converters to float16 leave a network that is to keep its inputs and outputs."""
    renamed = {"target": "target_half", "source": "source_half", "output": "output_half"}
    for node in nodes:
        node.input[:] = [renamed.get(each, each) for each in node.input]
        node.output[:] = [renamed.get(each, each) for each in node.output]
    cast = lambda a, b, to: helper.make_node("Cast", [a], [b], name=f"to_{b}", to=to)  # noqa: E731
    front = [cast(each, renamed[each], TensorProto.FLOAT16) for each in ("target", "source")]
    half = {key: value.astype(np.float16) if value.dtype == np.float32 else value for key, value in weights.items()}
    return [*front, *nodes, cast("output_half", "output", TensorProto.FLOAT)], half


def known(name: str, target: Array, source: Array) -> Floats:
    """What the twin computes: planes (1, 3, s, s) normalised as it wants them, and its source, to planes as it gives them."""
    quirks = TWINS[name]
    mean, std = (np.array(each, np.float32).reshape(1, 3, 1, 1) for each in quirks.normal)
    tint = np.sin(source.reshape(1, -1) @ _mix(quirks)).reshape(1, 3, 1, 1) * _TINT
    out = (target * std + mean)[:, _ORDER] * _dim(quirks.size) + tint
    return np.asarray((out - mean) / std if quirks.denormalise else out, np.float32)


def _dim(size: int) -> Floats:
    ramp = np.linspace(0, 1, size, dtype=np.float32)
    return (0.9 - 0.3 * ramp[None, :] - 0.2 * ramp[:, None]).reshape(1, 1, size, size).astype(np.float32)


def _mix(quirks: Quirks) -> Floats:
    """So large that the tint swings with the direction of an embedding, and with a picture's place in its crop."""
    count = int(np.prod(quirks.source[1:]))
    return (np.random.default_rng(11).standard_normal((count, 3)) * (1 if count == 512 else 2 / count**0.5)).astype(np.float32)


def emap() -> Floats:
    """The matrix of an inswapper twin; not orthogonal, so that lengths before and after it differ."""
    return (np.random.default_rng(12).standard_normal((512, 512)) / 512**0.5).astype(np.float32)
