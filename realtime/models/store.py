"""The user's folder of ready-to-load networks: fetched, checked, converted once, and looked after."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from platformdirs import user_cache_dir

from realtime.errors import ModelError, UsageError, is_full, reason, room_for
from realtime.models import convert
from realtime.models.adding import recognise, taken
from realtime.models.catalog import DEFAULTS, MODELS
from realtime.models.lock import locked
from realtime.models.obtain import Obtainer, Origin, Share, add_command, fetch_command, parcel_bytes, parcels
from realtime.models.records import PARTIAL, looks, read_record, replace, sha256_of, write_record
from realtime.models.row import Model, Wheel
from realtime.models.web import HttpDownload, WebDownload
from realtime.models.wheels import Download, PipDownload
from realtime.values import near_miss

__all__ = ["APP_NAME", "MODELS_READY", "ModelState", "ModelStatus", "ModelStore", "fetch_command"]

APP_NAME = "realtime-faceswap"
_WAIT = 3600.0
"""Seconds to wait for another process that is fetching."""

MODELS_READY = "models ready"
"""The last that a fetch reports."""

Consent = Callable[[Sequence[Model]], None]
"""Shows the licences of these models and raises when the user does not agree."""

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
    row: Model | None = None
    """What the catalogue knows of it."""
    own: bool = False
    """Ready, but another file than the catalogue's: the user added it under this name."""


