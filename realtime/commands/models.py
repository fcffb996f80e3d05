"""`python -m realtime models list|fetch|add|verify`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from realtime.commands.output import Parser, console, megabytes, notify, print_json, program, show_table
from realtime.commands.progress import FetchBar
from realtime.commands.signals import end_on_signals
from realtime.errors import ModelError, UsageError
from realtime.values import near_miss

if TYPE_CHECKING:
    from realtime.models.row import Model
    from realtime.models.store import ModelStatus, ModelStore


def main(argv: Sequence[str]) -> int:
    made = parser()
    values = made.parse(argv)
    if values.action is None:
        made.error("say what to do with the models: list, fetch, add or verify")
    if values.action not in ACTIONS:
        made.error(f"unknown action '{values.action}'{near_miss(values.action, tuple(ACTIONS)) or ': say list, fetch, add or verify'}")
    from realtime.storage import model_store

    end_on_signals()
    models = model_store()
    statuses = ACTIONS[values.action](models, values, made)
    if values.json:
        print_json([_as_json(each) for each in statuses])
    else:
        show(statuses, models.folder)
    return 1 if values.action == "verify" and any(each.state != "ready" for each in statuses) else 0


def parser() -> Parser:
    made = Parser(
        "models",
        usage=f"{program()} models list|fetch|add|verify [NAME|FILE ...] [options]",
        description="list: what there is. fetch: get what is missing (the default models unless named), after showing its licence.\n"
        "add: take files that you have, each recognised by its content or named with --as.\n"
        "verify: compare every file with what was written; ends with 1 when one was altered.",
    )
    made.add_argument("action", nargs="?", metavar="list|fetch|add|verify", help="what to do")
    made.add_argument("names", nargs="*", metavar="NAME|FILE", help="models to fetch or verify, files to add")
    made.add_argument("--from", dest="folder", metavar="DIR", help="fetch from packages and files in this folder, without a network")
    made.add_argument("--mirror", metavar="WHERE", help="fetch files from below this https address, or from this folder")
    made.add_argument("--accept-licence", action="store_true", help="agree to the licences without being asked")
    made.add_argument("--as", dest="model", metavar="NAME", help="add the file as this model")
    made.add_argument("--json", action="store_true", help="as JSON on stdout")
    made.add_common()
    return made


def _list(models: ModelStore, values: argparse.Namespace, made: Parser) -> Sequence[ModelStatus]:
    if values.names:
        made.error("models list takes no names")
    return models.list()


def _verify(models: ModelStore, values: argparse.Namespace, made: Parser) -> Sequence[ModelStatus]:
    return models.verify(values.names or [each.name for each in models.list() if each.state != "missing"])


def _fetch(models: ModelStore, values: argparse.Namespace, made: Parser) -> Sequence[ModelStatus]:
    from realtime.models.catalog import DEFAULTS

    mirror, folder = values.mirror or "", values.folder
    if mirror and "://" not in mirror:
        mirror, folder = "", folder or mirror
    if folder and not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder} to fetch from: check the name")
    consent = _accepted if values.accept_licence else _ask
    with FetchBar() as bar:
        return models.fetch(values.names or DEFAULTS, Path(folder) if folder else None, bar, mirror=mirror, consent=consent)


def _add(models: ModelStore, values: argparse.Namespace, made: Parser) -> Sequence[ModelStatus]:
    if not values.names:
        made.error("models add takes the files to add")
    if values.model and len(values.names) > 1:
        made.error("--as names one model, so add one file at a time")
    with FetchBar() as bar:
        return [models.add(Path(name).expanduser(), values.model or "", bar) for name in values.names]


ACTIONS: Mapping[str, Callable[[ModelStore, argparse.Namespace, Parser], Sequence[ModelStatus]]] = MappingProxyType(
    {"list": _list, "fetch": _fetch, "add": _add, "verify": _verify}
)


def _accepted(models: Sequence[Model]) -> None:
    for model in models:
        notify(model.terms)


def _ask(models: Sequence[Model]) -> None:
    _accepted(models)
    if not sys.stdin.isatty():
        published = ", ".join(model.address for model in models if model.address) or "see docs/models.md"
        command = f"{program()} models fetch {' '.join(model.name for model in models)} --accept-licence"
        raise UsageError(f"nobody is there to agree to this licence: read it (published with {published}), then say: {command}")
    print("Fetch and use it under these terms? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ModelError("nothing was fetched, as the licence was not agreed to")


def _as_json(status: ModelStatus) -> dict[str, object]:
    """How it is, and what its row says."""
    row = dataclasses.asdict(status.row) if status.row else {}
    row["fetchable"] = status.row.fetchable if status.row else None
    return {key: value for key, value in dataclasses.asdict(status).items() if key != "row"} | {"row": row}


def show(statuses: Sequence[ModelStatus], folder: Path) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("model", "role", "state", "size", "licence", "forbids"):
        table.add_column(title)
    for each in statuses:
        size = megabytes(each.bytes) if each.bytes else "-"
        table.add_row(each.name, each.role, _state(each), size, each.licence, each.row.forbids if each.row else "")
    show_table(table)
    console().print(f"in {folder}", markup=False)
    _footnotes(statuses)


def _state(status: ModelStatus) -> str:
    if status.own:
        return f"{status.state}, your own file"
    if status.state != "missing" or status.row is None:
        return str(status.state)
    if not status.row.fetchable:
        return "bring your own"
    return "missing" if status.row.verified else "missing *"


def _footnotes(statuses: Sequence[ModelStatus]) -> None:
    out = console()
    missing = [each.row for each in statuses if each.state == "missing" and each.row]
    if any(row.fetchable and not row.verified for row in missing):
        out.print("* address and SHA-256 as published elsewhere (`--json` says where); a file that differs is refused", markup=False)
    if not all(row.fetchable for row in missing):
        add = f"{program()} models add FILE --as NAME"
        out.print(f"bring your own: no address or no SHA-256 was published; get the file and run {add}", markup=False)
    if any(each.own for each in statuses):
        out.print("your own file: you added it under this name; its SHA-256 is not the catalogue's", markup=False)
    damaged = [each.name for each in statuses if each.state == "damaged"]
    if damaged:
        are = "they are" if len(damaged) > 1 else "it is"
        cure = f"run {program()} models fetch {' '.join(damaged)}"
        out.print(f"{', '.join(damaged)} cannot be used as {are}: {cure}", markup=False, soft_wrap=True)
