"""Refuse to run beside another project's package of the same name.

The package index has an unrelated distribution called `realtime`, whose import package is `realtime` too. Installed into the same
folder, the two overwrite each other's files (`__init__.py` and `types.py` at least), and removing one breaks the other. This
module imports nothing of ours but the package itself, and is called first by `__main__` and `cli`, whose names the other project
does not use: they are still ours after it has replaced `__init__.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

CURE = "run `pip uninstall realtime` and then `pip install --force-reinstall --no-deps realtime-faceswap` (or `.` in its folder)"


def problem(package: Path, distribution: str | None) -> str | None:
    """What is wrong with the installation, in one sentence, or None.

    `package` is the folder of this import package; `distribution` is what its `__init__` says of itself (None when it says nothing).
    """
    if any(package.parent.glob("realtime-*.dist-info")) or any(package.parent.glob("realtime-*.egg-info")):
        return f"another project's package named 'realtime' is installed over this one: {CURE}"
    if distribution != "realtime-faceswap" or not (package / "types.py").is_file():
        return f"files of this package were replaced or removed, as happens when the package 'realtime' comes or goes: {CURE}"
    return None


def check() -> None:
    """Exit with status 1 and one sentence on stderr when the installation is not ours alone."""
    import realtime

    found = problem(Path(__file__).resolve().parent, getattr(realtime, "DISTRIBUTION", None))
    if found:
        print(f"realtime: {found}", file=sys.stderr)
        raise SystemExit(1)
