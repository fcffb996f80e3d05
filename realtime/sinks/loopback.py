"""Linux: v4l2loopback devices, with every answer of the driver looked at.

pyvirtualcam's own Linux backend ignores three things that go wrong in practice (all seen on v4l2loopback 0.12.7): the format that the
driver really took, a write that failed, and a device that stays unusable after its last writer. This module asks the driver itself and
is handed to pyvirtualcam as one more backend.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from realtime.errors import SinkError, reason
from realtime.sinks import v4l2

DRIVER = "v4l2 loopback"
MODPROBE = 'sudo modprobe v4l2loopback devices=1 exclusive_caps=1 card_label="Virtual Camera"'
FOURCC_I420 = int.from_bytes(b"I420", "little")
RETRY_SECONDS = 2.0
"""How long a device that is held at another size is asked again: a program that was just closed takes a moment to let go."""
FEED_SECONDS = 0.4
"""How long another program's frames are waited for before a device counts as left over: two frames at 5 a second."""

_MORE_THAN_LEFT = 4  # frames: a new opener of v4l2loopback is given the newest two at most
_SYSFS = Path("/sys/class/video4linux")


@dataclass(frozen=True, slots=True)
class Loopback:
    """A v4l2loopback device."""

    path: str
    label: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a device open."""

    pid: int
    program: str
    write_only: bool


def loopbacks() -> list[Loopback]:
    """All v4l2loopback devices that may be opened, by number. Opens each for a moment."""
    nodes = sorted(_SYSFS.glob("video*"), key=lambda node: int(node.name[5:])) if _SYSFS.is_dir() else []
    found = (_probe(f"/dev/{node.name}", _label(node)) for node in nodes)
    return [device for device in found if device is not None]


def _label(node: Path) -> str:
    try:
        return (node / "name").read_text(errors="replace").strip()
    except OSError:
        return ""


def _probe(path: str, label: str) -> Loopback | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        driver, _ = v4l2.query(file)
    except OSError:
        return None
    finally:
        os.close(file)
    return Loopback(path, label) if driver == DRIVER else None


def holders(path: str) -> list[Holder]:
    """The other processes of ours (or all, for root) that have `path` open."""
    own = str(os.getpid())
    entries = [entry for entry in Path("/proc").glob("[0-9]*") if entry.name != own]
    found = (_holder(entry, path) for entry in entries)
    return [holder for holder in found if holder is not None]


def _holder(entry: Path, path: str) -> Holder | None:
    try:
        files = [link for link in (entry / "fd").iterdir() if os.readlink(link) == path]  # noqa: PTH115 - a string is wanted
        if not files:
            return None
        access = [_access(entry / "fdinfo" / link.name) for link in files]
        return Holder(int(entry.name), (entry / "comm").read_text().strip(), os.O_WRONLY in access)
    except OSError:  # gone meanwhile, or another user's
        return None


def _access(info: Path) -> int:
    flags = next(line for line in info.read_text().splitlines() if line.startswith("flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE


def cure(path: str) -> None:
    """Give a loopback device its output side back.

    With exclusive_caps=1, v4l2loopback 0.12 takes the output capability away at the first write and returns it only when an opener that
    has called STREAMON closes; a writer that only writes (as pyvirtualcam does), or that was killed, leaves the device unusable until the
    module is loaded again. STREAMON marks its caller even when it answers EINVAL for want of a format: one open, STREAMON and close
    mends the device.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return
    try:
        v4l2.stream_on(file)
    except OSError:
        pass
    finally:
        os.close(file)


