"""Opening the networks of a run: on which device, by which backend, and what the user is told when it is not the best one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from realtime.backends.base import BUILD, FrameSession, Session
from realtime.backends.device import Budget
from realtime.backends.gpus import gpus
from realtime.backends.place import ANYWHERE, Place, device_layer, numbered
from realtime.backends.select import AUTO, BACKENDS, ENGINES, backend_of, describe, open_engine, open_frames_engine, open_own, open_session
from realtime.builder import manifest
from realtime.errors import BackendError

Notify = Callable[[str], None]
"""Tells the user one sentence."""

FOLLOW, FOLLOW_SWAP = "follow", "follow_swap"
"""The graphs around the mesh network, and around it and a swap network, as the builder names them."""
FAST: Final = 20.0
"""Milliseconds that a frame may take to be followed and swapped in one go: of the 33 between two frames of a camera."""
CPU = "cpu"


def whole(name: str) -> str:
    """What engines of the graph around the mesh and the swap network of this name are called."""
    return f"{FOLLOW_SWAP}-{name}"


def places(device: str, fraction: float | None, sessions: int) -> tuple[Place, Place]:
    """Where a run follows and where it swaps, from --device and --gpu-memory-fraction. Raises UsageError for a GPU that is not there."""
    if device == CPU:
        return Place(processor_only=True), Place(processor_only=True)
    if device == AUTO:
        place = Place(budget=_budget(0, fraction), sessions=sessions)
        return place, place
    given = [Place(number, budget=_budget(number, fraction), sessions=sessions) for number in numbered(device)]
    return given[0], given[-1]


def _budget(number: int, fraction: float | None) -> Budget:
    found = gpus() if fraction is not None else []
    return Budget(int(found[number].memory * fraction)) if fraction is not None and number < len(found) else Budget()


@dataclass(slots=True)
class Networks:
    """Opens networks one after the other and gathers what there is to say of them all."""

    backend: str
    engines: Path
    """Folder of built engines."""
    cache: Path
    """Folder where backends keep compiled networks."""
    place: Place = ANYWHERE
    threads: int = 1
    refused: dict[str, str] = field(default_factory=dict)
    """Network -> why its engine is not used, in one sentence."""
    fallen: list[str] = field(default_factory=list)
    opened: dict[str, Session | FrameSession] = field(default_factory=dict)

    def open(self, name: str, path: Path) -> Session:
        """By the engine that was built for this machine, else by its file as it is. Raises BackendError."""
        session = self._engine(name, path) or self._plain(name, path)
        self.opened[name] = session
        return session

    def _plain(self, name: str, path: Path) -> Session:
        """Where a GPU or backend was named that runs engines only, what is wrong with the one that was built is the reason why not."""
        try:
            return open_session(path, self.backend, threads=self.threads, cache=self.cache, place=self.place, say=self.fallen.append)
        except BackendError as error:
            raise BackendError(self.refused.get(name, str(error))) from error

    def _engine(self, name: str, path: Path) -> Session | None:
        entry = self._find(name, path)
        if entry is None:
            return None
        if self.backend == AUTO and not BACKENDS[entry.target].on_gpu and (own := open_own(path, self.cache)):
            return own
        try:
            file = self.engines / entry.file
            how = (entry.target, entry.precision, entry.arithmetic)
            return open_engine(file, *how, threads=self.threads, cache=self.cache, place=self.place)
        except BackendError as error:
            self.refused[name] = str(error)
            return None

    def open_follow(self, mesh: Path) -> FrameSession | None:
        """The graph around the mesh network on a GPU; None when none was built for it."""
        return self._open_graph(FOLLOW, FOLLOW, mesh)

    def open_follow_swap(self, mesh: Path, name: str, swap: Path) -> FrameSession | None:
        """The graph around that and the swap network of this name as well; None when none was built for them."""
        return self._open_graph(whole(name), FOLLOW_SWAP, [mesh, swap])

    def _open_graph(self, name: str, graph: str, files: Path | Sequence[Path]) -> FrameSession | None:
        entry = self._find(name, files, ENGINES, graph)
        if entry is None:
            return None
        if graph == FOLLOW_SWAP and not entry.ms <= FAST:
            self.refused[name] = f"{name} takes {entry.ms:.0f} ms a frame and a face moves on meanwhile: it is followed beside the swap"
            return None
        try:
            session = open_frames_engine(self.engines / entry.file, entry.target, entry.precision, cache=self.cache, place=self.place)
        except BackendError as error:
            self.refused[name] = str(error)
            return None
        self.opened[name] = session
        return session

    def _find(self, name: str, path: Path | Sequence[Path], targets: tuple[str, ...] = (), graph: str = "") -> manifest.Entry | None:
        if not manifest.path_of(self.engines, name).is_file():
            return None
        number = self.place.gpu or 0
        gpu = next(iter(gpus()[number : number + 1]), None) if not self.place.processor_only else None
        told: list[str] = []
        try:
            versions = self._versions(targets or tuple(BACKENDS))
            return manifest.find(self.engines, name, path, versions, gpu, told.append, graph)
        except BackendError as error:
            told.append(str(error))
            return None
        finally:
            if told:
                self.refused[name] = told[0]

    def _versions(self, targets: tuple[str, ...]) -> dict[str, str]:
        """Library versions of the backends that may be used."""
        wanted = [name for name in targets if self.backend in (AUTO, name) and self.place.allows(on_gpu=BACKENDS[name].on_gpu)]
        return {each.name: each.version for each in describe(wanted) if each.usable}

    def remarks(self, fraction: float | None = None) -> list[str]:
        """What there is to say when all are open; nothing when all is as it should be."""
        return [*self._refusals(), *self.fallen[:1], *self._unused_gpu(), *self._memory(fraction), *self._layer()]

    def _refusals(self) -> list[str]:
        if not self.refused:
            return []
        name, why = next(iter(self.refused.items()))
        others = f"; the same goes for {', '.join(list(self.refused)[1:])}" if len(self.refused) > 1 else ""
        instead = f", {name} runs on {self.opened[name].backend}" if name in self.opened else ""
        return [f"not using a built engine{instead}: {why}{others}"]

    def _on_gpu(self) -> list[str]:
        """Names of the backends on GPUs among those that were opened."""
        names = {backend_of(session.backend) for session in self.opened.values()}
        return [name for name in BACKENDS if name in names and BACKENDS[name].on_gpu]

    def _unused_gpu(self) -> list[str]:
        """Never silently on the processor: a GPU that is there and not used is told, with what to do."""
        if self.refused or self.fallen or self.backend != AUTO or self.place.processor_only:
            return []
        found, on_gpu = gpus(), self._on_gpu()
        beside = [name for name, session in self.opened.items() if backend_of(session.backend) not in on_gpu]
        if not found or not beside:
            return []
        cure = f"run `pip install 'realtime-faceswap[nvidia]'` and `{BUILD}`, or take --device cpu (`doctor` tells more)"
        verb = "runs" if len(beside) == 1 else "run"
        return [f"{', '.join(beside)} {verb} on the processor though there is a GPU, {found[0].name}: {cure}"]

    def _memory(self, fraction: float | None) -> list[str]:
        if fraction is None:
            return []
        unlimited = [name for name in self._on_gpu() if not BACKENDS[name].limits_memory]
        if unlimited:
            return [f"--gpu-memory-fraction: {', '.join(unlimited)} cannot be limited and takes what it needs"]
        return [] if self._on_gpu() else ["--gpu-memory-fraction: nothing runs on a GPU"]

    def _layer(self) -> list[str]:
        note = device_layer()[1] if set(self._on_gpu()) & set(ENGINES) else ""
        return [note] if note else []


def open_networks(
    paths: Mapping[str, Path], backend: str, engines: Path, cache: Path, notify: Notify, threads: int = 1, place: Place = ANYWHERE
) -> dict[str, Session]:
    """Each network as `Networks.open` has it, and what there is to say of them said."""
    networks = Networks(backend, engines, cache, place, threads)
    sessions = {name: networks.open(name, path) for name, path in paths.items()}
    for remark in networks.remarks():
        notify(remark)
    return sessions
