"""Compile the kernels here for another, slower computer that sees these files: an emulated one compiles for many minutes.

    python -m tests.rig.prepare FOLDER [--processor nehalem]

`--processor`: the oldest one that is to run them, as LLVM names it (`x86-64-v2`, `nehalem`, `haswell`). Prints what to set, here and there.
Run once more over there, it tells whether all that was compiled is found.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import time
from pathlib import Path

WITH_KERNELS = ("realtime.vision", "realtime.models", "realtime.backends.native")
KINDS = ("mesh", "network")
"""What swaps: see `starting.kernels`."""


def settings(folder: Path, processor: str) -> dict[str, str]:
    """Numba finds what it compiled by the processor's name and features, which must be the same in both places; no features: the name's."""
    return {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder.resolve())}


def side_by_side() -> None:
    """What a start of the program warms up, in processes of their own, as a first start does it."""
    from realtime.starting.workers import Workers

    for kind in KINDS:
        with Workers(kind, os.cpu_count() or 1) as workers:
            workers.wait(lambda done, of, kind=kind: print(f"{kind}: {done} of {of}", flush=True))


def make_ready() -> None:
    """The same and all other functions that tell for what they are compiled, in this process: from the folder where they are there."""
    from realtime.starting.kernels import jobs

    for job in (job for kind in KINDS for job in jobs(kind).values()):
        job()
    for package in map(importlib.import_module, WITH_KERNELS):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            for function in vars(importlib.import_module(found.name)).values():
                getattr(function, "make_ready", lambda: None)()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processor", default="nehalem")
    options = parser.parse_args()
    wanted = settings(options.folder, options.processor)
    os.environ.update(wanted)  # before Numba is imported, which reads them then
    start, before = time.perf_counter(), kept(options.folder)
    if not before:
        side_by_side()
    make_ready()
    there = kept(options.folder)
    print(f"{len(there)} kernels in {time.perf_counter() - start:.0f} s, {len(there - before)} of them compiled, the others found")
    print("export", *(f"{name}='{value}'" for name, value in wanted.items()))


def kept(folder: Path) -> set[Path]:
    """Machine code that is there."""
    return set(folder.rglob("*.nbc"))


if __name__ == "__main__":
    main()
