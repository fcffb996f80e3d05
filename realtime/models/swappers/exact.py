"""Which networks have failed at a low precision on this machine, and their single-precision forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from realtime.errors import ModelError

_RECORD: Final = "overflowed.json"


@dataclass(frozen=True, slots=True)
class Exact:
    """Remembers in a folder. `notify` tells the user one sentence. A folder that cannot be written is as if nothing was remembered."""

    folder: Path
    notify: Callable[[str], None]

    def needed(self, path: Path) -> bool:
        """Whether this very file, as it is now, overflowed before."""
        return _key(path) in self._record()

    def remember(self, path: Path) -> None:
        """Note it for the runs to come, and say it."""
        self.notify(f"{path.name} gives no picture at its precision (it overflows): it runs in fp32 from now on, which is slower")
        record = [*self._record(), _key(path)]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(self.folder / _RECORD, json.dumps(record, indent=1).encode())
        except OSError:
            return

    def file(self, path: Path, *, half: bool) -> Path:
        """The network in single precision: the file itself, unless its weights are `half`; then a copy that is made once.

        Raises ModelError when the copy cannot be made.
        """
        if not half:
            return path
        stem = _key(path).replace(":", "-").removesuffix(path.suffix)
        copy = self.folder / f"{stem}-fp32.onnx"
        if not copy.is_file():
            self._widen(path, copy)
        return copy

    def _widen(self, path: Path, copy: Path) -> None:
        import onnx

        from realtime.models.convert.widen import widen

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(copy, widen(onnx.load(path)).SerializeToString())
        except Exception as error:  # the system's, protobuf's and onnx's own kinds
            raise ModelError(f"{path.name} overflows and has no fp32 form here ({error}): use the fp32 file of that model") from error

    def _record(self) -> list[Any]:
        try:
            record = json.loads((self.folder / _RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return record if isinstance(record, list) else []


def _key(path: Path) -> str:
    """Changes with whatever is written to the file."""
    stat = path.stat()
    return f"{path.name}:{stat.st_size}:{stat.st_mtime_ns}"


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is complete as soon as it is there."""
    temporary = path.with_name(f".partial-{path.name}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
