"""One model's way to its engines: record, prepare, build, judge, choose, install."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from realtime.builder import gate, manifest
from realtime.builder.gate import Judgement, Verdict
from realtime.builder.jobs import Job, Outcome, run_jobs, value_of
from realtime.builder.machine import processor
from realtime.builder.recipes import Network
from realtime.builder.roles import ROLES
from realtime.builder.targets.base import target
from realtime.errors import BackendError

if TYPE_CHECKING:
    from realtime.builder.run import Available

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the models that are done, and the models in all."""
Entry = manifest.Entry
_LIMITS = {"record": 300.0, "make": 1200.0, "build": 1200.0, "judge": 300.0}
"""Seconds: several times what a network of half a gigabyte takes on two slow cores."""


class State(StrEnum):
    CHOSEN = "chosen"
    SLOWER = "slower"
    FAILED_GATE = "not good enough"
    NOT_BUILT = "not built"
    PENDING = "pending"
    PLANNED = "would build"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    model: str
    target: str
    precision: str
    state: State
    figures: dict[str, float] = field(default_factory=dict)
    ms: float | None = None
    build_seconds: float | None = None
    bytes: int = 0
    reason: str = ""


@dataclass(slots=True)
class Workshop:
    """What all models of a build share."""

    folder: Path
    work: Path
    targets: dict[str, Available]
    sm: tuple[int, ...]
    jobs: int
    force: bool
    progress: Progress
    place: tuple[int, int] = (0, 1)
    """Models that are done, and in all."""

    @property
    def scene_file(self) -> Path:
        return self.work / "scenes.npz"

    def targets_for(self, network: Network) -> list[str]:
        return [name for name in self.targets if target(name).WRAPS or not network.recipe.graph]

    def say(self, text: str) -> None:
        self.progress(text, *self.place)

    def run(self, jobs: Sequence[Job], at_once: int | None = None) -> list[Outcome]:
        return run_jobs(jobs, self.work, self.jobs if at_once is None else at_once, on_start=lambda job: self.say(job.name))

    def up_to_date(self, network: Network, wanted: Sequence[str]) -> list[Row] | None:
        """Rows of what is there, when it is all that is wanted; None when something has to be built."""
        if self.force or not network.path.is_file():
            return None
        try:
            entries = manifest.read(self.folder, network.name)
        except BackendError:
            return None
        sha256 = manifest.sha256_of(network.path)
        kept = [entry for entry in entries if entry.target in self.targets and self._fits(entry, network, wanted, sha256)]
        if {entry.target for entry in kept} != set(self.targets_for(network)):
            return None
        return [_row_of(network, entry) for entry in kept]

    def _fits(self, entry: Entry, network: Network, wanted: Sequence[str], sha256: str) -> bool:
        there = self.targets[entry.target]
        device: dict[str, Any] = {"processor": processor()} if "processor" in entry.device else {}
        if self.sm and "compute_capabilities" in entry.device:
            device["compute_capabilities"] = list(self.sm)
        limits = gate.judge({}, ROLES[network.role].with_bounds(network.recipe.gate), 0.0).limits
        judged = entry.gate.get("verdict") == Verdict.PENDING or entry.gate.get("limits") == limits
        same = sorted(entry.tried) == sorted(wanted) and judged
        return same and not manifest.problem(entry, self.folder, sha256, there.version, device)


@dataclass(slots=True)
class _Candidate:
    target: str
    precision: str
    form: str
    """Of the ONNX file it is built of."""
    engine: Path
    built: dict[str, Any] | None = None
    seconds: float = 0.0
    judgement: Judgement | None = None
    error: str = ""


def build_model(shop: Workshop, network: Network, wanted: Sequence[str]) -> list[Row]:
    """Try everything, keep the best, install it; no rows for a graph that is for none of the targets.

    Raises BackendError when the model itself is of no use.
    """
    if not shop.targets_for(network):
        return []
    work = shop.work / f"model-{shop.place[0]}"
    work.mkdir()
    recorded = _record(shop, network, work)
    candidates = _candidates(shop, network, wanted, work)
    forms = _prepare(shop, network, work, candidates)
    _build(shop, network, candidates, forms)
    _judge(shop, network, work, candidates)
    _race(shop, network, candidates)
    return _install(shop, network, recorded, candidates)


