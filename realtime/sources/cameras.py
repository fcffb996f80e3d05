"""Which cameras there are, by name.

Names come from `cv2_enumerate_cameras`, the one library that numbers cameras as OpenCV does on Linux, macOS and Windows alike.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2

from realtime.errors import UsageError
from realtime.sources import v4l2

_NONE = "no camera was found: plug one in, or try `--input synthetic`, a video file or a stream"
_VIRTUAL_NAMES = ("virtual", "loopback", "obs camera", "unity video capture", "manycam", "xsplit", "snap camera", "dummy")


@dataclass(frozen=True, slots=True)
class CameraEntry:
    """A camera that is there now."""

    index: int
    """OpenCV's number of it within its backend; on Linux the number of the device node."""
    name: str
    path: str
    """Device node on Linux, unique id or empty elsewhere."""
    backend: int
    """OpenCV's number of the interface to open it with (cv2.CAP_V4L2, CAP_AVFOUNDATION, CAP_DSHOW, ...)."""
    formats: tuple[str, ...] = ()
    """E.g. "MJPG 1280x720 at 30, 15 fps"; empty where the platform does not tell before opening."""
    is_virtual: bool = False
    """A loopback or virtual camera: hardly the one that shows the user."""

    def __str__(self) -> str:
        return f"{self.index} '{self.name}'" + (" (virtual)" if self.is_virtual else "")


class SeveralFitError(UsageError):
    """What was given names more than one camera."""


def platform_backend(platform: str = sys.platform) -> int:
    """OpenCV's camera interface for this platform.

    Windows: DirectShow, since Media Foundation takes seconds to open a camera and often ignores a request for MJPG.
    """
    if platform == "win32":
        return int(cv2.CAP_DSHOW)
    return int(cv2.CAP_AVFOUNDATION if platform == "darwin" else cv2.CAP_V4L2)


def list_cameras(enumerate_cameras: Callable[[int], Sequence[Any]] | None = None) -> list[CameraEntry]:
    """Every camera there is, in OpenCV's order; empty when there is none or the platform cannot tell."""
    found: Sequence[Any] = ()
    # A missing or broken enumeration (an unknown platform, a denied COM call) must not cost more than the names.
    with contextlib.suppress(NotImplementedError, ImportError, OSError, RuntimeError):
        found = (enumerate_cameras or _library())(platform_backend())
    return sorted((_entry(info) for info in found), key=lambda entry: entry.index)


def first_camera(cameras: Sequence[CameraEntry]) -> CameraEntry:
    """The first real camera, else the first virtual one. Raises UsageError when there is none."""
    if not cameras:
        raise UsageError(_NONE)
    return next((entry for entry in cameras if not entry.is_virtual), cameras[0])


def find_camera(text: str, cameras: Sequence[CameraEntry]) -> CameraEntry:
    """The camera with this index, path, name or, in any case, part of a name.

    Raises UsageError, listing what there is, when none fits, and SeveralFitError when several do.
    """
    if not cameras:
        raise UsageError(_NONE)
    exact = [entry for entry in cameras if text in (str(entry.index), entry.path, entry.name)]
    fits = exact or [entry for entry in cameras if text.strip() and text.casefold() in entry.name.casefold()]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise SeveralFitError(f"'{text}' fits several cameras, {listing(fits)}: give the number or more of the name")
    raise UsageError(f"no camera is called '{text}'; {listing_of_all(cameras)}")


def listing(cameras: Sequence[CameraEntry]) -> str:
    return ", ".join(str(entry) for entry in cameras)


def listing_of_all(cameras: Sequence[CameraEntry]) -> str:
    return f"cameras here: {listing(cameras)}" if cameras else "no camera was found here"


def _library() -> Callable[[int], Sequence[Any]]:
    import cv2_enumerate_cameras

    enumerate_cameras: Callable[[int], Sequence[Any]] = cv2_enumerate_cameras.enumerate_cameras
    return enumerate_cameras


def _entry(info: Any) -> CameraEntry:
    path = str(info.path or "")
    name = str(info.name or path or f"camera {info.index}")
    driver = v4l2.driver(path) if path.startswith("/dev/") else None
    formats = tuple(str(mode) for mode in v4l2.modes(path)) if driver else ()
    virtual = "loopback" in (driver or "") or any(word in name.casefold() for word in _VIRTUAL_NAMES)
    return CameraEntry(int(info.index), name, path, int(info.backend), formats, virtual)
