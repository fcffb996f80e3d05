"""What the builder's precisions bring on this processor, judged by its gate: the default models, and a swap network of inswapper's size."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import cv2
import onnx

from benchmarks import harness, stages
from benchmarks.harness import Limit, Row
from realtime.builder import scenes
from realtime.builder.candidate import Candidate
from realtime.builder.gate import Verdict
from realtime.builder.model import tried
from realtime.builder.recipes import DEFAULT_MODELS, Network, Part, Recipe
from realtime.builder.run import available
from realtime.builder.workshop import Available, Workshop
from realtime.commands.engines import scenes_from
from realtime.machine import cores
from realtime.models.catalog import MODELS
from realtime.models.store import ModelStore
from realtime.storage import model_store
from tests.twins.inswapper import full_twin

SUMMARY = "fp32, bf16 and int8 on this processor, with the builder's quality figures, and the per-frame path on OpenVINO and ONNX Runtime"
TWIN = "inswapper_128 twin"
BEST = "best that passed, times faster"
CPUINFO = Path("/proc/cpuinfo")
BASE = ("onnxruntime", "fp32")
CANDIDATES = (BASE, ("openvino", "fp32"), ("openvino", "fp16"), ("openvino", "int8"))
LIMITS = {"amx_int8": "twin_amx", "avx512_vnni": "twin_vnni"}
"""Instructions of the processor, best first -> the limit that goes with them. Others have none: 8-bit products are what they lack."""
INSTRUCTIONS = {"amx_int8": "AMX", "avx512_vnni": "AVX-512 VNNI"}
EVERY = 3
"""Of the pictures that the twin is judged on: it takes seconds for each. Both people are among them."""
BLOCK, ROUNDS = 10, 20
"""Frames in a row on one backend, and how often each has its turn: short, so that what else the machine does befalls all of a round."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--width", type=float, default=1.0, metavar="X", help="scale the twin's channels, for a quick try [1]")
    parts = (*DEFAULT_MODELS, "twin", "path")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="PART", help=f"of {', '.join(parts)} [all]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits, rows = harness.budgets("engines"), []
    with tempfile.TemporaryDirectory(prefix="realtime-engines-") as folder:
        for network, candidates in measured(Path(folder), options):
            rows += table(network, candidates, limits if options.width == 1 else {})
    if "path" in options.only:
        rows += path(limits)
    settings = {
        "only": options.only,
        "threads": {TWIN: cores(), "others": 1},
        "twin_width": options.width,
        "instructions": instructions(),
        "turns": (ROUNDS, BLOCK),
    }
    return harness.finish("engines", rows, settings, options.json)


def measured(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, list[Candidate]]]:
    """Each network's candidates, built, judged on the bundled people and timed in turns, with as many threads as a run gives it."""
    store = model_store()
    store.ensure(DEFAULT_MODELS)
    chosen = [each for each in networks(store) if each.name in options.only]
    if not chosen and "twin" not in options.only:
        return
    with workshop(folder, store) as shop:
        for network in chosen:
            yield network.name, tried(shop, network, CANDIDATES)[1]
            shop.place = (shop.place[0] + 1, len(options.only))
        if "twin" in options.only:
            scenes.save(scenes.load(shop.scene_file)[::EVERY], shop.scene_file)
            yield TWIN, tried(shop, twin(folder, options.width), CANDIDATES)[1]


@contextmanager
def workshop(folder: Path, store: ModelStore) -> Iterator[Workshop]:
    targets: dict[str, Available] = {}
    for name in dict.fromkeys(target for target, _ in CANDIDATES):
        targets |= available(name, folder)
    shop = Workshop(folder, folder, targets, (), 1, True, lambda text, done, total: print(f"  {text}", flush=True))
    shop.recogniser = store.path("sface")
    scenes_from(store, None)(shop.scene_file)
    yield shop


def networks(store: ModelStore) -> list[Network]:
    return [Network(name, (Part(store.path(name), MODELS[name].role),), MODELS[name].role) for name in DEFAULT_MODELS]


def twin(folder: Path, width: float) -> Network:
    """Written here: half a gigabyte of random weights, which nobody needs to keep."""
    file = folder / "inswapper_128.onnx"
    onnx.save(full_twin(width), file)
    return Network(TWIN, (Part(file, "swapper"),), "swapper", Recipe())


