"""One model's way to its engines: record, prepare, build, judge, choose, install."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from realtime.builder import candidate, gate
from realtime.builder.candidate import Candidate
from realtime.builder.gate import Judgement, Verdict
from realtime.builder.install import install
from realtime.builder.jobs import Job, value_of
from realtime.builder.recipes import Network
from realtime.builder.table import Row
from realtime.builder.workshop import Workshop

_LIMITS = {"record": 900.0, "refer": 900.0, "make": 1200.0, "build": 1200.0, "judge": 600.0}
"""Seconds: several times what a network of half a gigabyte takes on two slow cores."""
Forms = Mapping[tuple[int, str], Path]
"""Number of the part and form -> ONNX file."""


def build_model(shop: Workshop, network: Network, wanted: Sequence[str]) -> list[Row]:
    """Try everything, keep the best, install it; no rows for a graph that is for none of the targets.

    Raises BackendError when the model itself is of no use.
    """
    if not shop.targets_for(network):
        return []
    built_before = [candidate.waiting(entry, shop.folder) for entry in shop.waiting(network, wanted)]
    done = {each.target for each in built_before}
    missing = [name for name in shop.targets_for(network) if name not in done]
    ports, candidates = tried(shop, network, [(name, precision) for name in missing for precision in wanted], built_before)
    return install(shop, network, ports, candidates)


def tried(
    shop: Workshop, network: Network, pairs: Sequence[tuple[str, str]], built_before: Sequence[Candidate] = ()
) -> tuple[dict[str, Any], list[Candidate]]:
    """Candidates for each target and precision, built, judged and timed, after those that were built before; with the network's ports.

    Raises BackendError when the model itself is of no use.
    """
    work = shop.model_work
    work.mkdir()
    ports = _record(shop, network, work)
    fresh = [candidate.planned(name, precision, network, work) for name, precision in pairs]
    _build(shop, network, fresh, _prepare(shop, network, work, fresh))
    candidates = [*built_before, *fresh]
    _judge(shop, network, work, candidates)
    _race(shop, network, candidates)
    return ports, candidates


def _record(shop: Workshop, network: Network, work: Path) -> dict[str, Any]:
    """Run each part as it is, and then the whole; returns inputs and outputs of the last part."""
    jobs = [
        Job(
            f"{network.name}: running the original",
            "record",
            {
                "onnx": str(part.path),
                "role": part.role,
                "scene_file": str(shop.scene_file),
                "tools": shop.tools(network),
                "samples": str(_samples(work, index)),
                "reference": str(work / ("part.npz" if network.recipe.graph else "reference.npz")),
                "threads": shop.threads(network),
            },
            _LIMITS["record"],
        )
        for index, part in enumerate(network.parts)
    ]
    ports = [value_of(outcome) for outcome in shop.run(jobs, at_once=1)]
    if network.recipe.graph:
        value_of(shop.run([_refer_job(shop, network, work)])[0])
    return ports[-1]


def _refer_job(shop: Workshop, network: Network, work: Path) -> Job:
    arguments = {
        "graph": network.recipe.graph,
        "networks": [str(path) for path in network.paths],
        "role": network.role,
        "scene_file": str(shop.scene_file),
        "tools": shop.tools(network),
        "reference": str(work / "reference.npz"),
        "threads": shop.threads(network),
    }
    return Job(f"{network.name}: running the graph around the original", "refer", arguments, _LIMITS["refer"])


def _samples(work: Path, part: int) -> Path:
    return work / f"samples-{part}.npz"


def _prepare(shop: Workshop, network: Network, work: Path, candidates: Sequence[Candidate]) -> Forms:
    """The files of all forms; candidates whose form cannot be made get the reason."""
    wanted = sorted({pair for each in candidates for pair in enumerate(each.forms)})
    files = {(part, form): work / f"{form}-{part}.onnx" for part, form in wanted}
    files |= {(part, "fp32"): path for part, path in enumerate(network.paths)}
    made = [pair for pair in wanted if pair[1] != "fp32"]
    jobs = [
        Job(
            f"{network.name}: preparing {form}",
            "make",
            {"onnx": str(network.paths[part]), "form": form, "samples": str(_samples(work, part)), "output": str(files[part, form])},
            _LIMITS["make"],
        )
        for part, form in made
    ]
    failed = {pair: outcome.error for pair, outcome in zip(made, shop.run(jobs), strict=True) if outcome.error}
    for each in candidates:
        each.error = next((failed[pair] for pair in enumerate(each.forms) if pair in failed), "")
    return files


def _build(shop: Workshop, network: Network, candidates: Sequence[Candidate], forms: Forms) -> None:
    tried = [each for each in candidates if not each.error]
    jobs = [
        Job(
            f"{network.name}: building {each.target} {each.precision}",
            "build",
            {
                "target_name": each.target,
                "networks": [str(forms[pair]) for pair in enumerate(each.forms)],
                "precision": each.precision,
                "output": str(each.engine),
                "sm": list(shop.sm),
                "graph": network.recipe.graph,
                "contract": network.contract.as_dict(),
                "cache": str(shop.caches),
            },
            _LIMITS["build"],
        )
        for each in tried
    ]
    for each, outcome in zip(tried, shop.run(jobs), strict=True):
        each.built, each.error, each.seconds = outcome.value, outcome.error, outcome.seconds


def _judge(shop: Workshop, network: Network, work: Path, candidates: Sequence[Candidate]) -> None:
    """One at a time: they are timed."""
    for each in candidates:
        if each.built is not None:
            absent = shop.targets[each.target].device_problem
            each.judgement = gate.pending(absent) if absent else _judged(shop, network, work, each, each.built)


def _judged(shop: Workshop, network: Network, work: Path, each: Candidate, built: Mapping[str, Any]) -> Judgement:
    arguments = {
        "engine": str(each.engine),
        "backend": each.target,
        "precision": each.precision,
        "arithmetic": built["arithmetic"],
        "role": network.role,
        "limits": [dataclasses.astuple(limit) for limit in network.limits],
        "scene_file": str(shop.scene_file),
        "tools": shop.tools(network),
        "reference": str(work / "reference.npz"),
        "threads": shop.threads(network),
    }
    job = Job(f"{network.name}: judging {each.target} {each.precision}", "judge", arguments, _LIMITS["judge"])
    outcome = shop.run([job], at_once=1)[0]
    if outcome.value is None:
        return Judgement(Verdict.FAILED, reason=outcome.error)
    return Judgement(**{**outcome.value, "verdict": Verdict(outcome.value["verdict"])})


def _race(shop: Workshop, network: Network, candidates: Sequence[Candidate]) -> None:
    """Time those that passed against each other. When that fails, each keeps the time it took by itself."""
    good = [(each, each.judgement, each.built) for each in candidates if each.judgement and each.built]
    good = [(each, judgement, built) for each, judgement, built in good if judgement.verdict is Verdict.PASSED]
    if len(good) < 2:
        return
    engines = [[str(each.engine), each.target, each.precision, built["arithmetic"]] for each, _, built in good]
    arguments = {"engines": engines, "threads": shop.threads(network)}
    outcome = shop.run([Job(f"{network.name}: timing", "race", arguments, _LIMITS["judge"])], at_once=1)[0]
    for (each, judgement, _), ms in zip(good, outcome.value["ms"] if outcome.value else (), strict=outcome.value is not None):
        each.judgement = dataclasses.replace(judgement, ms=ms)
