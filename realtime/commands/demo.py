"""`python -m realtime demo`: the whole pipeline on a moving picture that comes with the package, measured and shown."""

from __future__ import annotations

import io
import json
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from realtime.assets import SOURCE
from realtime.commands.output import Parser, console, milliseconds, notify, program, show_table
from realtime.commands.progress import FetchBar
from realtime.commands.run import prepare
from realtime.commands.signals import end_on_signals
from realtime.config import option, parse_value
from realtime.errors import SinkError, UsageError, reason
from realtime.machine import cores, cpu_name
from realtime.settings import Settings

if TYPE_CHECKING:
    from realtime.commands.sheet import Sheet
    from realtime.types import Image

SIZE, FPS = (1280, 720), 30.0
FACE = (645.0, 300.0)
"""Where the face is in the bundled picture of SIZE, in pixels."""
CLOSE_UPS, CLOSE_SIDE = 5, 440
COUNTS = ("frames_in", "frames_out", "dropped", "unfinished")
"""Keys of the report; the first is the sum of the others."""


def main(argv: Sequence[str]) -> int:
    made = parser()
    values = made.parse(argv)
    seconds: Any = parse_value(option("seconds"), values.seconds, "--seconds")
    folder = writable(Path(values.out).expanduser())
    import realtime.app  # noqa: F401 - what is large is imported while Ctrl-C still ends the process on the spot

    end_on_signals()  # `measured` has files of its own
    with prepare() as kernels:
        report, rows = measured(folder, seconds, kernels)
    write_results(folder, report, rows)
    print_table(folder, report)
    return 0


