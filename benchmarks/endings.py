"""Runs of the program in processes of their own that are ended by a signal, or whose disk is full, and what they leave behind."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av

from realtime import assets

LAST_MOMENT = 8.0
"""Seconds after the start within which the signal comes: start-up, the first frames and steady running are all hit."""
FULL_AT = 400_000
"""Bytes that the recording may have in the run with a full disk."""
_CONTINUE = 60.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How one process ended."""

    moment: float
    """Seconds after its start at which the signal was sent."""
    seconds: float
    """From the signal to the end of the process."""
    status: int
    told: bool
    """Whether nothing but sentences was written: no traceback."""
    playable: bool
    """The recording can be played, or there is none because no frame had come."""
    left: tuple[str, ...]
    """Files that should not be there."""


def by_signal(seed: int) -> Ending:
    """Start a recording run and end it by SIGINT or SIGTERM at a random moment."""
    rng = random.Random(seed)
    moment, number = rng.uniform(0.3, LAST_MOMENT), (signal.SIGINT, signal.SIGTERM)[seed % 2]
    with tempfile.TemporaryDirectory() as folder, _program(Path(folder)) as process:
        time.sleep(moment)
        start = time.perf_counter()
        process.send_signal(number)
        told = _rest(process, _CONTINUE)
        seconds = time.perf_counter() - start
        left = tuple(path.name for path in Path(folder).iterdir() if path.name != "out.mp4")
        return Ending(moment, seconds, process.returncode, "Traceback" not in told, playable(Path(folder) / "out.mp4"), left)


def by_full_disk(seconds: float = 8.0) -> Ending:
    """A run whose recording cannot grow beyond FULL_AT bytes, for the file system says so; the other output is to go on."""
    with tempfile.TemporaryDirectory() as folder, _program(Path(folder), "--seconds", str(seconds), limit=_limit_files) as process:
        start = time.perf_counter()
        told = _rest(process, _CONTINUE + seconds)
        lasted = time.perf_counter() - start
        parts = tuple(path for path in Path(folder).iterdir())
        good = len(parts) == 1 and parts[0].stem.endswith(".part") and playable(parts[0], cut=True)
        went_on = lasted > seconds and "going on without" in told
        return Ending(0.0, lasted - seconds, process.returncode, "Traceback" not in told and went_on, good, ())


def prepare() -> None:
    """One short run, so that no later one has to compile anything."""
    with tempfile.TemporaryDirectory() as folder, _program(Path(folder), "--frames", "10") as process:
        process.communicate()


def _rest(process: subprocess.Popen[str], limit: float) -> str:
    """What a process still says until its end; one that does not end in time is ended, which counts like a traceback."""
    try:
        return process.communicate(timeout=limit)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "Traceback: did not end"


def playable(path: Path, cut: bool = False) -> bool:
    """Whether every frame of a recording can be decoded, or there is no recording. `cut`: it may break off after at least one frame."""
    frames = 0
    try:
        with av.open(str(path)) as container:
            for _ in container.decode(video=0):
                frames += 1
    except FileNotFoundError:
        return True
    except (OSError, av.FFmpegError):
        return cut and frames > 0
    return frames > 0


def _program(folder: Path, *more: str, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    source = ["--source", str(assets.SOURCE), "--input", "synthetic", "--size", "640x360"]
    command = [sys.executable, "-m", "realtime", *source, "--output", str(folder / "out.mp4"), "--output", "null", *more]
    prepared = limit or (heed if sys.platform != "win32" else None)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=prepared)


def heed() -> None:
    """Undo what a shell does to programs in the background: they, and all that they start, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _limit_files() -> None:
    import resource

    heed()
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_AT, FULL_AT))
