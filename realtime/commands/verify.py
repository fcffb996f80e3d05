"""`python -m realtime verify FILE`: what a picture, video or camera says about itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from realtime.commands.output import Parser, console, print_json, program, show_table
from realtime.commands.signals import end_on_signals
from realtime.errors import UsageError

if TYPE_CHECKING:
    from realtime.sources.transform import Transformed
    from realtime.trust.verify import Verification
    from realtime.types import Image

STATUSES = {"found": 0, "not_found": 3, "inconclusive": 4}
"""What the command ends with."""
STYLES = {"found": "bold", "not_found": "", "inconclusive": "yellow"}
WORDS = {
    "found": "This is marked as AI-modified.",
    "not_found": "No mark was found. That does not make it real: marks can be missing, or have been removed.",
    "inconclusive": "It cannot be told whether this is marked: see above.",
}
BATCHES, BATCH, PATIENCE = 5, 12, 10.0
"""Of a camera: frames looked at together, how often, and for how many seconds at most."""


def main(argv: Sequence[str]) -> int:
    values = parser().parse(argv)
    if (values.file is None) == (values.camera is None):
        parser().error("name a file or a camera, one of the two")
    from realtime.trust.verify import verify_file, verify_live

    end_on_signals()
    if values.camera is not None:
        name, result = f"camera {values.camera}", verify_live(camera_frames(values.camera))
    else:
        name, result = values.file, verify_file(Path(values.file).expanduser())
    if values.json:
        layers = {layer: finding.as_dict() for layer, finding in result.findings.items()}
        print_json({"input": name, "status": result.status, **layers})
    else:
        show(result)
    return STATUSES[result.status]


def parser() -> Parser:
    made = Parser(
        "verify",
        usage=f"{program()} verify FILE [--json]\n       {program()} verify --camera N [--json]",
        description="Look for the marks that this program and others leave: invisible watermark, Content Credentials, metadata.\n"
        "Pictures may be scaled, cropped or mirrored. Each is found, not_found or inconclusive.\n\n"
        "Ends with 0: marked as AI-modified; 3: nothing found; 4: inconclusive; 1, 2: could not look.",
    )
    made.add_argument("file", nargs="?", metavar="FILE", help="a picture or a video")
    made.add_argument("--camera", metavar="N", help="a camera's number, name or path: looks at some seconds of it")
    made.add_argument("--json", action="store_true", help="as JSON on stdout")
    made.add_common()
    return made


def camera_frames(text: str) -> Iterator[list[Image]]:
    """Batches of frames of a camera. Raises RealtimeError when it cannot be opened."""
    end = time.perf_counter() + PATIENCE
    with _camera(text) as source:
        source.open()
        for _ in range(BATCHES):
            batch = _batch(source, end)
            if batch:
                yield batch
            if len(batch) < BATCH:
                break


def _batch(source: Transformed, end: float) -> list[Image]:
    """The next frames, fewer than BATCH when the camera has no more or the time is `end`."""
    from realtime.sources.base import EndOfStream

    batch: list[Image] = []
    with suppress(EndOfStream):
        while len(batch) < BATCH and time.perf_counter() < end:
            frame = source.read(0.5)
            batch += [] if frame is None else [frame.image]
    return batch


def _camera(text: str) -> Transformed:
    """Raises UsageError, which names nothing that only `--input` takes."""
    from realtime.sources import cameras, select

    try:
        return select.open_input(text)
    except cameras.SeveralFitError:
        raise
    except UsageError as error:
        here = cameras.listing_of_all(cameras.list_cameras())
        raise UsageError(f"no camera is called '{text}'; {here}: give a camera's number or name, or a file without --camera") from error


def show(result: Verification) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for layer, finding in result.findings.items():
        status = Text(finding.status.replace("_", " "), STYLES[finding.status])
        table.add_row(layer, status, f"{finding.confidence:.0%}", Text(finding.detail))
    show_table(table)
    out = console()
    out.print()
    out.print(WORDS[result.status], markup=False)
