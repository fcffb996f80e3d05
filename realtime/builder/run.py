"""The whole of a build: what has to be made, in which order, and what becomes of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from realtime.builder.candidate import row_of
from realtime.builder.jobs import FULL, Job, Outcome, run_jobs, value_of
from realtime.builder.model import build_model
from realtime.builder.recipes import Network
from realtime.builder.roles import ROLES
from realtime.builder.table import Row, State, failed
from realtime.builder.targets.base import TARGETS, target
from realtime.builder.workshop import Available, Progress, Workshop
from realtime.errors import BackendError, is_full
from realtime.models.lock import locked
from realtime.models.records import PARTIAL

AUTO = "auto"
_PROBE = 120.0
"""Seconds for a library to be imported: TensorRT's are hundreds of megabytes."""
_WAIT = 3600.0

WriteScenes = Callable[[Path], None]
"""Writes the scenes (`scenes.save`) to a file. Raises BackendError when there are none, UsageError when they cannot be looked for."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or another signal that ends a run, in the middle of a build."""

    def __init__(self, rows: Sequence[Row], *arguments: object) -> None:
        super().__init__(*arguments)
        self.rows = tuple(rows)
        """Those of the models that were done, which are installed, and one for each of the others."""


@dataclass(frozen=True, slots=True)
class Plan:
    networks: tuple[Network, ...]
    target: str = AUTO
    precision: str = AUTO
    sm: tuple[int, ...] = ()
    jobs: int = 1
    force: bool = False
    recogniser: Path | None = None
    """ONNX file of SFace, for networks whose gate looks at identity (`looks_at_identity`)."""


def looks_at_identity(networks: Sequence[Network]) -> bool:
    """Whether building these needs the recogniser."""
    return any(ROLES[role].identity for network in networks for role in (network.role, *(part.role for part in network.parts)))


def build(plan: Plan, folder: Path, write_scenes: WriteScenes, progress: Progress = lambda text, done, total: None) -> list[Row]:
    """Build what the plan names into `folder`; a row for each candidate, and one for a model that failed altogether.

    Raises RealtimeError for what concerns all models, and Interrupted. However it ends, nothing half-made stays in the folder, and no
    child lives on.
    """
    done: dict[str, list[Row]] = {}
    try:
        _build(plan, folder, write_scenes, progress, done)
    except KeyboardInterrupt as interrupt:
        lost = [failed(network.name, "interrupted") for network in plan.networks if network.name not in done]
        raise Interrupted([*chain(*done.values()), *lost], *interrupt.args) from None
    return list(chain(*done.values()))


def _build(plan: Plan, folder: Path, write_scenes: WriteScenes, progress: Progress, done: dict[str, list[Row]]) -> None:
    """Model after model; the rows of each are put into `done`."""
    with _alone(folder, progress) as work:
        targets = available(plan.target, work)
        shop = Workshop(folder, work, targets, plan.sm, plan.jobs, plan.force, progress, plan.recogniser)
        for index, network in enumerate(plan.networks):
            shop.place = (index, len(plan.networks))
            try:
                done[network.name] = _one(shop, network, precisions(plan, network), write_scenes)
            finally:
                shutil.rmtree(shop.model_work, ignore_errors=True)  # room for the next one
        rows = list(chain(*done.values()))
        if plan.networks and not rows:
            raise BackendError(f"{plan.networks[0].name} is built for GPUs only: name --target tensorrt or tensorrt-rtx")
        if any(each.state in (State.CHOSEN, State.PENDING) for each in rows):
            progress("engines ready", len(plan.networks), len(plan.networks))


def planned(plan: Plan) -> list[Row]:
    """What `build` would try, without looking at which engines are there; no library is loaded."""
    targets = list(TARGETS) if plan.target == AUTO else [plan.target]
    lacks = {name: lacking(name, device=plan.target == AUTO) for name in targets}
    pairs = [(network, name) for network in plan.networks for name in targets if target(name).WRAPS or not network.recipe.graph]
    state = {name: State.ABSENT if lack else State.PLANNED for name, lack in lacks.items()}
    return [Row(network.name, name, p, state[name], reason=lacks[name]) for network, name in pairs for p in precisions(plan, network)]


def lacking(name: str, *, device: bool) -> str:
    """What a target lacks on this machine, as far as that shows without loading its library; empty when nothing does.

    `device`: whether its engines are to run here too.
    """
    library = TARGETS[name][1]
    if find_spec(library) is None:
        return f"{library} is not installed"
    return target(name).device_problem() if device else ""


def precisions(plan: Plan, network: Network) -> tuple[str, ...]:
    return network.recipe.precisions if plan.precision == AUTO else (plan.precision,)


def available(wanted: str, work: Path) -> dict[str, Available]:
    """The targets to build for; `auto`: those whose library is there and whose engines can run here. Raises BackendError when none."""
    names = list(TARGETS) if wanted == AUTO else [wanted]
    jobs = [Job(name, "probe", {"target_name": name}, _PROBE) for name in names]
    probed = dict(zip(names, run_jobs(jobs, work, at_once=len(jobs)), strict=True))
    if wanted != AUTO:
        value_of(probed[wanted])
    found = {name: _available(outcome) for name, outcome in probed.items() if outcome.value is not None}
    if wanted == AUTO:
        found = {name: each for name, each in found.items() if not each.device_problem}
    if not found:
        raise BackendError(f"no library to build engines with was found: {probed[names[-1]].error}")
    return found


def _available(outcome: Outcome) -> Available:
    value = value_of(outcome)
    return Available(value["version"], value["device_problem"])


def _one(shop: Workshop, network: Network, wanted: Sequence[str], write_scenes: WriteScenes) -> list[Row]:
    """One model; what goes wrong with it becomes a row."""
    try:
        there = shop.up_to_date(network, wanted)
        if there is not None:
            return [row_of(network, entry) for entry in there]
        _find_scenes(shop, write_scenes)
        return build_model(shop, network, wanted)
    except BackendError as error:
        return [failed(network.name, str(error))]
    except OSError as error:
        if not is_full(error):
            raise
        return [failed(network.name, FULL)]


def _find_scenes(shop: Workshop, write_scenes: WriteScenes) -> None:
    """Once for all models, also when there are none: what is wrong with them is then each model's reason."""
    if shop.sceneless:
        raise BackendError(shop.sceneless)
    if shop.scene_file.is_file():
        return
    shop.say("finding faces to calibrate with")
    try:
        write_scenes(shop.scene_file)
    except BackendError as error:
        shop.sceneless = str(error)
        raise


@contextmanager
def _alone(folder: Path, progress: Progress) -> Iterator[Path]:
    """A folder to work in, which vanishes; no other builder uses `folder` meanwhile."""
    work = folder / f"{PARTIAL}{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", _WAIT, lambda: progress("waiting for another builder to end", 0, 0)):
            _clear(folder)
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except TimeoutError as error:
        raise BackendError(f"another builder has been working in {folder} for an hour: end it") from error
    except OSError as error:
        if is_full(error):
            raise BackendError(f"the disk is full: free some space in {folder} and run the builder again") from error
        raise BackendError(f"{folder} cannot be written ({error.strerror or error}): name another folder with --engines") from error


def _clear(folder: Path) -> None:
    """What builders that died left behind: whoever holds the lock is the only one that lives."""
    for leftover in folder.glob(f"{PARTIAL}*"):
        shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
