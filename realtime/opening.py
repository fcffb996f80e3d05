"""Networks on their backends: by the engine built for this machine or as the file is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from realtime.backends.base import FrameSession, Session
from realtime.backends.place import ANYWHERE, Place
from realtime.backends.select import AUTO, ENGINES, open_session
from realtime.builder import manifest
from realtime.machine import cores
from realtime.models.base import Finish
from realtime.models.catalog import MODELS
from realtime.models.store import ModelStore
from realtime.models.swappers import select
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.exact import Exact
from realtime.networks import Networks, Notify, whole


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens a run's networks; `cleanup` closes them. What there is to say of them is said once."""

    backend: str
    store: ModelStore
    engines: Path
    cleanup: ExitStack
    notify: Notify
    following: Place = ANYWHERE
    """Where faces are found and followed."""
    swapping: Place = ANYWHERE
    fraction: float | None = None
    """What --gpu-memory-fraction asks for."""
    said: list[str] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        """Where backends keep compiled networks."""
        return self.store.folder / "compiled"

    def open(self, paths: Mapping[str, Path], threads: int = 1, place: Place | None = None) -> dict[str, Session]:
        """Networks to follow by, where no other place is named."""
        networks = Networks(self.backend, self.engines, self.cache, place or self.following, threads)
        sessions = {name: self.cleanup.enter_context(networks.open(name, path)) for name, path in paths.items()}
        self._say(networks)
        return sessions

    def open_follow(self, mesh: Path) -> FrameSession | None:
        """The graph around the mesh network on a GPU; None when there is no engine of it for this one."""
        networks = Networks(self.backend, self.engines, self.cache, self.following)
        session = networks.open_follow(mesh)
        self._say(networks)
        return None if session is None else self.cleanup.enter_context(session)

    def open_follow_swap(self, mesh: Path, swapper: str) -> FrameSession | None:
        """The graph around that and the swap network that `--swapper` names; None when there is no engine of it for this GPU."""
        networks = Networks(self.backend, self.engines, self.cache, self.swapping)
        session = networks.open_follow_swap(mesh, _name(swapper), _file(swapper, self.store))
        self._say(networks)
        return None if session is None else self.cleanup.enter_context(session)

    def has_follow_swap(self, swapper: str) -> bool:
        """Whether one was built, for whatever machine."""
        return manifest.path_of(self.engines, whole(_name(swapper))).is_file()

    def _say(self, networks: Networks) -> None:
        new = [remark for remark in networks.remarks(self.fraction) if remark not in self.said]
        self.said.extend(new)
        for remark in new:
            self.notify(remark)

    def open_exact(self, path: Path) -> Session:
        """An ONNX file in fp32 arithmetic, no engine."""
        backend = AUTO if self.backend in ENGINES else self.backend
        return self.cleanup.enter_context(open_session(path, backend, threads=cores(), cache=self.cache, place=self.swapping))

    def find(self, name: str) -> Path | None:
        """A model of the catalogue that is there; None when it is not, or when there is none of that name."""
        return find(self.store, name)


def find(store: ModelStore, name: str) -> Path | None:
    return store.path(name) if name in MODELS and store.has(name) else None


def check_swap_network(choice: str, options: select.SwapOptions, store: ModelStore) -> None:
    """What is wrong with it or lacking beside it is said before anything is fetched, compiled or loaded. Raises as `open_swap_network`."""
    select.check(_file(choice, store), options, lambda name: find(store, name))


def _file(choice: str, store: ModelStore) -> Path:
    return store.path(choice) if choice in MODELS else Path(choice).expanduser()


def _name(choice: str) -> str:
    """By which its engines are called."""
    return choice if choice in MODELS else Path(choice).stem


def needs_exact(choice: str, opener: Opener) -> bool:
    """Whether the swap network overflowed at a lower precision before, on this machine."""
    return Exact(opener.cache, opener.notify).needed(_file(choice, opener.store))


def open_swap_network(choice: str, options: select.SwapOptions, opener: Opener, finishes: Sequence[Finish] = ()) -> AlignedSwapper:
    """The swap network that `--swapper` names: a file, or a model of the catalogue. It gets every core: it is by far the largest.

    Raises ModelError or UsageError when it, or a file that it needs, cannot be used.
    """
    path = _file(choice, opener.store)

    def open_fastest(path: Path) -> Session:
        return opener.open({path.stem: path}, cores(), opener.swapping)[path.stem]

    opener.notify(MODELS[choice].terms if choice in MODELS else select.terms(path, options.contract))
    exact = Exact(opener.cache, opener.notify)
    swapper = select.open_swapper(path, options, select.Surroundings(open_fastest, opener.open_exact, opener.find, exact, finishes))
    swapper.warm_up()
    return swapper