class LoopbackOutput:
    """One open loopback device that takes I420 frames; the form that pyvirtualcam wants of a backend."""

    def __init__(self, path: str, file: int, frame_bytes: int) -> None:
        self._path, self._file, self._frame_bytes = path, file, frame_bytes

    @classmethod
    def open(cls, path: str, width: int, height: int, fps: float) -> Self:
        """Raises SinkError: device missing, not permitted, not a loopback, in use, or held at another size by a reader."""
        wanted = v4l2.PixelLayout(width, height, v4l2.YUV420)
        until = time.perf_counter() + RETRY_SECONDS
        while True:
            file = cls._open_output(path)
            try:
                got = v4l2.set_layout(file, wanted)
                if got == wanted:
                    v4l2.announce_rate(file, fps)
                    return cls(path, file, width * height * 3 // 2)
            except OSError as error:
                _close(path, file)
                raise SinkError(f"the virtual camera {path} refuses {width}x{height}: {reason(error)}; give another --size") from error
            _close(path, file)
            if time.perf_counter() > until:
                raise SinkError(_held(path, got, wanted))
            time.sleep(0.1)

    @staticmethod
    def _open_output(path: str) -> int:
        refuse_unusable(path)
        cure(path)  # while nothing of ours has it open: the format can be set only from the first opener on
        file = _open(path)
        try:
            if not v4l2.query(file)[1] & v4l2.OUTPUT:
                raise SinkError(f"the virtual camera {path} is fed by another program: close that, or load a second device")
            _lock(path, file)
        except OSError as error:
            os.close(file)
            raise SinkError(_cannot_open(path, error)) from error
        except SinkError:
            os.close(file)
            raise
        return file

    def send(self, frame: NDArray[np.uint8]) -> None:
        """Hand one frame to the driver, which copies it and never makes us wait. Raises SinkError when it was not taken whole."""
        try:
            taken = os.write(self._file, frame.data)
        except OSError as error:
            raise SinkError(f"the virtual camera {self._path} takes no more frames: {reason(error)}; start again") from error
        if taken != self._frame_bytes:
            raise SinkError(
                f"the virtual camera {self._path} took {taken} of {self._frame_bytes} bytes: "
                "another program changed its size; close that program and start again"
            )

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            _close(self._path, file)

    def device(self) -> str:
        return self._path

    def native_fourcc(self) -> int:
        return FOURCC_I420


def adopt(*, output: LoopbackOutput, **_: Any) -> LoopbackOutput:
    """The backend "class" registered with pyvirtualcam: takes a device that is open already, so that errors keep their sentence."""
    return output


def _close(path: str, file: int) -> None:
    os.close(file)
    cure(path)


def _lock(path: str, file: int) -> None:
    """Two runs of ours at once: the second one is told."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise SinkError(f"the virtual camera {path} is fed by another run of this program: end that, or load a second device") from error


def refuse_unusable(path: str) -> None:
    """Raises SinkError when `path` is no loopback device, may not be written or is fed by another program.

    Opens it for a moment, changes nothing.
    """
    file = _open(path)
    try:
        driver, capabilities = v4l2.query(file)
    except OSError as error:
        raise SinkError(f"{path} is no video device; leave the name out to use the first virtual camera") from error
    finally:
        os.close(file)
    if driver != DRIVER:
        raise SinkError(f"{path} is a camera ({driver}), not a virtual one; leave the name out to use the first virtual camera")
    others = holders(path)
    writers = [holder for holder in others if holder.write_only]
    if not writers and others and not capabilities & v4l2.OUTPUT and _frames_arrive(path):
        writers = others  # ffmpeg, OBS and others open it for reading too
    if writers:
        names = " or ".join(f"{holder.program}, process {holder.pid}" for holder in writers)
        raise SinkError(f"the virtual camera {path} is fed by another program ({names}): close that, or load a second device")


def _frames_arrive(path: str) -> bool:
    """Whether somebody feeds the device now: what is left of an earlier feed can be read once, more only when it was written since."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        left = sum(_reads_frame(file) for _ in range(_MORE_THAN_LEFT))
        until = time.perf_counter() + FEED_SECONDS
        while left < _MORE_THAN_LEFT and time.perf_counter() < until:
            time.sleep(0.02)
            if _reads_frame(file):
                return True
        return left == _MORE_THAN_LEFT
    finally:
        os.close(file)


def _reads_frame(file: int) -> bool:
    try:
        return bool(os.read(file, 16))
    except OSError:  # no new frame, or no format yet
        return False


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY)
    except OSError as error:
        raise SinkError(_cannot_open(path, error)) from error


def _cannot_open(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no device {path}: run {MODPROBE}, or leave the name out to use the first virtual camera"
    if isinstance(error, PermissionError):
        return f"no permission to write to {path}: run sudo usermod -aG video $USER, then log out and in again"
    return f"cannot open the virtual camera {path}: {reason(error)}; close programs that use it, or reload the driver"


def _held(path: str, got: v4l2.PixelLayout, wanted: v4l2.PixelLayout) -> str:
    programs = sorted({holder.program for holder in holders(path)})
    by = f"a program that still shows it ({', '.join(programs)})" if programs else "a program that still shows it"
    return (
        f"the virtual camera {path} is held at {got.width}x{got.height} by {by}: close the camera there to send "
        f"{wanted.width}x{wanted.height}, or use --size {got.width}x{got.height}"
    )


def driver_installed() -> bool:
    """Whether the running kernel has a v4l2loopback module to load."""
    modules = Path("/lib/modules") / os.uname().release / "modules.dep" if sys.platform != "win32" else Path()
    try:
        return "v4l2loopback.ko" in modules.read_text()
    except OSError:
        return False
