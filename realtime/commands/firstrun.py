"""Before a run: judge engines that were built where there was no GPU, once there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from realtime.commands.signals import end_on_signals
from realtime.errors import RealtimeError

if TYPE_CHECKING:
    from realtime.builder.recipes import Network, Recipes
    from realtime.settings import Settings

FOLLOW, WHOLE = "follow", "follow_swap"


def judge_waiting(settings: Settings, notify: Callable[[str], None]) -> None:
    """Perform the quality gate of engines that wait for this GPU, and say so; nothing where none do. An error is only told."""
    from realtime.backends.gpus import gpus
    from realtime.backends.select import AUTO, ENGINES

    if settings.device == "cpu" or settings.backend not in (AUTO, *ENGINES) or not gpus():
        return  # looked at first: a run on a processor pays nothing for this
    from realtime.storage import engines_folder, model_store

    folder = settings.engines or engines_folder()
    targets = [name for name in ENGINES if settings.backend in (AUTO, name)]
    try:
        found = list(_waiting(folder, list(engined(folder, model_store().folder, settings)), targets))
        for target, networks in found:
            end_on_signals()  # the builder has children and files
            names = ", ".join(network.name for network in networks)
            notify(f"judging the {target} engines of {names}, once: they were built where there was no GPU; a few minutes")
            for name, reason in _judge(folder, target, networks):
                notify(f"no {target} engine of {name} is used: {reason}")
    except RealtimeError as error:
        notify(str(error))


def _waiting(folder: Path, there: Sequence[Network], targets: Sequence[str]) -> Iterator[tuple[str, tuple[Network, ...]]]:
    """For each target those of the networks whose engines wait to be judged on the first GPU."""
    from realtime.backends.gpus import gpus
    from realtime.backends.select import describe
    from realtime.builder import manifest

    for status in describe(targets) if there else ():
        versions = {status.name: status.version} if status.usable else {}
        waiting = [each for each in there if manifest.pending(folder, each.name, each.paths, versions, gpus()[0], each.recipe.graph)]
        if waiting:
            yield status.name, tuple(waiting)


def engined(folder: Path, models: Path, settings: Settings | None = None) -> Iterator[Network]:
    """Those that have engines, by the recipes, and whose files are there; of the user's own files those that the settings name."""
    from realtime.builder import recipes
    from realtime.models.catalog import MODELS

    book = _with_follow(recipes.read(folder / "recipes.toml"))
    files, own = {name: models / f"{name}.onnx" for name in MODELS}, _own_files(settings)
    for path in sorted(folder.glob("*.json")):
        of = path.stem.removeprefix(f"{WHOLE}-")
        around = "" if of == path.stem else f"{WHOLE}:"
        named, contract = own.get(of, (of, None))
        if of in own or of in MODELS or book.of(path.stem).graph:
            name = f"{around}{named}" if of in own or of in MODELS else path.stem
            (network,) = recipes.networks([name], book, files, contract)
            if all(part.is_file() for part in network.paths):
                yield network


def _own_files(settings: Settings | None) -> dict[str, tuple[str, str | None]]:
    """Files of networks that the settings name, and the contract that is named for one, by what their engines are called."""
    if settings is None:
        return {}
    others = (settings.detector, settings.landmarker, settings.recogniser, settings.enhance or "")
    named = {**dict.fromkeys(others), settings.swapper: settings.swap_contract}
    files = {Path(name).expanduser(): contract for name, contract in named.items() if name.endswith(".onnx")}
    return {file.stem: (str(file), contract) for file, contract in files.items() if file.is_file()}


def _with_follow(book: Recipes) -> Recipes:
    """The recipes, with the graph around the mesh also where no file has it."""
    import dataclasses

    from realtime.builder.recipes import Recipe

    if FOLLOW in book.rows:
        return book
    return dataclasses.replace(book, rows={**book.rows, FOLLOW: Recipe(graph=FOLLOW, of="mesh")})


def _judge(folder: Path, target: str, networks: tuple[Network, ...]) -> Iterator[tuple[str, str]]:
    """Networks of which no engine passed, and why the first did not."""
    from realtime.builder.run import Plan, build
    from realtime.commands.engines import scenes_from
    from realtime.storage import model_store

    rows = build(Plan(networks, target), folder, scenes_from(model_store(), None))
    for network in networks:
        own = [row for row in rows if row.model == network.name]
        if own and not any(row.state == "chosen" for row in own):
            yield network.name, own[0].reason
