"""Looks for known vulnerabilities in what this program depends on, as installed here: `python scripts/audit.py`.

pip-audit asks the package index about each distribution; it runs in an environment of its own, for it needs packages that we do not. Ends
with 1 when a vulnerability is known that a newer release mends. Where the index has no such service, or there is no network, it says that
nothing was audited and ends with 0: that must not keep anybody from working.

pip-audit rather than safety (an account) or osv-scanner (a binary that pip cannot fetch). pip itself is left out: it is the user's tool, in
whatever version the environment came with.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

ROOT = "realtime-faceswap"
LEFT_OUT = {ROOT, "pip"}
MINUTES = 5


def main() -> int:
    names = dependencies(ROOT) - LEFT_OUT
    try:
        report = ask()
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        print(f"NOT audited: pip-audit could not be run ({_last_line(error)})")
        return 0
    ours = [each for each in report if normal(each["name"]) in names]
    looked_at = [each for each in ours if "skip_reason" not in each]
    if not looked_at:
        print(f"NOT audited: no audit service can be reached from here ({len(ours)} packages were to be looked up)")
        return 0
    found = [(each, flaw) for each in looked_at for flaw in each["vulns"]]
    for each, flaw in found:
        cure = f"mended in {', '.join(flaw['fix_versions'])}" if flaw["fix_versions"] else "no release mends it yet"
        print(f"{each['name']} {each['version']}: {flaw['id']}, {cure}")
    print(f"audited {len(looked_at)} of {len(ours)} packages: {len(found)} known vulnerabilities")
    return int(any(flaw["fix_versions"] for _, flaw in found))


def dependencies(name: str) -> set[str]:
    """Names of what a distribution needs here, itself and what that needs in turn included; extras are left out."""
    found: set[str] = set()
    waiting = [normal(name)]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found.add(each)
        try:
            needed = requires(each) or []
        except PackageNotFoundError:  # of another platform
            continue
        waiting += [normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in needed if "extra ==" not in line]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def ask() -> list[dict[str, Any]]:
    """pip-audit's answer about every distribution of this environment. Raises OSError, SubprocessError or ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = next(path for path in (Path(folder, "bin", "python"), Path(folder, "Scripts", "python.exe")) if path.exists())
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"])
        where = sysconfig.get_path("purelib")
        command = [str(python), "-m", "pip_audit", "--path", where, "--format", "json", "--progress-spinner", "off"]
        answer = run(command, good=(0, 1))
    content = json.loads(answer)
    return list(content["dependencies"])


def run(command: list[str], good: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    if done.returncode not in good:
        raise subprocess.SubprocessError(done.stderr or done.stdout)
    return done.stdout


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
