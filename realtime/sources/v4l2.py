"""What a Linux video device says of itself: its driver, its formats, and whether it is in use. Numbers and layouts: linux/videodev2.h.

Everything here answers None or nothing on other platforms and when the device does not tell.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CAPTURE = 1
_MMAP = 1
_DISCRETE = 1
_QUERYCAP = 0x80685600
_ENUM_FMT = 0xC0405602
_REQBUFS = 0xC0145608
_ENUM_FRAMESIZES = 0xC02C564A
_ENUM_FRAMEINTERVALS = 0xC034564B
_MOST = 64
"""Entries read of any list: a driver that never says "no more" must not hang us."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One thing a camera can deliver."""

    fourcc: str
    width: int
    height: int
    rates: tuple[float, ...]
    """Frames a second, the fastest first; empty when unknown."""

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.rates)
        return f"{self.fourcc} {self.width}x{self.height}" + (f" at {rates} fps" if rates else "")


def driver(path: str) -> str | None:
    """The name of the device's driver, e.g. "uvcvideo" or "v4l2 loopback"."""
    with _Device(path) as device:
        answer = device.ask(_QUERYCAP, bytearray(104))
    return None if answer is None else bytes(answer[:16]).split(b"\0")[0].decode("utf-8", "replace")


def modes(path: str) -> list[Mode]:
    """Every format, size and rate that the device lists."""
    with _Device(path) as device:
        return list(_modes(device))


def open_error(path: str) -> int | None:
    """The errno with which the device refuses to be opened or to start streaming; None when it would do both.

    Opening alone tells little: most cameras can be opened by anyone, and refuse buffers while another program streams.
    """
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return error.errno
    os.close(handle)
    with _Device(path) as device:
        # v4l2_requestbuffers: count, type, memory, capabilities, flags. Closing the device gives the buffer back.
        device.ask(_REQBUFS, bytearray(struct.pack("=5I", 1, _CAPTURE, _MMAP, 0, 0)))
        return device.errno if device.errno == errno.EBUSY else None


def holders(path: str) -> list[str]:
    """Names of the programs that have the device open, ourselves left out; only those that this user may look at."""
    target = os.path.realpath(path)
    found = {_program(process) for process in _processes() if _has_open(process, target)}
    return sorted(name for name in found if name)


class _Device:
    """An open device, or one that could not be opened and then answers nothing."""

    def __init__(self, path: str) -> None:
        self.errno: int | None = None
        self._handle: int | None = None
        if not sys.platform.startswith("linux"):
            return
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        except OSError as error:
            self.errno = error.errno

    def __enter__(self) -> _Device:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def ask(self, request: int, argument: bytearray) -> bytearray | None:
        """One ioctl; None when the device refuses it, `errno` then says why."""
        if self._handle is None or sys.platform == "win32":
            return None
        import fcntl

        try:
            fcntl.ioctl(self._handle, request, argument)
        except OSError as error:
            self.errno = error.errno
            return None
        return argument


def _modes(device: _Device) -> Iterator[Mode]:
    for fourcc in _fourccs(device):
        for width, height in _sizes(device, fourcc):
            yield Mode(fourcc.decode("latin-1").rstrip(), width, height, tuple(_rates(device, fourcc, width, height)))


def _fourccs(device: _Device) -> Iterator[bytes]:
    for index in range(_MOST):
        # v4l2_fmtdesc: index, type, flags, description[32], pixelformat, mbus_code, reserved[3]
        answer = device.ask(_ENUM_FMT, bytearray(struct.pack("=3I", index, _CAPTURE, 0).ljust(64, b"\0")))
        if answer is None:
            return
        yield bytes(answer[44:48])


def _sizes(device: _Device, fourcc: bytes) -> Iterator[tuple[int, int]]:
    for index in range(_MOST):
        # v4l2_frmsizeenum: index, pixel_format, type, then width and height, or min, max, step of both
        answer = device.ask(_ENUM_FRAMESIZES, bytearray(struct.pack("=I4s", index, fourcc).ljust(44, b"\0")))
        if answer is None:
            return
        kind, first, second = struct.unpack_from("=3I", answer, 8)
        if kind != _DISCRETE:
            widest, tallest = struct.unpack_from("=I", answer, 16)[0], struct.unpack_from("=I", answer, 28)[0]
            yield widest, tallest
            return
        yield first, second


def _rates(device: _Device, fourcc: bytes, width: int, height: int) -> list[float]:
    rates = []
    for index in range(_MOST):
        # v4l2_frmivalenum: index, pixel_format, width, height, type, then numerator and denominator (of the shortest, when a range)
        answer = device.ask(_ENUM_FRAMEINTERVALS, bytearray(struct.pack("=I4s2I", index, fourcc, width, height).ljust(52, b"\0")))
        if answer is None:
            break
        kind, seconds, parts = struct.unpack_from("=3I", answer, 16)
        if seconds:
            rates.append(round(parts / seconds, 2))
        if kind != _DISCRETE:
            break
    return sorted(set(rates), reverse=True)


def _processes() -> Iterator[Path]:
    proc = Path("/proc")
    if not proc.is_dir():
        return
    for entry in proc.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            yield entry


def _has_open(process: Path, target: str) -> bool:
    try:
        return any(str(link.readlink()) == target for link in (process / "fd").iterdir())
    except OSError:
        return False


def _program(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return ""
