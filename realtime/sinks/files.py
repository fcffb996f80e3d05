"""Where file sinks write: checked before the run, complete or not there at all after it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

from realtime.errors import SinkError, UsageError, is_full, reason

Seal = Callable[[Path], None]
"""Finishes a complete file in place before it gets its name; raises SinkError."""

_BEGINNING = 16 << 10
"""Bytes that must fit on the disk: less than any video, more than the slack of a file system's blocks."""


class Target:
    """A file that appears under its name only when it is complete.

    Everything goes to `part`, a file beside it, until `commit` puts that in the place of whatever was there: an older file survives a
    run that fails. `part` keeps the suffix (writers choose the format by it).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f"{path.stem}.part{path.suffix}")

    def prepare(self) -> None:
        """Create the part file, empty.

        Raises UsageError when the folder is missing or cannot be written, SinkError when the disk has no room for a beginning.
        """
        if self.path.is_dir():
            raise UsageError(f"cannot write {self.path}: it is a folder; give the name of a file in it")
        if not self.path.parent.is_dir():
            raise UsageError(f"cannot write {self.path}: there is no folder {self.path.parent}; create it or give another name")
        if self.part.exists():  # of a run in progress or of one that died: leave it be
            self.part = self.path.with_name(f"{self.path.stem}.{uuid.uuid4().hex[:8]}.part{self.path.suffix}")
        try:
            self.part.touch(exist_ok=False)
        except OSError as error:
            raise (SinkError if is_full(error) else UsageError)(_sentence(self.path, error)) from error
        self._probe()

    def _probe(self) -> None:
        """Write and take back a little: a full disk still takes an empty file."""
        try:
            self.part.write_bytes(bytes(_BEGINNING))
            self.part.write_bytes(b"")
        except OSError as error:
            self.discard()
            raise SinkError(_sentence(self.path, error)) from error

    def commit(self, seal: Seal | None = None) -> None:
        """Raises SinkError. A file that could not be sealed is kept, under a name that says so."""
        if seal is not None:
            self._seal(seal)
        try:
            os.replace(self.part, self.path)  # noqa: PTH105 - one atomic step on every platform
        except OSError as error:
            raise SinkError(f"cannot rename {self.part.name} to {self.path}: {reason(error)}; the result is in {self.part}") from error

    def _seal(self, seal: Seal) -> None:
        try:
            seal(self.part)
        except (SinkError, KeyboardInterrupt) as error:
            kept = self._unsigned()
            why = str(error) if isinstance(error, SinkError) else "the signing was broken off"
            raise SinkError(f"{self.path} is not signed: {why}; the unsigned file is {kept}") from error

    def _unsigned(self) -> Path:
        kept = unsigned(self.path)
        if kept.exists():
            kept = self.path.with_name(f"{self.path.stem}.{uuid.uuid4().hex[:8]}.unsigned{self.path.suffix}")
        try:
            self.part.rename(kept)
        except OSError:
            return self.part
        return kept

    def discard(self) -> None:
        self.part.unlink(missing_ok=True)


def unsigned(path: Path) -> Path:
    """The name of a file that should have been signed and could not be."""
    return path.with_name(f"{path.stem}.unsigned{path.suffix}")


def write_whole(path: Path, data: bytes, seal: Seal | None = None) -> None:
    """Write a small file in one go. Raises UsageError (folder) or SinkError (disk, seal)."""
    target = Target(path)
    target.prepare()
    try:
        target.part.write_bytes(data)
    except OSError as error:
        target.discard()
        raise SinkError(_sentence(path, error)) from error
    target.commit(seal)


def _sentence(path: Path, error: OSError) -> str:
    cure = "free some space or give another folder" if is_full(error) else "give a folder that you may write to"
    return f"cannot write {path}: {reason(error)}; {cure}"
