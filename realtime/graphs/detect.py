"""YuNet as one graph: a frame in, faces out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from realtime.errors import ModelError
from realtime.graphs import networks, sampling
from realtime.graphs.builder import Graph, Value
from realtime.types import Floats

STRIDES = (8, 16, 32)
SAME_FACE = 0.3
"""Overlap from which two boxes are one face."""
CANDIDATES = 64
"""Best-scored cells that are looked at."""
ROUNDS = 16
"""Rounds of suppression: exact while no chain of ever worse boxes, each overlapping the one before, is longer. Faces give two or three."""
_SOUND = 1e30


def detect(network: Path | Any, *, score: float = 0.6, gather_bytes: bool = False) -> Any:
    """A ModelProto: `frame` (height, width, 3) uint8 -> `boxes` (64, 4), `points` (64, 5, 2), `scores` (64,) float32, the best first.

    `network` is a YuNet whose input is a fixed square. Boxes are x0, y0, x1, y1 and points x, y in frame pixels; rows that are no face,
    or the same as a better one, have the score 0. Raises ModelError when the network is another one.
    """
    loaded = networks.load(network)
    size = _input_size(loaded)
    graph = Graph(networks.common_opset(loaded))
    frame = graph.input("frame", np.uint8, ("height", "width", 3))
    image, scale = sampling.letterbox(graph, sampling.pixels(graph, frame, gather_bytes=gather_bytes), size)
    heads = networks.splice(graph, loaded, "detector/", {networks.inputs(loaded)[0].name: sampling.planes(image, rgb=False)})
    boxes, points, scores = decode(graph, heads, size, score)
    graph.output("boxes", in_frame(boxes, scale), np.float32, (CANDIDATES, 4))
    graph.output("points", in_frame(points, scale).reshape(-1, 5, 2), np.float32, (CANDIDATES, 5, 2))
    graph.output("scores", scores * kept(graph, boxes, scores), np.float32, (CANDIDATES,))
    return graph.model("detect")


def _input_size(network: Any) -> int:
    ports = networks.inputs(network)
    if len(ports) != 1 or not ports[0].is_square_image or ports[0].shape[2] % STRIDES[-1]:
        shapes = [port.shape for port in ports]
        raise ModelError(f"YuNet takes a square of a multiple of 32 pixels: expected one (1, 3, n, n), got {shapes}")
    expected = {f"{head}_{stride}" for head in ("cls", "obj", "bbox", "kps") for stride in STRIDES}
    if missing := expected - {port.name for port in networks.outputs(network)}:
        raise ModelError(f"this network is not YuNet: it has no outputs {sorted(missing)}")
    return ports[0].shape[2]


def decode(graph: Graph, heads: dict[str, Value], size: int, score: float) -> tuple[Value, Value, Value]:
    """The best cells: boxes (64, 4) x0, y0, x1, y1, points (64, 10) and scores (64,), in input pixels, sorted; below `score` it is 0.

    Offsets and logarithms of sizes are in strides; the score is the geometric mean of class and objectness.
    """
    with graph.scope("decode"):
        classes, objects = (_heads(graph, heads, name, 1).clip(0.0, 1.0) for name in ("cls", "obj"))
        rows = _rows(graph, _heads(graph, heads, "bbox", 4), _heads(graph, heads, "kps", 10), size)
        scores = (classes * objects).sqrt().reshape(-1)
        good = (scores >= score) & (rows.abs().sum(1) <= _SOUND)
        best, index = graph.ops("TopK", 2, good.where(scores, 0.0), [CANDIDATES], axis=0)
        picked = rows.take(index, 0)
        return picked.part(0, 4, 1), picked.part(4, 14, 1), best


def _heads(graph: Graph, heads: dict[str, Value], name: str, width: int) -> Value:
    """One kind of output of all three grids, (cells, width)."""
    return graph.concat(*(heads[f"{name}_{stride}"].reshape(-1, width) for stride in STRIDES), axis=0)


def _rows(graph: Graph, boxes: Value, points: Value, size: int) -> Value:
    """(cells, 14): corners and points in input pixels."""
    cells, strides = cell_grid(size)
    centre, half = boxes.part(0, 2, 1) + cells, graph.op("Exp", boxes.part(2, 4, 1)) * 0.5
    moved = points + np.tile(cells, (1, 5))
    return graph.concat(centre - half, centre + half, moved, axis=1) * strides


def cell_grid(size: int) -> tuple[Floats, Floats]:
    """Column and row (cells, 2) and stride (cells, 1) of every cell, in the order of the outputs."""
    cells, strides = [], []
    for stride in STRIDES:
        side = size // stride
        rows, columns = np.divmod(np.arange(side * side), side)
        cells.append(np.stack([columns, rows], axis=1))
        strides.append(np.full((side * side, 1), stride))
    return np.concatenate(cells).astype(np.float32), np.concatenate(strides).astype(np.float32)


def kept(graph: Graph, boxes: Value, scores: Value, *, rounds: int = ROUNDS) -> Value:
    """1 for each box (k, 4) that no better kept one overlaps, else 0: (k,) float32. The boxes must be sorted by `scores` (k,).

    Greedy suppression without NonMaxSuppression, which TensorRT-RTX cannot build, and without a loop. Whether a box stays depends on better
    ones only, so to judge all of them at once by the last round's answer settles at least one more box a round: after n rounds all
    boxes at the end of a chain of fewer than n overlaps are right. An even number of rounds errs towards keeping one too many.
    """
    with graph.scope("kept"):
        better = np.triu(np.ones((CANDIDATES, CANDIDATES), np.float32), 1)
        clash = (overlaps(graph, boxes) > SAME_FACE).where(better, 0.0)
        candidates = (scores > 0.0).cast(np.float32)
        kept = candidates
        for _ in range(rounds):
            beaten = (clash * kept.reshape(-1, 1)).max(0)
            kept = candidates * (1.0 - beaten)
        return kept


def overlaps(graph: Graph, boxes: Value) -> Value:
    """Intersection over union of each pair of boxes (k, 4): (k, k)."""
    low, high = boxes.part(0, 2, 1), boxes.part(2, 4, 1)
    sides = (high - low).at_least(0.0)
    area = sides.take(0, 1) * sides.take(1, 1)
    ends = graph.op("Unsqueeze", high, [1]).at_most(graph.op("Unsqueeze", high, [0]))
    starts = graph.op("Unsqueeze", low, [1]).at_least(graph.op("Unsqueeze", low, [0]))
    shared = (ends - starts).at_least(0.0)
    common = shared.take(0, 2) * shared.take(1, 2)
    union = area.reshape(-1, 1) + area.reshape(1, -1) - common
    return common / union.at_least(1e-12)


def in_frame(pairs: Value, scale: Value) -> Value:
    """Pairs x, y (k, 2n) from input to frame pixels; half a pixel because sizes scale about the corner and we count pixel centres."""
    return ((pairs.reshape(CANDIDATES, -1, 2) + 0.5) * scale - 0.5).reshape(CANDIDATES, -1)
