"""`python -m realtime doctor`: what works on this machine, what does not, and the cure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from realtime.commands.output import Parser, console, print_json, program, show_table
from realtime.config import option, parse_value

if TYPE_CHECKING:
    from realtime.commands.checks import Finding

STYLES = {"ok": "green", "note": "yellow", "cure": "bold red"}


def main(argv: Sequence[str]) -> int:
    made = Parser(
        "doctor",
        usage=f"{program()} doctor [--engines DIR] [--json]",
        description="Check this machine: Python, processor, backends, models, disk, cameras, virtual cameras.\n"
        "ok: works; note: the swap runs without it; cure: must be mended first. Ends with 0 when the default swap can run.",
    )
    made.add_argument("--engines", metavar="DIR", help="look at the engines in this folder, as a run with --engines uses it")
    made.add_argument("--json", action="store_true", help="as JSON on stdout")
    made.add_common()
    values = made.parse(argv)
    from realtime.commands.checks import examine, healthy

    engines: Any = parse_value(option("engines"), values.engines, "--engines") if values.engines is not None else None
    findings = examine(engines)
    can_run = healthy(findings)
    if values.json:
        print_json({"can_run": can_run, "findings": [dataclasses.asdict(finding) for finding in findings]})
    else:
        show(findings, can_run)
    return 0 if can_run else 1


def show(findings: Sequence[Finding], can_run: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(finding.check, Text(finding.status, STYLES[finding.status]), Text(finding.detail))
    show_table(table)
    out = console()
    out.print()
    out.print(verdict(findings, can_run), markup=False)


def verdict(findings: Sequence[Finding], can_run: bool) -> str:
    """The last line: what can be run now."""
    if not can_run:
        return "The swap cannot run yet: mend what is marked 'cure'."
    noted = {finding.check for finding in findings if finding.status == "note"}
    if "models" in noted:
        return f"The swap can run once its models are here: {program()} demo fetches them, which needs the network, and shows it."
    if lacking := noted & {"camera", "virtual camera"}:
        return f"The swap can run: try {program()} demo. From camera to virtual camera it still needs: {', '.join(sorted(lacking))}."
    return f"The swap can run, from camera to virtual camera: {program()} --source me.jpg"
