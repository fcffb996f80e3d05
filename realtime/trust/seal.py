"""Finishes the files of a run: a note in the metadata, then signed credentials, read back before the file gets its name."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from realtime.errors import SinkError, reason
from realtime.trust import credentials, xmp
from realtime.trust.stopping import Stopped, never

LONG = 20_000_000
"""Bytes of a file whose signing is worth a word: some 30 to 100 MB are signed and read back in a second."""
INSTALL = "pip install 'realtime-faceswap[credentials]'"


class Sealer:
    """Call it with a complete file that holds a swapped face: the file is sealed in place, or stays as it was and SinkError is raised.

    What cannot be sealed, because of its format or because c2pa-python is not installed, is left unsigned, and `notify` is told once.
    """

    def __init__(self, key_folder: Path, ingredient: Path | None = None, notify: Callable[[str], None] = lambda sentence: None) -> None:
        """`key_folder`: where the signing key is, or will be. `ingredient`: the file that the run reads, whose credentials are kept."""
        self._key_folder = key_folder
        self._ingredient = ingredient
        self._notify = notify
        self._told: dict[str, object] = {}

    def __call__(self, path: Path, stopped: Stopped = never) -> None:
        """Raises SinkError, also when `stopped` says so meanwhile; `path` is then untouched, but for the metadata of a picture."""
        if xmp.declarable(path.suffix):
            _replace(path, lambda part: part.write_bytes(xmp.declare(path.read_bytes(), path.suffix)))
        if path.suffix.lower() not in credentials.FORMATS:
            self._tell_once(f"a {path.suffix} file has no place for Content Credentials: to have it signed, name one of {_signable()}")
        elif not credentials.available():
            self._tell_once(f"files are not signed with Content Credentials: {INSTALL}")
        else:
            _replace(path, lambda part: self._sign(path, part, stopped))

    def _sign(self, path: Path, part: Path, stopped: Stopped) -> None:
        from realtime.trust.signing import installation_key  # here: cryptography comes with c2pa-python

        if (size := path.stat().st_size) > LONG:
            self._notify(f"signing the video, {size / 1e6:.0f} MB; Ctrl-C leaves it unsigned")
        try:
            credentials.sign(path, part, installation_key(self._key_folder), self._ingredient, stopped)
            read = credentials.read(part, stopped)
        except SinkError as error:
            if not stopped():
                raise
            raise SinkError("the signing was broken off") from error
        if stopped():
            raise SinkError("the signing was broken off")
        if read.state != "intact" or not read.by_ai:
            raise SinkError(f"the Content Credentials do not read back ({', '.join(read.problems) or read.state})")

    def _tell_once(self, sentence: str) -> None:
        mine = object()
        if self._told.setdefault(sentence, mine) is mine:  # in one step: files are sealed in threads
            self._notify(sentence)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Put what `write` makes of the file in its place, in one step. Raises SinkError."""
    part = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
    try:
        write(part)
        part.replace(path)
    except (OSError, ValueError) as error:
        raise SinkError(f"the mark of its origin could not be added ({reason(error)})") from error
    finally:
        part.unlink(missing_ok=True)


def _signable() -> str:
    return " ".join(credentials.FORMATS)