def measured(folder: Path, seconds: float, kernels: Callable[[Callable[[], None]], None]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run's report and its frame log; the video is in the folder then."""
    from realtime import app

    video = folder / "demo.mp4"
    with tempfile.TemporaryDirectory(prefix="realtime-demo-") as scratch, FetchBar() as bar:
        log = Path(scratch) / "frames.jsonl"
        report = app.run(settings(video, log, seconds), notify=notify, progress=bar, kernels=kernels)
        return report, [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def parser() -> Parser:
    made = Parser(
        "demo",
        usage=f"{program()} demo [--out DIR] [--seconds N]",
        description="Swap a bundled face onto a bundled person who moves (neither exists), and measure it. Needs no camera.\n"
        "Writes demo.mp4, demo.png (before and after, latency) and demo.json (the figures). The first run fetches the models.",
    )
    made.add_argument("--out", default=".", metavar="DIR", help="folder to write to, made if need be [the current one]")
    made.add_argument("--seconds", default="8", metavar="N", help="length of the video [8]")
    made.add_common()
    return made


def settings(video: Path, log: Path, seconds: float) -> Settings:
    """The default swap, live, from the synthetic camera into a file, which may replace that of an earlier demo."""
    return Settings(
        sources=((SOURCE,),),
        input="synthetic",
        outputs=(str(video),),
        overwrite=True,
        size=SIZE,
        fps=FPS,
        seconds=seconds,
        frame_log=log,
    )


def writable(folder: Path) -> Path:
    """The folder, made if need be. Raises UsageError when nothing can be written there, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {reason(error)}; choose another folder with --out") from None


def write_results(folder: Path, report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """demo.json and demo.png, each under its name only when complete. Raises SinkError when the run swapped nothing."""
    from realtime.commands.sheet import draw_sheet
    from realtime.sinks.files import write_whole

    write_whole(folder / "demo.json", json.dumps(report, indent=2, default=str).encode(), replace=True)
    picture = io.BytesIO()
    draw_sheet(make_sheet(folder / "demo.mp4", report, rows)).save(picture, "PNG", optimize=True)
    write_whole(folder / "demo.png", picture.getvalue(), replace=True)


def make_sheet(video: Path, report: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Sheet:
    """Row n of the frame log tells of frame n of the video; its `seq` says which picture the synthetic camera had shown."""
    from realtime.commands.sheet import Pair, Sheet, square
    from realtime.sources.photo import load
    from realtime.sources.synthetic import Sway, bundled_person, cover

    camera = Sway(cover(bundled_person(), SIZE), FPS, seed=0)
    chosen = choose([(n, row["seq"]) for n, row in enumerate(rows) if row["state"] == "swapped"], camera.period // 2)
    sent = read_frames(video, [n for n, _ in chosen])
    pairs, close = [], []
    for n, seq in chosen:
        pair = Pair(camera.picture(seq), sent[n])
        x, y = camera.matrix(seq) @ (*FACE, 1.0)
        pairs.append(pair)
        close.append(Pair(square(pair.before, x, y, CLOSE_SIDE), square(pair.after, x, y, CLOSE_SIDE)))
    source = load(SOURCE)  # not by OpenCV, which on Windows reads no path that has an umlaut in it
    ages = [row["age_ms"] for row in rows if row["age_ms"] is not None]
    return Sheet(source, pairs[len(pairs) // 2], close, ages, "realtime-faceswap demo", machine(), facts(report))


def choose(frames: Sequence[tuple[int, int]], half_period: int) -> list[tuple[int, int]]:
    """CLOSE_UPS of the (frame, seq) pairs, spread over the last whole sway from one side to the other."""
    if not frames:
        raise SinkError("the demo swapped no face: run `python -m realtime doctor` to see what is wrong")
    end = frames[-1][1] // half_period * half_period
    sway = [pair for pair in frames if end - half_period <= pair[1] <= end]
    sway = sway if len(sway) >= CLOSE_UPS else list(frames)
    return [sway[round(i * (len(sway) - 1) / (CLOSE_UPS - 1))] for i in range(CLOSE_UPS)]


def read_frames(video: Path, wanted: Sequence[int]) -> dict[int, Image]:
    """These frames of a video, BGR, by number."""
    import av
    import numpy as np

    found: dict[int, Image] = {}
    with av.open(str(video)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number in wanted:
                found[number] = np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
            if number >= max(wanted):
                break
    if missing := set(wanted) - set(found):
        raise SinkError(f"{video} is shorter than the run: frame {min(missing)} is missing from it")
    return found


def machine() -> str:
    """One line: processor, usable cores, system, Python."""
    return f"{cpu_name()}, {cores()} cores, {platform.system()}, Python {platform.python_version()}, no GPU used"


def facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What the table and the sheet say of the run."""
    age, stage = report["age_ms"], report["stage_ms"]
    ages = " / ".join(milliseconds(age[name]) for name in ("p50", "p95", "p99"))
    return [
        ("frames a second", f"{report['fps'] or 0:.1f}"),
        ("frames in / out / dropped / unfinished", " / ".join(str(report[name]) for name in COUNTS)),
        ("age when sent: p50 / p95 / p99", f"{ages} ms"),
        ("capture (waits for the camera)", f"{milliseconds(stage['capture'])} ms"),
        ("infer (follow and swap)", f"{milliseconds(stage['infer'])} ms"),
        ("blend (paste, mark, encode video)", f"{milliseconds(stage['blend'])} ms"),
        ("start to first swapped frame", f"{report.get('first_swap_seconds') or 0:.1f} s"),
        ("networks run by", backends(report)),
    ]


def backends(report: dict[str, Any]) -> str:
    """The backends of the roles that are networks; the mesh swapper has none."""
    used = {about.get("backend", "") for about in report.get("roles", {}).values()} - {"", "cpu"}
    return ", ".join(sorted(used)) or "-"


def print_table(folder: Path, report: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for label, value in facts(report):
        table.add_row(label, value)
    for name, what in (("demo.mp4", "the video"), ("demo.png", "before and after, latency"), ("demo.json", "all figures")):
        table.add_row(what, str(folder / name))
    show_table(table)
    out = console()
    out.print("\nNext, with your own photo and camera:")
    for line in ("--source me.jpg --output window", "--source me.jpg", "doctor"):
        out.print(f"  {program()} {line}", markup=False)
