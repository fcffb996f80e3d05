"""Where file sinks write: checked before the run, complete or not there at all after it."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from itertools import count, takewhile
from pathlib import Path

from realtime.errors import SinkError, UsageError, reason, room_for

Stopped = Callable[[], bool]
"""Asked again and again by what takes long: whether to break it off."""
Seal = Callable[[Path, Stopped], None]
"""Finishes a complete file in place before it gets its name; raises SinkError, also when the second says that it is to be broken off."""

_SCANNED = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Seconds between the attempts to rename a file on Windows."""
_BEGINNING = 16 << 10
"""Bytes that must fit on the disk: less than any video, more than the slack of a file system's blocks."""


class Target:
    """A file that appears under its name only when it is complete.

    Everything goes to `part`, a file beside it, until `commit` gives it its name: an older file, which only `replace` allows to be
    there, survives a run that fails. `part` keeps the suffix (writers choose the format by it).
    """

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        self.path = path
        self._replace = replace
        self.part = path.with_name(f"{path.stem}.part{path.suffix}")
        self._made = False
        """Whether the part file is ours: another run may have one of the same name."""

    def prepare(self) -> None:
        """Create the part file, empty; when that is interrupted there is none.

        Raises UsageError when the folder is missing or cannot be written or there is such a file already, SinkError when the disk has
        no room for a beginning.
        """
        try:
            self.check()
            self._create()
        except OSError as error:
            raise (SinkError if room_for(error) else UsageError)(_sentence(self.path, error)) from error

    def _create(self) -> None:
        """With room for a beginning: a full disk still takes an empty file. Raises OSError."""
        if self.part.exists():  # of a run in progress or of one that died: leave it be
            self.part = self.path.with_name(f"{self.path.stem}.{uuid.uuid4().hex[:8]}.part{self.path.suffix}")
        self._made = True
        try:
            self.part.touch(exist_ok=False)
            self.part.write_bytes(bytes(_BEGINNING))
            self.part.write_bytes(b"")
        except BaseException as error:
            self._made = not isinstance(error, FileExistsError)  # another run was quicker
            self.discard()
            raise

    def check(self) -> None:
        """Raises UsageError when no file of this name could be written, whatever the disk says."""
        if self.path.is_dir():
            raise UsageError(f"cannot write {self.path}: it is a folder; give the name of a file in it")
        if self._taken():
            raise UsageError(there_already(self.path))
        if self.path.is_fifo():  # which the finished file would replace
            raise UsageError(f"cannot write {self.path}: it is a pipe, and a file that can be played is not written from front to back")
        if not self.path.parent.is_dir():
            raise UsageError(f"cannot write {self.path}: there is no folder {self.path.parent}; create it or give another name")

    def commit(self, seal: Seal | None = None, stopped: Stopped = lambda: False) -> None:
        """Raises SinkError. A file that could not be sealed, or whose name was taken meanwhile, is kept under another one."""
        if seal is not None:
            self._seal(seal, stopped)
        if self._taken():  # by another run, since `prepare`
            kept = self._renamed(free(self.path))
            raise SinkError(f"another program wrote {self.path} meanwhile, which is left as it is: this one is {kept}")
        try:
            _put_in_place(self.part, self.path)
        except OSError as error:
            raise SinkError(f"cannot rename {self.part.name} to {self.path}: {reason(error)}; the result is in {self.part}") from error

    def _seal(self, seal: Seal, stopped: Stopped) -> None:
        try:
            seal(self.part, stopped)
        except (SinkError, KeyboardInterrupt) as error:
            kept = self._renamed(free(unsigned(self.path)))
            why = str(error) if isinstance(error, SinkError) else "the signing was broken off"
            raise SinkError(f"{self.path} is not signed: {why}; the unsigned file is {kept}") from error

    def _taken(self) -> bool:
        """Whether there is a file that must not be replaced; a device, as /dev/null, takes it all."""
        return not self._replace and self.path.is_file()

    def _renamed(self, kept: Path) -> Path:
        try:
            self.part.rename(kept)
        except OSError:
            return self.part
        return kept

    def discard(self) -> None:
        """Remove the part file. Windows leaves one there that is open: call again when it is closed."""
        if self._made:
            with suppress(PermissionError):
                self.part.unlink(missing_ok=True)


def _put_in_place(part: Path, path: Path, platform: str = sys.platform) -> None:
    """In one step. On Windows again and again for a second: a virus scanner keeps a new file open for a moment, which forbids it.

    Raises OSError.
    """
    for pause in _SCANNED if platform == "win32" else ():
        with suppress(PermissionError):
            os.replace(part, path)  # noqa: PTH105 - atomic on every platform
            return
        time.sleep(pause)
    os.replace(part, path)  # noqa: PTH105


def probe(path: Path, *, replace: bool = False) -> None:
    """Find out whether a file can be written there, without making one that somebody could see or an end could leave behind.

    Raises as `Target.prepare` does.
    """
    from tempfile import TemporaryFile  # here: it is not needed to tell the options

    target = Target(path, replace=replace)
    try:
        target.check()
        with TemporaryFile(dir=path.parent, buffering=0) as file:  # has no name, where the system can do that
            file.write(bytes(_BEGINNING))
        target.part.exists()  # raises for a name that is too long
    except OSError as error:
        raise (SinkError if room_for(error) else UsageError)(_sentence(path, error)) from error


def there_already(path: Path) -> str:
    return f"there is already a file {path}: give another name, or --overwrite to replace it"


def free(path: Path) -> Path:
    """This name, or the first of NAME-2, NAME-3, ... that is not taken."""
    return _numbered(path, len(numbered(path)) + 2) if path.exists() else path


def numbered(path: Path) -> list[Path]:
    """NAME-2, NAME-3, ... as far as there are such files."""
    return list(takewhile(Path.exists, (_numbered(path, number) for number in count(2))))


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def unsigned(path: Path) -> Path:
    """The name of a file that should have been signed and could not be."""
    return path.with_name(f"{path.stem}.unsigned{path.suffix}")


def write_whole(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a small file in one go. Raises UsageError (folder, or a file that is there already) or SinkError (disk)."""
    fill(Target(path, replace=replace), data)


def fill(target: Target, data: bytes, seal: Seal | None = None, stopped: Stopped = lambda: False) -> None:
    """The same, for a target that nobody prepared yet. Raises SinkError also when it cannot be sealed."""
    target.prepare()
    try:
        target.part.write_bytes(data)
    except BaseException as error:
        target.discard()
        if isinstance(error, OSError):
            raise SinkError(_sentence(target.path, error)) from error
        raise
    target.commit(seal, stopped)


def _sentence(path: Path, error: OSError) -> str:
    return f"cannot write {path}: {reason(error)}; {room_for(error) or 'give a folder that you may write to'}"
