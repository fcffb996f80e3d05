"""Machine code whose helpers have changed is forgotten.

Numba's cache looks at the file of the kernel alone (its documentation names it as a limitation, under "Caching"): after an update that
changes what a kernel takes from other files it would go on with the old code, for as long as the kernel's own file stays the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[2]
_FOLDERS: Final = ("realtime.compiled", "realtime.vision", "realtime.backends.native")
"""What kernels take code from; the rest are types and errors."""
_IMPORT: Final = re.compile(r"^from (realtime[\w.]*) import ([\w, ]+)", re.MULTILINE)


def forget_stale(dispatcher: Any, path: Path, name: str) -> None:
    """Empty the cache of a kernel whose helpers are not those it was last seen with, which a note beside it tells.

    `path`: of its module; `name`: of the kernel, unique among those of the folder. Without a note the cache is taken for fresh: there is
    none before the first compilation.
    """
    note = Path(dispatcher.stats.cache_path) / f"{re.sub(r'[<>]', '', name)}.helpers"
    now = digest(path)
    try:
        before = note.read_text("ascii")
    except (OSError, ValueError):
        before = ""
    if before == now:
        return
    if before:
        dispatcher._cache.flush()
    with suppress(OSError):  # the next start looks again
        note.write_text(now, "ascii")


@cache
def digest(path: Path, root: Path = _ROOT) -> str:
    """Of the sources that the module takes code from, its own left out."""
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        for name, helper in _helpers(waiting.pop().read_bytes(), root):
            if name not in found and helper != path:
                found[name] = helper.read_bytes()
                waiting.append(helper)
    return hashlib.sha256(b"".join(name.encode() + hashlib.sha256(found[name]).digest() for name in sorted(found))).hexdigest()


def _helpers(source: bytes, root: Path) -> Iterator[tuple[str, Path]]:
    for module, names in _IMPORT.findall(source.decode()):
        for name in (module, *(f"{module}.{each.strip()}" for each in names.split(","))):
            if name.startswith(_FOLDERS):
                place = root.joinpath(*name.split("."))
                yield from ((name, file) for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())
