"""`python build_engines.py`, or `python -m realtime engines`: compile the models for this machine."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from realtime.commands.output import Parser, console, megabytes, milliseconds, notify, program, show_table
from realtime.commands.progress import FetchBar
from realtime.commands.signals import end_on_signals
from realtime.config import SWAP_CONTRACTS, option, parse_value
from realtime.errors import UsageError, reason
from realtime.interrupt import UNBUILT, leave_at_once
from realtime.values import existing_file

if TYPE_CHECKING:
    from realtime.builder.recipes import Recipes
    from realtime.builder.run import Plan, WriteScenes
    from realtime.builder.table import Row
    from realtime.models.store import ModelStore

SFACE = "sface"
TARGETS = ("auto", "tensorrt", "tensorrt-rtx", "openvino", "onnxruntime")
AHEAD = "tensorrt-rtx"
"""The target that builds for GPUs which are not here."""
PRECISIONS = ("auto", "fp32", "fp16", "int8")
STYLES = {
    "chosen": "green", "pending": "yellow", "failed": "bold red", "not good enough": "red",
    **dict.fromkeys(("not built", "not here", "slower"), "dim"),
}  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Ctrl-C is one more way in which models can fail: 1, and those that were not built are named; from the very start (`__main__`)."""
    values = parser().parse(argv)
    leave_at_once(1, f"realtime: {UNBUILT}")  # an exception could become the complaint of a library that is being imported
    from realtime.builder import run

    try:
        end_on_signals()
        return _run(values)
    except run.Interrupted as interrupted:
        return _interrupted(values, interrupted.rows)
    except KeyboardInterrupt:  # before the first model, or after the last
        notify(UNBUILT if not values.dry_run else "interrupted")
        return 1


def _run(values: argparse.Namespace) -> int:
    from realtime.builder import recipes, run
    from realtime.builder.candidate import unfinished
    from realtime.storage import engines_folder, model_store

    _check(values)
    folder = _folder(values)
    book = recipes.read(engines_folder() / "recipes.toml")
    names = values.models or book.models
    needed = recipes.models_of(names, book)
    store = model_store()
    plan = _plan(values, book, names, store)
    rows = run.planned(plan)
    if values.sm and not any(row.target == AHEAD and row.state == "would build" for row in rows):
        notify(f"--sm changes nothing: it is for {AHEAD}, which is not among what is built; engines of the others are for this machine")
    if not values.dry_run:
        _fetch(store, [*needed, *([SFACE] if run.looks_at_identity(plan.networks) else [])])
        rows = _build(plan, folder, scenes_from(store, values.calibration))
    _report(values, rows)
    without = [each.name for each in plan.networks if all(row.model != each.name for row in rows)]
    if values.models and without:
        notify(f"nothing was built of {', '.join(without)}, which is for GPUs only: name --target {AHEAD} or tensorrt")
    missing = unfinished(rows)
    if missing:
        notify(f"no engine for {', '.join(missing)}: the table says why; the live swap uses the models as they are")
    return 1 if missing else 0


def _folder(values: argparse.Namespace) -> Path:
    from realtime.storage import engines_folder

    return Path(values.engines).expanduser() if values.engines else engines_folder()


def _report(values: argparse.Namespace, rows: Sequence[Row]) -> None:
    show(rows, _folder(values))  # first: no failed write may lose what a build took minutes for
    if values.json:
        _write_json(Path(values.json).expanduser(), rows)


def _interrupted(values: argparse.Namespace, rows: Sequence[Row]) -> int:
    from realtime.builder.candidate import unfinished

    missing = unfinished(rows)
    if missing:
        notify(f"interrupted: {', '.join(missing)} {'was' if len(missing) == 1 else 'were'} not built; what was built before is kept")
    leave_at_once(1)  # the table is not worth a second wish
    _report(values, rows)
    return 1 if missing else 0


def _check(values: argparse.Namespace) -> None:
    """Raises UsageError for what would only fail at the end of a build: files that are not there, and a table that cannot be written."""
    if values.json is not None:
        parse_value(option("report"), values.json, "--json")  # a file to be written at the end, as that one
    files = [name.removeprefix("follow_swap:") for name in values.models or () if name.endswith(".onnx")]
    for name in files:
        existing_file(name, "model")


