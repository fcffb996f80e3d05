"""The sentences about cameras: why one does not open, and what it does instead of what it was asked for."""

from __future__ import annotations

import errno
import sys

from realtime.sources import v4l2
from realtime.sources.cameras import CameraEntry

Mode = tuple[str, int, int, float]
"""Four letters (empty when unknown), width, height, frames a second."""

_OFFERS = 4
"""Formats named in a sentence at most."""
_RAW = frozenset({"YUYV", "YUY2", "UYVY", "YVYU", "YU12", "NV12", "I420", "RGB3", "BGR3"})


def refusal(entry: CameraEntry, platform: str = sys.platform) -> str:
    """Why the camera could not be opened, in one sentence with the cure."""
    if platform.startswith("linux") and entry.path.startswith("/dev/"):
        return _linux_refusal(entry, v4l2.open_error(entry.path))
    if platform == "darwin":
        return (
            f"camera {entry} could not be opened: allow this terminal the camera in System Settings > Privacy & Security > Camera, "
            "and close other programs that use it"
        )
    return (
        f"camera {entry} could not be opened: close other programs that use it, and let desktop apps use the camera in "
        "Settings > Privacy & security > Camera"
    )


def _linux_refusal(entry: CameraEntry, error: int | None) -> str:
    if error in (errno.EACCES, errno.EPERM):
        return f"camera {entry} may not be opened by this user: run `sudo usermod -aG video $USER`, then log out and in again"
    if error == errno.EBUSY:
        users = ", ".join(v4l2.holders(entry.path))
        return f"camera {entry} is in use{f' by {users}' if users else ' by another program'}: close that first"
    if error in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"camera {entry} is not there ({entry.path}): plug it in, and see `cameras` for those that are"
    if entry.is_virtual:
        return f"camera {entry} is a virtual one that nothing is being sent to: start the program that feeds it, or choose another camera"
    return f"camera {entry} could not be opened as a camera ({entry.path}): unplug it and plug it in again, or choose another one"


def difference(entry: CameraEntry, got: Mode, asked: Mode) -> str:
    """What the camera does instead of what it was asked for, with advice; empty when that is what it does."""
    same_format = not got[0] or got[0] in (asked[0], "JPEG")
    same_size = got[1:3] == asked[1:3]
    slower = got[3] < asked[3] - 1
    if same_format and same_size and not slower:
        return ""
    return f"the camera gives {_words(got)}, not {_words(asked)} as asked for{_advice(entry, got, asked)}"


def low_rate(measured: float, nominal: float) -> str:
    return (
        f"the camera delivers only {measured:.0f} of its {nominal:.0f} frames a second: give it more light "
        "(a long exposure slows it down), or choose a smaller --size"
    )


def _fastest(mode: str) -> str:
    """ "MJPG 1280x720 at 30, 15 fps" without the slower rates."""
    first, comma, _ = mode.partition(",")
    return f"{first} fps" if comma else first


def _words(mode: Mode) -> str:
    return f"{mode[0] or 'video'} {mode[1]}x{mode[2]} at {mode[3]:g} fps"


def _advice(entry: CameraEntry, got: Mode, asked: Mode) -> str:
    compressed = [mode for mode in entry.formats if mode.startswith("MJPG")]
    if got[0] in _RAW and got[3] <= 10:
        return "; so few frames almost always mean an uncompressed format: plug it into a USB 3 port or choose a smaller --size"
    if got[1:3] != asked[1:3] and entry.formats:
        offers = [_fastest(mode) for mode in (compressed or entry.formats)]
        return f"; it offers {', '.join(offers[:_OFFERS])}: choose one of these with --size and --fps"
    return ""