def failed(network: Network, reason: str) -> Row:
    return Row(network.name, "-", "-", State.FAILED, reason=reason)


def _record(shop: Workshop, network: Network, work: Path) -> dict[str, Any]:
    arguments = {
        "onnx": str(network.path),
        "role": network.role,
        "scene_file": str(shop.scene_file),
        "samples": str(work / "samples.npz"),
        "reference": str(work / "reference.npz"),
    }
    return value_of(shop.run([Job(f"{network.name}: running the original", "record", arguments, _LIMITS["record"])])[0])


def _candidates(shop: Workshop, network: Network, wanted: Sequence[str], work: Path) -> list[_Candidate]:
    found = []
    for name in shop.targets_for(network):
        there = target(name)
        for precision in wanted:
            form = there.needs(precision)
            form = "int8-u8" if form == "int8" and there.UNSIGNED_INT8 else form
            found.append(_Candidate(name, precision, form, work / f"{name}-{precision}{there.SUFFIX}"))
    return found


def _prepare(shop: Workshop, network: Network, work: Path, candidates: Sequence[_Candidate]) -> dict[str, Path]:
    """The files of all forms; candidates whose form cannot be made get the reason."""
    forms = sorted({each.form for each in candidates} - {"fp32"})
    files = {form: work / f"{form}.onnx" for form in forms}
    jobs = [
        Job(
            f"{network.name}: preparing {form}",
            "make",
            {"onnx": str(network.path), "form": form, "samples": str(work / "samples.npz"), "output": str(files[form])},
            _LIMITS["make"],
        )
        for form in forms
    ]
    for form, outcome in zip(forms, shop.run(jobs), strict=True):
        for each in candidates:
            if each.form == form:
                each.error = outcome.error
    return {"fp32": network.path, **files}


def _build(shop: Workshop, network: Network, candidates: Sequence[_Candidate], forms: dict[str, Path]) -> None:
    tried = [each for each in candidates if not each.error]
    jobs = [
        Job(
            f"{network.name}: building {each.target} {each.precision}",
            "build",
            {
                "target_name": each.target,
                "onnx": str(forms[each.form]),
                "precision": each.precision,
                "output": str(each.engine),
                "sm": list(shop.sm),
                "graph": network.recipe.graph,
            },
            _LIMITS["build"],
        )
        for each in tried
    ]
    for each, outcome in zip(tried, shop.run(jobs), strict=True):
        each.built, each.error, each.seconds = outcome.value, outcome.error, outcome.seconds


def _judge(shop: Workshop, network: Network, work: Path, candidates: Sequence[_Candidate]) -> None:
    """One at a time: they are timed."""
    for each in candidates:
        if each.built is None:
            continue
        absent = shop.targets[each.target].device_problem
        each.judgement = gate.pending(absent) if absent else _judged(shop, network, work, each)


def _race(shop: Workshop, network: Network, candidates: Sequence[_Candidate]) -> None:
    """Time those that passed against each other. When that fails, each keeps the time it took by itself."""
    good = [(each, each.judgement) for each in candidates if each.judgement and each.judgement.verdict is Verdict.PASSED]
    engines = [[str(each.engine), each.target, each.precision, each.built["arithmetic"]] for each, _ in good if each.built]
    outcome = shop.run([Job(f"{network.name}: timing", "race", {"engines": engines}, _LIMITS["judge"])], at_once=1)[0]
    for (each, judgement), ms in zip(good, outcome.value["ms"] if outcome.value else (), strict=outcome.value is not None):
        each.judgement = dataclasses.replace(judgement, ms=ms)


