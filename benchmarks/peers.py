"""insightface's own loop and ours on the same pictures, with the same swap network, in the same run, by turns.

Theirs: `FaceAnalysis.get`, then `INSwapper.get(paste_back=True)` for every face, as its documentation has it. Ours: the infer stage
(follow, swap) and the paste. Both end with a BGR picture. What networks take is measured apart and subtracted: what is left, the overhead,
is the program's own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec

import numpy as np

from benchmarks import floors, harness
from benchmarks.cells import EACH, OURS, ROUNDS, SIZES, THEIRS, WIDTH, Cell, Sides
from benchmarks.harness import Chart, Limit, Row

SUMMARY = "our path beside insightface's FaceAnalysis and INSwapper: total and overhead, same swap network, frames and threads"
FACES = (1, 3)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="turns of each side, of 12 frames each [10]")
    parser.add_argument("--face", type=int, default=WIDTH, metavar="N", help="width of a face in pixels [300]")


def run(options: argparse.Namespace) -> int:
    if find_spec("insightface") is None:
        print("insightface is not installed, so that only our side is measured: pip install '.[peers]'")
    limits = harness.budgets("peers")
    calls = {named: call for size in SIZES.values() for named, call in floors.floors(size).items()}
    rows = floors.rows(harness.by_turns(calls, options.rounds, EACH), EACH)
    found = {}
    for cell in (Cell(size, faces, options.face, options.rounds) for size in SIZES for faces in FACES):
        found[cell] = Sides(**harness.report_of("benchmarks.contest", "--case", json.dumps(asdict(cell))))
        rows += rows_of(cell, found[cell], limits)
    settings = {"rounds": options.rounds, "frames": EACH, "threads": 1, "face": options.face, "network": "twin of inswapper_128"}
    return harness.finish("peers", rows, settings, options.json, [chart(found)])


def rows_of(cell: Cell, sides: Sides, limits: Mapping[str, Limit]) -> list[Row]:
    """The limits are for one face."""
    name = f"{cell.size}, {cell.faces} face{'s' if cell.faces > 1 else ''}"
    keys = limits if cell.faces == 1 else {}
    rows = []
    for side, values in sides.overhead.items():
        limit = keys.get(f"overhead_{cell.size}") if side == OURS else None
        rows += [
            harness.steady(name, f"{side}: total", sides.total[side], cell.each, note="wall time, a small network"),
            harness.steady(name, f"{side}: overhead", values, cell.each, limit),
        ]
    if THEIRS in sides.overhead:
        both = sides.overhead[THEIRS], sides.overhead[OURS]
        rows.append(harness.ratio(name, f"{THEIRS} over {OURS}", *both, cell.each, keys.get(f"ratio_{cell.size}"), "overhead"))
    return rows


def median(values: list[float]) -> float:
    return float(np.median(values))


def chart(found: Mapping[Cell, Sides]) -> Chart:
    words = [f"{cell.size}, {cell.faces} faces" for cell in found]
    series: dict[str, tuple[list[str], list[float]]] = {}
    for side in (OURS, THEIRS):
        values = [median(sides.overhead[side]) for sides in found.values() if side in sides.overhead]
        series |= {side: ([f"{word} {side}" for word in words], values)} if values else {}
    return Chart("overhead", "bars", "What the code around the same networks costs, one thread", "", "ms", series)
