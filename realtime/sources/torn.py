"""Whether a file ends before its last part does, whatever its header promises: by the structure of its container alone.

A file that was cut just between two parts cannot be told from a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

_SYNC, _SYNCS = 0x47, 5
"""What each packet of a transport stream begins with, and how many in a row are no accident."""
_EBML, _SEGMENT = 0x1A45DFA3, 0x18538067
"""RFC 8794, section 11.2.1, and RFC 9559, section 5.1: what a Matroska file begins with, and the element that holds all the rest."""

_MOST_PARTS = 1 << 20
"""That are looked at: some hours of film, and a second or two of a file made of empty ones."""


def torn(path: Path, container: str) -> bool:
    """Whether the file ends in the middle of something; False for a `container`, by FFmpeg's name, that is not known here."""
    look = _LOOKS.get(container)
    try:
        return look is not None and look(path)
    except OSError:  # gone meanwhile
        return False


def _transport(path: Path) -> bool:
    """MPEG transport streams: packets of 188 bytes, with time stamps 192, with error correction 204."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(204 * (_SYNCS + 1))
    for length in (188, 192, 204):
        for start in range(length):
            marks = head[start::length][:_SYNCS]
            if len(marks) == _SYNCS and set(marks) == {_SYNC}:
                return (size - start + (4 if length == 192 else 0)) % length != 0
    return False


def _matroska(path: Path) -> bool:
    """Matroska and WebM: elements within elements, each with its length; one of unknown length ends the search."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if _element(file) != _EBML or not _skip(file, size) or _element(file) != _SEGMENT:
            return False
        length = _length(file)
        if length is not None:
            return file.tell() + length > size
        for _ in range(_MOST_PARTS):
            _element(file)
            if not _skip(file, size):
                return file.tell() > size
    return False


def _skip(file: BinaryIO, size: int) -> bool:
    """Go to the end of the element whose length comes next; False when it is not known or lies beyond the end of the file."""
    length = _length(file)
    if length is None:
        return False
    file.seek(length, 1)
    return file.tell() <= size


def _element(file: BinaryIO) -> int:
    """The identifier that comes next: its length is told by its leading zeros (RFC 8794, section 5); 0 when there is none."""
    first = file.read(1)
    zeros = 8 - first[0].bit_length() if first else 8
    return int.from_bytes(first + file.read(zeros)) if zeros < 4 else 0


def _length(file: BinaryIO) -> int | None:
    """The length that comes next (RFC 8794, section 6); None when it is unknown, as in a recording that was never finished."""
    first = file.read(1)
    zeros = 8 - first[0].bit_length() if first else 8
    if zeros == 8:
        return None
    most = (1 << 7 * (zeros + 1)) - 1
    value = int.from_bytes(first + file.read(zeros)) & most
    return None if value == most else value


def _flash(path: Path) -> bool:
    """FLV: a header that tells its own length, then tags of 11 bytes and their data; a length of four bytes before and after each.

    Adobe Flash Video File Format Specification 10.1, annex E.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(9)
        if len(head) < 9 or head[:3] != b"FLV":
            return False
        place = int.from_bytes(head[5:9]) + 4
        for _ in range(_MOST_PARTS):
            if place + 11 > size:
                return place - 4 != size and place != size  # some writers leave the very last length out
            file.seek(place + 1)
            place += 11 + int.from_bytes(file.read(3)) + 4
    return False


_LOOKS: Mapping[str, Callable[[Path], bool]] = MappingProxyType({"mpegts": _transport, "matroska,webm": _matroska, "flv": _flash})
