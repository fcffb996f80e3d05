"""Networks on their backends: by the engine built for this machine or as the file is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from realtime.backends.base import Session
from realtime.backends.select import AUTO, describe, open_engine, open_session
from realtime.builder import manifest
from realtime.errors import BackendError
from realtime.models.catalog import MODELS
from realtime.models.store import ModelStore
from realtime.models.swappers import select
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.exact import Exact

Notify = Callable[[str], None]
"""Tells the user one sentence."""


def open_networks(
    paths: Mapping[str, Path], backend: str, engines: Path, cache: Path, notify: Notify, threads: int = 1
) -> dict[str, Session]:
    """Each network by the engine that was built for this machine, else by its file as it is.

    Engines that do not fit any more are told once, in one sentence.
    """
    sessions: dict[str, Session] = {}
    refused: dict[str, str] = {}
    for name, path in paths.items():
        try:
            engine = _open_engine(name, path, backend, engines, threads)
        except BackendError as error:
            engine, refused[name] = None, str(error)
        sessions[name] = engine or open_session(path, backend, threads=threads, cache=cache)
    if refused:
        others = f" The same goes for {', '.join(list(refused)[1:])}." if len(refused) > 1 else ""
        notify(f"not using a built engine: {next(iter(refused.values()))}{others}")
    return sessions


def _open_engine(name: str, path: Path, backend: str, engines: Path, threads: int) -> Session | None:
    """None when none was built. Raises BackendError when one was and cannot be used."""
    if not manifest.path_of(engines, name).is_file():
        return None
    usable = {each.name: each.version for each in describe() if each.usable and backend in (AUTO, each.name)}
    entry = manifest.find(engines, name, path, usable)
    return None if entry is None else open_engine(engines / entry.file, entry.target, entry.precision, entry.arithmetic, threads=threads)


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens a run's networks; `cleanup` closes them."""

    backend: str
    store: ModelStore
    engines: Path
    cleanup: ExitStack
    notify: Notify

    @property
    def cache(self) -> Path:
        """Where backends keep compiled networks."""
        return self.store.folder / "compiled"

    def open(self, paths: Mapping[str, Path], threads: int = 1) -> dict[str, Session]:
        sessions = open_networks(paths, self.backend, self.engines, self.cache, self.notify, threads)
        return {name: self.cleanup.enter_context(session) for name, session in sessions.items()}

    def open_exact(self, path: Path) -> Session:
        """An ONNX file in fp32 arithmetic, no engine."""
        return self.cleanup.enter_context(open_session(path, self.backend, threads=_cores(), cache=self.cache))

    def find(self, name: str) -> Path | None:
        """A model of the catalogue that is there; None when it is not, or when there is none of that name."""
        return self.store.path(name) if name in MODELS and self.store.has(name) else None


def open_swap_network(choice: str, options: select.SwapOptions, opener: Opener) -> AlignedSwapper:
    """The swap network that `--swapper` names: a file, or a model of the catalogue. It gets every core: it is by far the largest.

    Raises ModelError or UsageError when it, or a file that it needs, cannot be used.
    """
    path = opener.store.path(choice) if choice in MODELS else Path(choice).expanduser()

    def open_fastest(path: Path) -> Session:
        return opener.open({path.stem: path}, _cores())[path.stem]

    exact = Exact(opener.cache, opener.notify)
    swapper = select.open_swapper(path, options, select.Surroundings(open_fastest, opener.open_exact, opener.find, exact))
    swapper.warm_up()
    return swapper


def _cores() -> int:
    return os.cpu_count() or 1