def parser() -> Parser:
    own = program() if "build_engines" not in sys.argv[0] else "python build_engines.py"
    made = Parser(
        "engines",
        usage=f"{own if own.endswith('.py') else own + ' engines'} [--models NAME ...] [--target NAME] [--precision NAME] [options]",
        description="Compile the models for this machine. Each is tried at several precisions, compared with the original on pictures of\n"
        "faces, and timed; the fastest that is good enough is kept and used by the next run. Ends with 1 when a model got no engine.",
    )
    made.add_argument("--models", nargs="+", metavar="NAME", help="by name, or .onnx files of your own [those of recipes.toml]")
    made.add_argument("--target", choices=TARGETS, default="auto", metavar="NAME", help=f"{', '.join(TARGETS)} [auto: all that run here]")
    made.add_argument("--precision", choices=PRECISIONS, default="auto", metavar="NAME", help=f"{', '.join(PRECISIONS)} [auto: the best]")
    made.add_argument("--sm", type=_capabilities, default=(), metavar="LIST", help="compute capabilities, e.g. 75,86,89,120 [this GPU's]")
    contract = "which kind of swap network a file is, where that cannot be told [recognised]"
    made.add_argument("--swap-contract", choices=SWAP_CONTRACTS, metavar="NAME", help=contract)
    made.add_argument("--calibration", metavar="PATH", help="folder of photos, or a video, of faces like yours [the bundled people]")
    made.add_argument("--jobs", type=_count, default=1, metavar="N", help="builds at the same time [1]")
    made.add_argument("--force", action="store_true", help="build also what is up to date")
    made.add_argument("--dry-run", action="store_true", help="only show what would be built")
    made.add_argument("--json", metavar="FILE", help="write the table there too")
    made.add_argument("--engines", metavar="DIR", help="put engines there [engines/ of the checkout, else the user's data folder]")
    made.add_common()
    return made


def scenes_from(store: ModelStore, calibration: str | None) -> WriteScenes:
    """Finds the faces with the fp32 networks, when it is called."""

    def write(path: Path) -> None:
        from realtime import assets
        from realtime.backends.select import open_session
        from realtime.builder import scenes
        from realtime.models.detectors.yunet import YuNet
        from realtime.models.landmarks.mesh import MeshLandmarker

        store.ensure(("yunet_320", "mesh"))
        with ExitStack() as opened:
            detector, mesh = (opened.enter_context(open_session(store.path(name), "onnxruntime")) for name in ("yunet_320", "mesh"))
            source = Path(calibration).expanduser() if calibration else None
            found = scenes.gather(source, assets.FOLDER, YuNet(detector, thorough=True), MeshLandmarker(mesh))
        scenes.save(found, path)

    return write


def show(rows: Sequence[Row], folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("model", "target", "precision", "state", "ms", "quality", "size", "build s"):
        table.add_column(title, no_wrap=title != "quality")
    table.add_column("why", overflow="fold")
    for row in rows:
        state = Text(row.state, STYLES.get(row.state, ""))
        quality = " ".join(f"{name} {value:.4g}" for name, value in row.figures.items())
        size = megabytes(row.bytes) if row.bytes else "-"
        ms = f"{row.ms:.2f}" if row.ms else "-"
        table.add_row(row.model, row.target, row.precision, state, ms, quality, size, milliseconds(row.build_seconds), Text(row.reason))
    show_table(table)
    console().print(f"in {folder}", markup=False)


def _plan(values: argparse.Namespace, book: Recipes, names: Sequence[str], store: ModelStore) -> Plan:
    from realtime.builder import recipes, run

    paths = {name: store.folder / f"{name}.onnx" for name in recipes.models_of(names, book)}
    networks = recipes.networks(names, book, paths, values.swap_contract)
    force = values.force or values.calibration is not None
    return run.Plan(networks, values.target, values.precision, values.sm, values.jobs, force, store.folder / f"{SFACE}.onnx")


def _fetch(store: ModelStore, names: Sequence[str]) -> None:
    with FetchBar() as bar:
        store.ensure(names, bar)


def _build(plan: Plan, folder: Path, scenes: WriteScenes) -> list[Row]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from realtime.builder.run import build

    out = console(stderr=True)
    if not out.is_terminal:
        return build(plan, folder, scenes, lambda text, done, total: notify(text))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("looking for libraries", total=len(plan.networks))

        def progress(text: str, done: int, total: int) -> None:
            bar.update(task, description=text, completed=done, total=total or None)

        return build(plan, folder, scenes, progress)


def _write_json(path: Path, rows: Sequence[Row]) -> None:
    try:
        path.write_text(json.dumps({"engines": [_as_json(row) for row in rows]}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {reason(error)}; choose a folder you may write to") from error


def _as_json(row: Row) -> dict[str, Any]:
    """A figure that is no number, as when a network found nothing, is null: JSON has no word for it."""
    figures = {name: value if math.isfinite(value) else None for name, value in row.figures.items()}
    return {**dataclasses.asdict(row), "figures": figures}


def _capabilities(text: str) -> tuple[int, ...]:
    numbers = text.replace(".", "").split(",")
    if not all(number.strip().isdigit() for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of compute capabilities like 75,86,89,120")
    return tuple(int(number) for number in numbers)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 1")
    return int(text)