def _judged(shop: Workshop, network: Network, work: Path, each: _Candidate) -> Judgement:
    limits = ROLES[network.role].with_bounds(network.recipe.gate)
    assert each.built is not None
    arguments = {
        "engine": str(each.engine),
        "backend": each.target,
        "precision": each.precision,
        "arithmetic": each.built["arithmetic"],
        "role": network.role,
        "limits": [dataclasses.astuple(limit) for limit in limits],
        "scene_file": str(shop.scene_file),
        "reference": str(work / "reference.npz"),
    }
    job = Job(f"{network.name}: judging {each.target} {each.precision}", "judge", arguments, _LIMITS["judge"])
    outcome = shop.run([job], at_once=1)[0]
    if outcome.value is None:
        return Judgement(Verdict.FAILED, reason=outcome.error)
    return Judgement(**{**outcome.value, "verdict": Verdict(outcome.value["verdict"])})


def _install(shop: Workshop, network: Network, recorded: dict[str, Any], candidates: Sequence[_Candidate]) -> list[Row]:
    rows: list[Row] = []
    entries: list[Entry] = []
    for name in shop.targets_for(network):
        own = [each for each in candidates if each.target == name]
        best = gate.fastest([each.judgement for each in own])
        winner = own[best] if best is not None else None
        rows += [_row(network, each, winner) for each in own]
        tried = [each.precision for each in own]
        kept = [each for each in own if each is winner or _is_pending(each)]
        entries += [_keep(shop, network, recorded, each, tried, chosen=each is winner) for each in kept]
    manifest.write(shop.folder, network.name, [*_of_other_targets(shop, network, recorded), *entries])
    return rows


def _of_other_targets(shop: Workshop, network: Network, recorded: dict[str, Any]) -> list[Entry]:
    try:
        there = manifest.read(shop.folder, network.name)
    except BackendError:
        return []
    return [entry for entry in there if entry.target not in shop.targets and entry.onnx_sha256 == recorded["onnx_sha256"]]


def _is_pending(each: _Candidate) -> bool:
    return each.judgement is not None and each.judgement.verdict is Verdict.PENDING


def _keep(
    shop: Workshop, network: Network, recorded: dict[str, Any], each: _Candidate, tried: Sequence[str], *, chosen: bool
) -> Entry:
    """Move the engine into the folder and describe it."""
    built, judgement = each.built, each.judgement
    assert built is not None and judgement is not None
    file = manifest.file_name(network.name, each.target, each.precision, built["sha256"], each.engine.suffix)
    each.engine.replace(shop.folder / file)
    return Entry(
        target=each.target,
        precision=each.precision,
        arithmetic=built["arithmetic"],
        file=file,
        sha256=built["sha256"],
        bytes=built["bytes"],
        onnx_sha256=recorded["onnx_sha256"],
        library=built["library"],
        version=built["version"],
        device=built["device"],
        inputs=built.get("inputs", recorded["inputs"]),
        outputs=built.get("outputs", recorded["outputs"]),
        gate=dataclasses.asdict(judgement),
        build_seconds=round(each.seconds, 2),
        built_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        chosen=chosen,
        tried=tried,
        notes=built["notes"],
    )


def _row(network: Network, each: _Candidate, winner: _Candidate | None) -> Row:
    size = each.built["bytes"] if each.built else 0
    if each.judgement is None:
        return Row(network.name, each.target, each.precision, State.NOT_BUILT, reason=each.error)
    judgement = each.judgement
    state = {Verdict.PENDING: State.PENDING, Verdict.FAILED: State.FAILED_GATE, Verdict.PASSED: State.SLOWER}[judgement.verdict]
    reason = judgement.reason
    if each is winner:
        state = State.CHOSEN
    elif state is State.SLOWER and winner is not None and winner.judgement is not None:
        ahead = (judgement.ms or 0.0) < (winner.judgement.ms or 0.0)
        reason = f"not clearly faster than {winner.precision}" if ahead else f"slower than {winner.precision}"
    return Row(network.name, each.target, each.precision, state, judgement.figures, judgement.ms, each.seconds, size, reason)


def _row_of(network: Network, entry: Entry) -> Row:
    state = State.CHOSEN if entry.chosen else State.PENDING
    ms = entry.gate.get("ms")
    return Row(network.name, entry.target, entry.precision, state, dict(entry.gate["figures"]), ms, None, entry.bytes, "up to date")
