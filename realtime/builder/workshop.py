"""What all models of a build share: where, for what, and what is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realtime.backends.gpus import first_gpu
from realtime.builder import gate, manifest
from realtime.builder.gate import Verdict
from realtime.builder.jobs import Job, Outcome, run_jobs
from realtime.builder.manifest import Entry
from realtime.builder.recipes import Network
from realtime.builder.role import Tools
from realtime.builder.roles import ROLES
from realtime.builder.targets.base import target
from realtime.errors import BackendError
from realtime.machine import cores, processor

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the models that are done, and the models in all."""
_CACHES = ".cache"


@dataclass(frozen=True, slots=True)
class Available:
    """A target whose library is there."""

    version: str
    device_problem: str
    """Empty: its engines run here."""


@dataclass(slots=True)
class Workshop:
    folder: Path
    work: Path
    targets: dict[str, Available]
    sm: tuple[int, ...]
    jobs: int
    force: bool
    progress: Progress
    recogniser: Path | None = None
    """ONNX file, for the gate of networks that show faces."""
    sceneless: str = ""
    """Why there are no scenes, once that is known."""
    place: tuple[int, int] = (0, 1)
    """Models that are done, and in all."""

    @property
    def scene_file(self) -> Path:
        return self.work / "scenes.npz"

    @property
    def model_work(self) -> Path:
        """Where what is made of the present model lies until it is installed."""
        return self.work / f"model-{self.place[0]}"

    @property
    def caches(self) -> Path:
        """What libraries keep from one build to the next. Nothing in there is an engine."""
        return self.folder / _CACHES

    def tools(self, network: Network) -> dict[str, Any]:
        return Tools(self.recogniser, network.contract).as_dict()

    @staticmethod
    def threads(network: Network) -> int:
        """As many as a run gives it: networks that show faces, by far the largest, get every core."""
        return cores() if ROLES[network.role].identity else 1

    def targets_for(self, network: Network) -> list[str]:
        return [name for name in self.targets if target(name).WRAPS or not network.recipe.graph]

    def say(self, text: str) -> None:
        self.progress(text, *self.place)

    def run(self, jobs: Sequence[Job], at_once: int | None = None) -> list[Outcome]:
        return run_jobs(jobs, self.work, self.jobs if at_once is None else at_once, on_start=lambda job: self.say(job.name))

    def up_to_date(self, network: Network, wanted: Sequence[str]) -> list[Entry] | None:
        """What is there, when it is all that is wanted; None when something has to be built or judged."""
        kept = self._fitting(network, wanted)
        done = {entry.target for entry in kept if not self._can_be_judged(entry)}
        return kept if kept and done == set(self.targets_for(network)) else None

    def waiting(self, network: Network, wanted: Sequence[str]) -> list[Entry]:
        """Engines that were built where their device was absent and that can be judged now: all that are wanted of a target, or none."""
        return [entry for entry in self._fitting(network, wanted) if self._can_be_judged(entry)]

    def _can_be_judged(self, entry: Entry) -> bool:
        absent = self.targets[entry.target].device_problem or self._for_another(entry)
        return entry.gate.get("verdict") == Verdict.PENDING and not absent

    def _for_another(self, entry: Entry) -> bool:
        """Made for another GPU than the one that is here. Not looked at where there is none, or where others were asked for."""
        there = not self.sm and not self.targets[entry.target].device_problem
        return bool(there and manifest.gpu_problem(entry, first_gpu()))

    def _fitting(self, network: Network, wanted: Sequence[str]) -> list[Entry]:
        if self.force or not all(path.is_file() for path in network.paths):
            return []
        try:
            entries = manifest.read(self.folder, network.name)
        except BackendError:
            return []
        made_of = network.fingerprint
        return [entry for entry in entries if entry.target in self.targets and self._fits(entry, network, wanted, made_of)]

    def _fits(self, entry: Entry, network: Network, wanted: Sequence[str], made_of: str) -> bool:
        there = self.targets[entry.target]
        device: dict[str, Any] = {"processor": processor()} if "processor" in entry.device else {}
        if self.sm and "compute_capabilities" in entry.device:
            device["compute_capabilities"] = list(self.sm)
        limits = gate.judge({}, network.limits, 0.0).limits
        judged = entry.gate.get("verdict") == Verdict.PENDING or entry.gate.get("limits") == limits
        same = sorted(entry.tried) == sorted(wanted) and judged
        return same and not self._for_another(entry) and not manifest.problem(entry, self.folder, made_of, there.version, device)