class ModelStore:
    """Models of the catalogue as ONNX files in one folder, by default the user's cache folder.

    Several processes may use one folder at once. `index_options` go to pip; `download` replaces pip altogether, `web` the client that
    fetches from addresses.
    """

    def __init__(
        self,
        folder: Path | None = None,
        index_options: Sequence[str] = (),
        *,
        download: Download | None = None,
        web: WebDownload | None = None,
        catalogue: Mapping[str, Model] = MODELS,
    ) -> None:
        self._folder = folder or Path(user_cache_dir(APP_NAME, appauthor=False)) / "models"
        self._download = download or PipDownload(index_options)
        self._web = web or HttpDownload()
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
        return self._demanded(self.checked(name))

    def glance(self, name: str) -> Path:
        """As `path`, by a quick look that leaves the content aside."""
        return self._demanded(self.status(name))

    def refuse_unfetched(self, names: Iterable[str]) -> None:
        """Raises ModelError, as `fetch` would, for a model that is not there and that nobody fetches unasked."""
        self._agree([self._catalogue[name] for name in names if self.status(name).state is not ModelState.READY], None)

    def _demanded(self, status: ModelStatus) -> Path:
        if status.state is not ModelState.READY:
            raise ModelError(f"the model {status.name} is {status.state} in {self._folder}: run `{fetch_command([status.name])}`")
        return status.path

    def has(self, name: str) -> bool:
        """Whether a run can use it: there, and its content as written."""
        return self.checked(name).state is ModelState.READY

    def lacking(self, names: Iterable[str]) -> Sequence[str]:
        """Those of the names that `has` is not true of."""
        return [name for name in dict.fromkeys(names) if not self.has(name)]

    def status(self, name: str) -> ModelStatus:
        """A quick look: size and version, not the content."""
        return self._status(name, thorough=False)

    def checked(self, name: str) -> ModelStatus:
        """What a run goes by: the content too, read once per file and process (15 ms for the default models)."""
        status = self.status(name)
        if status.state is ModelState.READY and self._intact_files.get(status.path) != looks(status.path):
            seen = looks(status.path)
            status = self._status(name, thorough=True)
            if status.state is ModelState.READY:
                self._intact_files[status.path] = seen
        return status

    def list(self) -> tuple[ModelStatus, ...]:
        """Every model of the catalogue, looked at quickly."""
        return tuple(self.status(name) for name in self._catalogue)

    def verify(self, names: Iterable[str] | None = None) -> tuple[ModelStatus, ...]:
        """Every model, or those named, with the content compared to what was written."""
        return tuple(self._status(name, thorough=True) for name in (self._catalogue if names is None else names))

    def ensure(self, names: Iterable[str] = DEFAULTS, progress: Progress | None = None) -> None:
        """Fetch what is missing or altered: what a run does before it starts. Raises ModelError."""
        if wanted := self.lacking(names):
            self.fetch(wanted, progress=progress)

    def fetch(
        self,
        names: Iterable[str] = DEFAULTS,
        from_folder: Path | None = None,
        progress: Progress | None = None,
        *,
        mirror: str = "",
        consent: Consent | None = None,
    ) -> tuple[ModelStatus, ...]:
        """Make the named models ready, those that are missing or whose content is not as written.

        `from_folder` holds wheels and files that were fetched elsewhere; nothing is downloaded then. `mirror` is an https address that
        files are fetched from instead of their rows' addresses. `consent` is called once with the models whose licences the user has
        to agree to, and raises when the answer is no; without it they are not fetched. Returns how they are now. Raises ModelError and
        leaves nothing half done, but for a download that broke off and is gone on with next time.
        """
        wanted = list(dict.fromkeys(names))
        report = progress or (lambda text, done, total: None)
        missing = self._missing(wanted)
        if missing:
            self._agree(missing, consent)
            with self._alone(report):
                self._fetch(self._missing(wanted), Origin(from_folder, mirror), report)
        return self.verify(wanted)

    def add(self, file: Path, name: str = "", progress: Progress | None = None) -> ModelStatus:
        """Take a file that the user has, as the model that it is or that `name` says. The file stays where it is.

        Raises UsageError when it cannot be told which model it is, ModelError when it is no network or cannot be copied.
        """
        report = progress or (lambda text, done, total: None)
        model, digest = recognise(file, self._catalogue, name)
        with self._alone(report):
            report(f"adding {model.name}", 0, 0)
            self._install(model, taken(file, self._folder, model, digest), brought=digest)
        return self.checked(model.name)

    def _missing(self, names: Sequence[str]) -> Sequence[Model]:
        return [self._catalogue[s.name] for s in self.verify(names) if s.state is not ModelState.READY]

    def _agree(self, models: Sequence[Model], consent: Consent | None) -> None:
        """Raises ModelError for a model that only the user can bring, or whose licence nobody was asked about."""
        for model in models:
            if not model.fetchable:
                why = "it is published nowhere" if model.sha256 else "no SHA-256 of it was published, so it cannot be fetched safely"
                raise ModelError(f"{model.terms}; {why}: get {model.file_name} yourself and run `{add_command(model)}`")
        asking = [model for model in models if model.asks]
        if asking and consent is None:
            names = ", ".join(model.name for model in asking)
            command = fetch_command([model.name for model in asking])
            verb, which = ("are", "licences") if len(asking) > 1 else ("is", "licence")
            raise ModelError(f"{names} {verb} not among the models in {self._folder}: run `{command}`, which shows the {which} first")
        if asking and consent is not None:
            consent(asking)

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
            raise ModelError(f"the model file {path} cannot be read ({error.strerror or error}): {cure}") from error
        own = state is ModelState.READY and self._is_own(model, path)
        return ModelStatus(name, model.role, model.licence, state, path, size, model, own)

    def _is_own(self, model: Model, path: Path) -> bool:
        record = read_record(path)
        return bool(record.get("brought") and model.sha256) and record.get("source_sha256") not in (model.sha256, *model.also)

    def _model(self, name: str) -> Model:
        if name not in self._catalogue:
            known = tuple(self._catalogue)
            hint = near_miss(name, known) or f": choose among {', '.join(known)}"
            raise UsageError(f"there is no model {name!r}{hint}")
        return self._catalogue[name]

    def _intact(self, model: Model, path: Path, size: int, *, thorough: bool) -> bool:
        """Whether the file is what its record says, and the record what the catalogue and the converter want."""
        record = read_record(path)
        known = bool(record.get("brought")) or record.get("source_sha256") == model.sha256 != ""
        if not known or record.get("converter") != convert.version_of(model) or record.get("bytes") != size:
            return False
        return not thorough or sha256_of(path) == record.get("sha256")

    @contextmanager
    def _alone(self, report: Progress) -> Iterator[None]:
        """No other process fetches into the folder meanwhile; what dead ones left behind is removed."""
        with self._mending():
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(self._folder / ".lock", _WAIT, lambda: report("waiting for another fetch to end", 0, 0)):
                for leftover in self._folder.glob(f"{PARTIAL}*"):
                    shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
                yield

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """File-system errors as sentences."""
        try:
            yield
        except TimeoutError as error:
            raise ModelError(f"another process has been fetching models into {self._folder} for an hour: end it") from error
        except OSError as error:
            if is_full(error):
                raise ModelError(f"the disk is full: free some space in {self._folder}, then run `{fetch_command()}`") from error
            cure = room_for(error) or "make it writable, or name another folder in REALTIME_MODELS"
            raise ModelError(f"the models' folder {self._folder} cannot be written ({reason(error)}): {cure}") from error

    def _fetch(self, models: Sequence[Model], origin: Origin, report: Progress) -> None:
        obtainer = Obtainer(self._folder, self._download, self._web, origin)
        found = parcels(models)
        total, before = sum(parcel_bytes(members) for _, members in found), 0
        for source, members in found:
            share = Share(report, before, parcel_bytes(members), total)
            share.text = self._describe(members, source.requirement if isinstance(source, Wheel) else members[0].file_name)
            before += parcel_bytes(members)
            for model, file in obtainer.files(members, share):
                report(f"converting {model.name}" if model.converter != convert.AS_IS else f"storing {model.name}", before, total)
                self._install(model, file)
        report(MODELS_READY, total, total)

    def _describe(self, models: Sequence[Model], source: str) -> str:
        """What is being fetched, as progress."""
        names = [model.name for model in models]
        damaged = [name for name in names if self.status(name).bytes]
        if damaged:
            return f"{', '.join(damaged)} damaged or outdated, fetching again ({source})"
        return f"fetching {', '.join(names)} ({source})"

    def _install(self, model: Model, file: bytes | Path, brought: str = "") -> None:
        """Each of the two files appears whole or not at all; the record last, so that a model without one counts as damaged.

        `file` is the content before it is converted, or a file in the store's folder, which is moved. `brought` is the SHA-256 of a
        file that the user had.
        """
        path = self._folder / f"{model.name}.onnx"
        if isinstance(file, Path) and model.converter == convert.AS_IS:
            digest, size = brought or model.sha256, file.stat().st_size
            file.replace(path)
        else:
            content = convert.convert(model, file.read_bytes() if isinstance(file, Path) else file)
            digest, size = hashlib.sha256(content).hexdigest(), len(content)
            replace(path, content)
            if isinstance(file, Path):
                file.unlink()
        write_record(path, _record(model, digest, size, brought))


def _record(model: Model, digest: str, size: int, brought: str) -> dict[str, object]:
    return {
        "model": model.name,
        "origin": model.origin,
        "licence": model.licence,
        "wheel": model.wheel.requirement if model.wheel else None,
        "address": model.address,
        "member": model.member,
        "source_sha256": brought or model.sha256,
        "brought": bool(brought),
        "converter": convert.version_of(model),
        "sha256": digest,
        "bytes": size,
    }
