"""insightface's own loop and ours on the same pictures, with the same swap network, in the same run, by turns.

Theirs: `FaceAnalysis.get`, then `INSwapper.get(paste_back=True)` for every face, as its documentation has it. Ours: the infer stage
(follow, swap) and the paste. Both end with a BGR picture. What networks take is measured apart and subtracted: what is left, the overhead,
is the program's own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import floors, harness
from benchmarks.harness import Chart, Limit, Row

SUMMARY = "our path beside insightface's FaceAnalysis and INSwapper: total and overhead, same swap network, frames and threads"
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080)}
FACES = (1, 3)
OURS, THEIRS = "ours", "insightface"
WIDTH, ROUNDS, EACH = 300, 10, 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison, which has a process of its own."""

    size: str = "720p"
    faces: int = 1
    width: int = WIDTH
    """Of a face, in pixels."""
    rounds: int = ROUNDS
    each: int = EACH
    """Frames in a row of one side before the other has its turn."""


@dataclass(slots=True)
class Sides:
    """Side -> milliseconds of every frame: wall time in all, and thread CPU time but for the networks'."""

    total: dict[str, list[float]] = field(default_factory=dict)
    overhead: dict[str, list[float]] = field(default_factory=dict)


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
        found[cell] = Sides(**harness.report_of("benchmarks.peers", "--cell", json.dumps(asdict(cell))))
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


def main(arguments: list[str] | None = None) -> int:
    """One cell, in this process."""
    from benchmarks.contest import measure

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", type=json.loads, default={})
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    outcome: dict[str, Any] = asdict(measure(Cell(**options.cell)))
    options.json.write_text(json.dumps(outcome), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
