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
DISTINCT = tuple(name for name in TWINS if not name.startswith(("hyperswap_1b", "hyperswap_1c", "ghost_2", "ghost_3")))
"""The others of a family differ in their weights only."""


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


DFM_SIZE = 160
_GAINS = (0.9, 0.7, 0.5)


def dfm_twin(*, morphs: bool = True) -> Any:
    """`in_face:0` (open batch, s, s, 3) and `morph_value:0` (1,) in; picture and two masks out, as tf2onnx names them."""
    size = DFM_SIZE
    weights = {"gains": np.array(_GAINS, np.float32), "part": np.float32(0.3), "zero": np.float32(0)}
    weights |= {"seen": dfm_masks()[0][None, :, :, None], "drawn": dfm_masks()[1][None, :, :, None], "axes": np.array([3], np.int64)}
    nodes = [
        ("Mul", ["in_face:0", "gains"], "a"), ("Mul", ["morph_value:0" if morphs else "part", "part"], "b"), ("Add", ["a", "b"], "c"),
        ("Identity", ["c"], "out_celeb_face:0"), ("ReduceMax", ["in_face:0"], "d"), ("Mul", ["d", "zero"], "e"),
        ("Add", ["e", "seen"], "out_face_mask:0"), ("Add", ["e", "drawn"], "out_celeb_face_mask:0"),
    ]  # fmt: skip
    made = [helper.make_node(kind, takes, [gives], name=f"{kind}_{n}") for n, (kind, takes, gives) in enumerate(nodes)]
    made[4].attribute.extend([helper.make_attribute("axes", [3]), helper.make_attribute("keepdims", 1)])
    ports = [("in_face:0", ["unk__1", size, size, 3]), *([("morph_value:0", [1])] if morphs else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports]
    sizes = {"out_face_mask:0": 1, "out_celeb_face:0": 3, "out_celeb_face_mask:0": 1}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["unk__2", size, size, depth]) for name, depth in sizes.items()]
    stored = [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()]
    graph = helper.make_graph(made, "dfm", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


def dfm_known(face: Array, morph: float) -> Floats:
    """What it makes of pixels (h, w, 3) BGR 0..1."""
    return np.asarray(face * np.array(_GAINS, np.float32) + np.float32(0.3) * np.float32(morph), np.float32)


def dfm_masks() -> tuple[Floats, Floats]:
    """The face seen and the face drawn: two discs beside each other, (s, s)."""
    y, x = np.mgrid[:DFM_SIZE, :DFM_SIZE] / DFM_SIZE
    seen, drawn = ((x - at) ** 2 + (y - 0.5) ** 2 < 0.16 for at in (0.46, 0.54))
    return seen.astype(np.float32), drawn.astype(np.float32)


LAYERS, DRAWN, _CELLS = 18, 256, 4


def encoder_twin() -> Any:
    """`input` (1, 3, 256, 256) in, `codes` (1, 18, 512) out: see `encoded`."""
    side = 256 // _CELLS
    weights = {"mix": _code_mix(), "row": np.array([1, -1], np.int64), "codes_shape": np.array([1, LAYERS, 512], np.int64)}
    nodes = [
        helper.make_node("AveragePool", ["input"], ["a"], name="cells", kernel_shape=[side, side], strides=[side, side]),
        helper.make_node("Reshape", ["a", "row"], ["b"], name="row"),
        helper.make_node("MatMul", ["b", "mix"], ["c"], name="mix"),
        helper.make_node("Reshape", ["c", "codes_shape"], ["codes"], name="codes"),
    ]
    return _one_to_one("encoder", nodes, weights, ("input", [1, 3, 256, 256]), ("codes", [1, LAYERS, 512]))


def encoded(planes: Array) -> Floats:
    """What `encoder_twin` gives for planes (1, 3, 256, 256): the means of 4 x 4 cells, mixed."""
    side = 256 // _CELLS
    cells = planes.reshape(3, _CELLS, side, _CELLS, side).mean((2, 4))
    return np.asarray((cells.ravel() @ _code_mix()).reshape(1, LAYERS, 512), np.float32)


def generator_twin() -> Any:
    """`styles` (1, 18, 512) in, `image` (1, 3, 256, 256) out: see `drawn`."""
    weights = {"read": _read().reshape(-1, 3), "ramp": _ramp()}
    weights |= {"row": np.array([1, -1], np.int64), "shape": np.array([1, 3, 1, 1], np.int64)}
    nodes = [
        helper.make_node("Reshape", ["styles", "row"], ["a"], name="row"),
        helper.make_node("MatMul", ["a", "read"], ["b"], name="read"),
        helper.make_node("Tanh", ["b"], ["c"], name="limit"),
        helper.make_node("Reshape", ["c", "shape"], ["d"], name="spread"),
        helper.make_node("Mul", ["d", "ramp"], ["image"], name="draw"),
    ]
    return _one_to_one("generator", nodes, weights, ("styles", [1, LAYERS, 512]), ("image", [1, 3, DRAWN, DRAWN]))


def drawn(codes: Array) -> Floats:
    """What `generator_twin` gives for codes (1, 18, 512): a tint that each layer has its own part in, weaker towards one side."""
    tint = np.tanh(codes.reshape(1, -1) @ _read().reshape(-1, 3))
    return np.asarray(tint.reshape(1, 3, 1, 1) * _ramp(), np.float32)


def _one_to_one(name: str, nodes: list[Any], weights: dict[str, Array], takes: tuple[str, Any], gives: tuple[str, Any]) -> Any:
    stored = [numpy_helper.from_array(value, key) for key, value in weights.items()]
    ports = [helper.make_tensor_value_info(port, TensorProto.FLOAT, shape) for port, shape in (takes, gives)]
    graph = helper.make_graph(nodes, name, ports[:1], ports[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _code_mix() -> Floats:
    return np.random.default_rng(13).standard_normal((3 * _CELLS * _CELLS, LAYERS * 512)).astype(np.float32)


def _read() -> Floats:
    """(18, 512, 3): the tint's share in each number of each layer."""
    return (np.random.default_rng(14).standard_normal((LAYERS, 512, 3)) / 400).astype(np.float32)


def _ramp() -> Floats:
    return np.broadcast_to(np.linspace(1, 0.5, DRAWN, dtype=np.float32), (1, 1, DRAWN, DRAWN)).copy()