def table(network: str, candidates: Sequence[Candidate], limits: Mapping[str, Limit]) -> list[Row]:
    """Milliseconds and verdict of each, and how much faster the best one that passed is than ONNX Runtime at fp32."""
    limit, others = (bound(limits), unshown(limits)) if network == TWIN else (None, [])
    return [*(row(network, each) for each in candidates), faster(network, candidates, limit), *others]


def faster(network: str, candidates: Sequence[Candidate], limit: Limit | None) -> Row:
    """Without anything to compare with it is no number, which keeps no limit."""
    base = candidates[CANDIDATES.index(BASE)]
    good = [each for each in candidates if each.verdict is Verdict.PASSED]
    if base not in good:
        return Row(network, BEST, float("nan"), "x", limit, "ONNX Runtime at fp32 was not measured")
    best = min(good, key=ms)
    return Row(network, BEST, ms(base) / ms(best), "x", limit, f"{best.target} {best.precision}")


def unshown(limits: Mapping[str, Limit]) -> list[Row]:
    """The limits of other processors, as rows that say so."""
    has, mine = instructions(), bound(limits)
    others = {name: limits[key] for name, key in LIMITS.items() if key in limits and limits[key] is not mine}
    why = {name: "this processor has better" if name in has else "this processor has none" for name in others}
    return [
        Row(TWIN, f"with {INSTRUCTIONS[name]}", float("nan"), "x", note=f"{limit} is asked for; not put to the test: {why[name]}")
        for name, limit in others.items()
    ]


def row(network: str, each: Candidate) -> Row:
    half = "bf16" if each.target == "openvino" and each.precision == "fp16" else each.precision
    precision = each.built["arithmetic"] if each.built else half
    metric = f"{each.target} {'fp32' if precision == 'f32' else precision}"
    if each.judgement is None:
        return Row(network, metric, float("nan"), "ms", note=f"not built: {each.error}")
    figures = " ".join(f"{name} {value:.4g}" for name, value in each.judgement.figures.items())
    verdict = "passed" if each.verdict is Verdict.PASSED else f"rejected: {each.judgement.reason}"
    return Row(network, metric, ms(each), "ms", note=f"{verdict}; {figures}")


def ms(each: Candidate) -> float:
    taken = each.judgement.ms if each.judgement else None
    return taken if taken is not None else float("nan")


def bound(limits: Mapping[str, Limit]) -> Limit | None:
    """The limit for this processor; None where it has none of the instructions, as on any but x86."""
    has = instructions()
    return next((limits.get(key) for name, key in LIMITS.items() if name in has), None)


def instructions(told: Path = CPUINFO) -> list[str]:
    """Of those that limits go by, what the processor says it has. Empty where the system does not tell (only Linux does)."""
    try:
        lines = told.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    return [name for name in LIMITS if name in flags]


def path(limits: Mapping[str, Limit]) -> list[Row]:
    """The per-frame path on both libraries, and as it is by default, which is OpenVINO with our own code for the mesh network.

    Thread CPU time, in turns, so that what else goes on befalls all.
    """
    with ExitStack() as cleanup:
        paths = {name: partial(next, stages.Bench(cleanup, name).frames("720p_258px")) for name in ("auto", "openvino", "onnxruntime")}
        taken = harness.by_turns(paths, ROUNDS, BLOCK)
    words = {"follow": "follow (region, mesh network, smoothing)", stages.TOGETHER: stages.TOGETHER}
    parts = {(name, part): [frame[part] for frame in frames] for part in words for name, frames in taken.items()}
    rows = [harness.steady("path 1280x720", f"{words[part]}, {name}", values, BLOCK) for (name, part), values in parts.items()]
    for part, word in {"follow": "following", stages.TOGETHER: "all of it"}.items():
        for name in ("openvino", "auto"):
            limit = limits.get("path") if part == stages.TOGETHER else None
            both = parts["onnxruntime", part], parts[name, part]
            rows.append(harness.ratio("path 1280x720", f"{word}, {name} times faster than onnxruntime", *both, BLOCK, limit))
    return rows
