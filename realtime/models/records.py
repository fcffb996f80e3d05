"""What the store notes beside each model, and files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

PARTIAL = ".partial-"
"""Begins the names of what is being made. Whatever bears it while nobody holds the lock was left by a process that died."""


def record_of(path: Path) -> Path:
    return path.with_suffix(".json")


def read_record(path: Path) -> dict[str, Any]:
    """What was noted when the file was made; empty when there is none or it makes no sense."""
    try:
        record = json.loads(record_of(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def write_record(path: Path, record: dict[str, Any]) -> None:
    replace(record_of(path), json.dumps(record, indent=1).encode())


def looks(path: Path) -> tuple[int, int, int]:
    """Changes with whatever is written to the file or put in its place."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def sha256_of(path: Path) -> str:
    """Of a file of any size, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace(path: Path, content: bytes) -> None:
    """Write a file that is complete as soon as it is there."""
    temporary = path.with_name(f"{PARTIAL}{path.name}")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as file:  # made here and now: what somebody else has put there is not written through
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
