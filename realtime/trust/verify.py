"""What a picture or video says about itself in its watermark, its credentials and its metadata.

Each answer is one of three, with how sure it is. That nothing was found never means that a picture is real: all three can be missing or
have been removed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from realtime.errors import RealtimeError, UsageError, reason
from realtime.photos.read import DamagedPhotoError, read_photo
from realtime.trust import credentials, footage, xmp
from realtime.trust.reading import MIN_Z, SEEN_Z, Reader, Reading
from realtime.types import Image

log = logging.getLogger(__name__)

Status = Literal["found", "not_found", "inconclusive"]
_LONGEST = 2560
"""Pixels that a picture is shrunk to: the mark of one that fills it has chips of 16 pixels then."""
_VIDEO = {".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".mts", ".wmv", ".flv", ".gif"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One of the three answers."""

    status: Status
    confidence: float
    """0..1: how sure the status is; of an inconclusive one, how likely something is there."""
    says_ai: bool
    """It declares the content, or a part of it, to be made by AI."""
    detail: str

    def as_dict(self) -> dict[str, Any]:
        return {"status": self.status, "confidence": self.confidence, "says_ai": self.says_ai, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Verification:
    """What the three say together."""

    watermark: Finding
    credentials: Finding
    metadata: Finding

    @property
    def findings(self) -> dict[str, Finding]:
        return {"watermark": self.watermark, "credentials": self.credentials, "metadata": self.metadata}

    @property
    def status(self) -> Status:
        """found: one of them says that AI made a part; inconclusive: none does, but one cannot be told."""
        if any(finding.status == "found" and finding.says_ai for finding in self.findings.values()):
            return "found"
        return "inconclusive" if any(finding.status == "inconclusive" for finding in self.findings.values()) else "not_found"


def verify_file(path: Path) -> Verification:
    """Look at a picture or video. Raises UsageError when it is neither, RealtimeError when it cannot be read."""
    try:
        _check(path)
        return Verification(watermark(_batches(path)), credentials_of(path), metadata_of(path))
    except OSError as error:
        raise RealtimeError(f"cannot read {path}: {reason(error)}; check its permissions, or copy it again") from error


def _check(path: Path) -> None:
    """Raises UsageError when there is nothing to look at, OSError."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a picture or a video in it")
    if not path.is_file():
        raise UsageError(f"there is no file {path} (the current folder is {Path.cwd()}): name a picture or a video")
    if not path.stat().st_size:
        raise UsageError(f"{path.name} is empty: copy it again")


def verify_live(batches: Iterable[list[Image]]) -> Verification:
    """Look at frames of a camera, which carries pictures and nothing else."""
    nothing = Finding("not_found", 1.0, False, "a live picture has no place for it")
    return Verification(watermark(batches), nothing, nothing)


def watermark(batches: Iterable[list[Image]]) -> Finding:
    """Read batch after batch, each added to those before, until the mark is found. Raises UsageError without a frame."""
    reader, reading, count, size = Reader(), None, 0, None
    for batch in batches:
        for frame in batch:
            size = size or frame.shape
            if frame.shape == size:  # a stream may change its size; what it began with is looked at
                reader.add(frame)
                count += 1
        reading = reader.read() if count else None
        if reading is not None and reading.found:
            break
    if reading is None:
        raise UsageError("there was no picture to look at")
    return _finding(reading, "1 picture" if count == 1 else f"{count} frames")


def _finding(reading: Reading, seen: str) -> Finding:
    if reading.found:
        assert reading.payload is not None  # what was found was decoded
        kind = "AI-modified" if reading.payload.ai_modified else "not modified by AI"
        place = ", mirrored" if reading.mirrored else ""
        text = f"the mark of this program, saying {kind}, in {seen} at scale {reading.scale:.2f}{place} (peak {reading.z:.0f})"
        return Finding("found", 0.999, reading.payload.ai_modified, text)
    if reading.traces:
        likely = min(0.95, 0.5 + 0.45 * (reading.z - MIN_Z) / (SEEN_Z - MIN_Z))
        return Finding("inconclusive", round(likely, 2), False, f"traces of a mark in {seen}, too weak to be read (peak {reading.z:.1f})")
    if not reading.legible:
        return Finding("inconclusive", 0.0, False, f"{seen} too small or too busy for a mark to be seen")
    text = f"no mark of this program in {seen}, though it would be seen there, unless the picture was turned"
    return Finding("not_found", 0.95, False, text)


def _batches(path: Path) -> Iterable[list[Image]]:
    if path.suffix.lower() in _VIDEO:
        return footage.batches(path)
    try:
        return [[read_photo(path, _LONGEST)]]
    except DamagedPhotoError:
        log.warning("%s is damaged or cut short: what is left of it is looked at; copy it again to look at all of it", path.name)
        return footage.batches(path)
    except UsageError:
        return footage.batches(path)  # a video under another name, or neither


def credentials_of(path: Path) -> Finding:
    """Raises OSError."""
    read = credentials.read(path)
    signer = f"signed by '{read.signer}', a name that nobody has checked" if read.signer else "signed"
    if read.state == "intact":
        what = "declare content made by AI" if read.by_ai else "declare nothing made by AI"
        return Finding("found", 0.99, read.by_ai, f"they {what}; {signer}; the file is as it was then")
    if read.state == "broken":
        return Finding("inconclusive", 0.5, False, f"they do not fit the file: it or they were changed later ({', '.join(read.problems)})")
    if read.state == "unreadable":
        return Finding("inconclusive", 0.0, False, f"they cannot be read: {'; '.join(read.problems)}")
    return Finding("not_found", 0.99, False, "the file has none")


def metadata_of(path: Path) -> Finding:
    """Raises OSError."""
    named = xmp.source_types(path)
    by_ai = [name for name in named if name in xmp.BY_AI]
    shown = ", ".join(name.removeprefix(xmp.SOURCE_TYPES) for name in by_ai or named)
    if by_ai:
        return Finding("found", 0.99, True, f"its Digital Source Type is {shown}, which anyone can write or remove")
    if named:
        return Finding("not_found", 0.9, False, f"its Digital Source Type is {shown}: nothing made by AI")
    return Finding("not_found", 0.99, False, "it names no Digital Source Type")
