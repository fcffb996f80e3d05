"""How long networks of the published size take on this machine: random weights, on the backend that `auto` takes, all cores."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from benchmarks.harness import Row
from realtime.backends.select import open_session
from realtime.errors import RealtimeError
from tests.twins.full import NETWORKS, counted, full_twin

ROLES = tuple(dict.fromkeys(network.role for network in NETWORKS.values()))
LONG = 6.0
"""Seconds after which a network is not run again."""
ROOM, ROOM_EACH = 1.5 * 2**30, 12
"""Bytes of memory at most while a network is made, compiled and run: for all, and for each of its weights."""


def arguments(parser: argparse.ArgumentParser, runs: int, networks: Sequence[str]) -> None:
    parser.add_argument("--runs", type=int, default=runs, metavar="N",
                        help=f"most runs of each network of the published size; 0: none [{runs}]")  # fmt: skip
    parser.add_argument("--networks", nargs="+", default=networks, choices=(*ROLES, *NETWORKS), metavar="NAME",
                        help=f"which of them: {', '.join(ROLES)}, or names of networks [{' '.join(networks)}]")  # fmt: skip


def of_published_size(folder: Path, wanted: Sequence[str], runs: int) -> list[Row]:
    """One at a time. Wall time of the fastest run after one that does not count."""
    if not runs:
        print("networks of the published size: not measured, --runs 0")
        return []
    names = [name for name, network in NETWORKS.items() if {name, network.role} & set(wanted)]
    return [row for name in names for row in _timed_if_there_is_room(name, folder / f"{name}.onnx", runs)]


def _timed_if_there_is_room(name: str, path: Path, runs: int) -> list[Row]:
    free, needed = psutil.virtual_memory().available, ROOM + ROOM_EACH * counted(name).weights
    if free < needed:
        print(f"{name} at full size: not measured, it takes {needed / 2**30:.0f} GiB of memory and {free / 2**30:.1f} are free")
        return []
    try:
        return [_timed(name, path, runs)]
    except RealtimeError as error:
        print(f"{name} at full size: not measured, {error}")
        return []
    finally:
        path.unlink(missing_ok=True)
        gc.collect()


def _timed(name: str, path: Path, runs: int) -> Row:
    full_twin(name, path)
    gc.collect()
    with open_session(path, threads=os.cpu_count() or 1) as session:
        path.unlink()
        for array in session.inputs.values():
            array[...] = np.random.default_rng(0).random(array.shape)
        taken, count = _fastest(session.run, runs)
        net, estimated = counted(name), ", a layout of our own" if NETWORKS[name].estimated else ""
        counts = f"{net.weights / 1e6:.3g} M weights, {net.products / 1e9:.3g} G multiply-adds{estimated}"
        return Row(f"{name} at full size", "the network", taken, "ms", None, f"{session.backend}; {counts}; best of {count}")


def _fastest(run: Callable[[], object], runs: int) -> tuple[float, int]:
    """Milliseconds, and how many runs counted."""
    times: list[float] = []
    begun = perf_counter()
    run()
    while len(times) < runs and (not times or perf_counter() - begun < LONG):
        start = perf_counter()
        run()
        times.append((perf_counter() - start) * 1e3)
    return min(times), len(times)
