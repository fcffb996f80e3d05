"""What a network that is no swap network seems to be, told by its ports, and which option takes such a one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from realtime.models.peek import Peek

Shape = tuple[int, ...]
"""An open size is 0."""
_EMBEDDINGS: Final = (128, 512)
_POINTS: Final = (212, 1404, 1434, 3309)
"""Numbers of 106 points, 468 and 478 of a mesh, and 1103 of which the last 68 are those of a face."""
_YOLO: Final = (16, 20, 80)
"""Numbers for each candidate of YOLO-face, in its three forms."""


def seems(peek: Peek) -> str:
    """As the end of a sentence: "it looks like a face detector, which --detector takes"; empty when it looks like nothing known."""
    weights = {weight.name for weight in peek.network.graph.initializer}
    inputs = [shape_of(port) for port in peek.network.graph.input if port.name not in weights]
    outputs = [shape_of(port) for port in peek.network.graph.output]
    if len(inputs) != 1 or len(inputs[0]) != 4:
        return ""
    for fits, what, option in _KINDS:
        if fits(outputs):
            return f"it looks like {what}, which {option} takes"
    return ""


def shape_of(port: Any) -> Shape:
    return tuple(int(dim.dim_value) for dim in port.type.tensor_type.shape.dim)


def _is_detector(outputs: Sequence[Shape]) -> bool:
    """Scores, boxes and points in outputs of their own, or a table of candidates."""
    if len(outputs) >= 3:
        ends = {shape[-1] for shape in outputs if len(shape) in (2, 3)}
        return ends >= {4, 10} or all(len(shape) == 4 and shape[1] == _YOLO[-1] for shape in outputs)
    return len(outputs) == 1 and len(outputs[0]) == 3 and bool({*outputs[0][1:]} & {*_YOLO})


def _is_recogniser(outputs: Sequence[Shape]) -> bool:
    return len(outputs) == 1 and len(outputs[0]) == 2 and outputs[0][1] in _EMBEDDINGS


def _is_landmarker(outputs: Sequence[Shape]) -> bool:
    return any(shape[-1] in _POINTS or shape[-2:] == (68, 3) for shape in outputs if shape)


def _is_enhancer(outputs: Sequence[Shape]) -> bool:
    return len(outputs) == 1 and len(outputs[0]) == 4 and outputs[0][1] == 3


_KINDS: Sequence[tuple[Callable[[Sequence[Shape]], bool], str, str]] = (
    (_is_detector, "a face detector", "--detector"),
    (_is_recogniser, "a face recogniser", "--recogniser"),
    (_is_landmarker, "a landmark network", "--landmarker"),
    (_is_enhancer, "a face enhancer", "--enhance"),
)
