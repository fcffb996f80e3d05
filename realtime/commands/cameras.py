"""`python -m realtime cameras`: what `--input` can be told."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from realtime.commands.output import Parser, console, print_json, program, show_table

if TYPE_CHECKING:
    from realtime.sources.cameras import CameraEntry


def main(argv: Sequence[str]) -> int:
    made = Parser("cameras", usage=f"{program()} cameras [--json]", description="List the cameras with their names, formats and rates.")
    made.add_argument("--json", action="store_true", help="as JSON on stdout")
    made.add_common()
    values = made.parse(argv)
    from realtime.sources.cameras import list_cameras

    found = list_cameras()
    if values.json:
        print_json([dataclasses.asdict(each) for each in found])
    else:
        show(found)
    return 0


def show(found: Sequence[CameraEntry]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not found:
        console().print("no camera was found: plug one in and look again, or use --input synthetic, a video file or a stream", markup=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("--input", "name", "device", "formats"):
        table.add_column(title, overflow="fold")
    for each in found:
        formats = "\n".join(each.formats) or "told when opened"
        name = each.name + (" (virtual)" if each.is_virtual else "")
        table.add_row(str(each.index), Text(name), Text(each.path), formats)  # Text: a name may hold square brackets
    show_table(table)
