"""From the words of `--input` to a source."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from realtime.errors import UsageError
from realtime.sources.base import Source
from realtime.sources.camera import CameraSource
from realtime.sources.cameras import CameraEntry, SeveralFitError, find_camera, first_camera, list_cameras, listing_of_all, platform_backend
from realtime.sources.image import ImageSource, is_still
from realtime.sources.transform import Transformed
from realtime.sources.urls import SCHEMES, redacted

DEFAULT_SIZE = (1280, 720)
DEFAULT_FPS = 30.0
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
"""Two letters at least: `C://` is a drive."""
_FILE_NAME = re.compile(r"[/\\]|\.[a-zA-Z]\w{1,4}$")
"""What looks like a file's: a folder in it, or a suffix as `.mp4`."""


def open_input(
    text: str = "",
    size: tuple[int, int] | None = None,
    fps: float | None = None,
    *,
    mirror: bool = False,
    rotate: int = 0,
    loop: bool = False,
    cameras: Callable[[], list[CameraEntry]] = list_cameras,
) -> Transformed:
    """The source that `text` names, not opened yet, within a `Transformed` whose mirror can be toggled.

    `text`: a camera's number, name, part of its name or device path; a video file; an image; a stream's URL; `synthetic` or
    `synthetic:PHOTO`; empty or "camera" for the first real camera. `size` and `fps` are what a camera is asked for and what the
    synthetic one gives; files and streams are fitted into `size` and keep their own rate. `loop` repeats a file for ever.

    Raises UsageError, saying what there is, when nothing fits.
    """
    text = text.strip()
    if text in ("", "camera", "synthetic") or text.startswith("synthetic:"):
        return _by_word(text, size, fps, mirror, rotate, cameras)
    source = _stream(text) or _file(text, loop)
    if source is not None:
        return Transformed(source, mirror, rotate, size)
    camera = CameraSource(_camera(text, cameras()), size or DEFAULT_SIZE, fps or DEFAULT_FPS)
    return Transformed(camera, mirror, rotate)


def check_file(text: str) -> None:
    """Open the video file or image that `--input` names, and close it again; does nothing with anything else, as a pipe or a camera.

    It takes some hundredths of a second, before networks are loaded for what cannot be read. Raises UsageError or SourceError.
    """
    try:
        regular = stat.S_ISREG(Path(text.strip()).expanduser().stat().st_mode)
    except (OSError, ValueError, RuntimeError):
        return
    source = _file(text.strip(), False) if regular else None
    if source is not None:
        with source:
            source.open()


def _by_word(
    text: str, size: tuple[int, int] | None, fps: float | None, mirror: bool, rotate: int, cameras: Callable[[], list[CameraEntry]]
) -> Transformed:
    source: Source
    if text.startswith("synthetic"):
        from realtime.sources.synthetic import SyntheticSource  # here: Numba comes with it, and a mistyped name is told without

        photo = text.partition(":")[2] or None
        source = SyntheticSource(None if photo is None else _existing(photo), size or DEFAULT_SIZE, fps or DEFAULT_FPS)
    else:
        source = CameraSource(first_camera(cameras()), size or DEFAULT_SIZE, fps or DEFAULT_FPS)
    return Transformed(source, mirror, rotate)


def _stream(text: str) -> Source | None:
    match = _SCHEME.match(text)
    if match is None:
        return None
    if match[1].lower() not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise UsageError(f"'{redacted(text)}' is no stream that can be read: give one that starts with {known}")
    # Imported here, as below: PyAV is large (15 MB), and a camera does without.
    from realtime.sources.stream import StreamSource

    return StreamSource(text)


def _file(text: str, loop: bool) -> Source | None:
    """A source for an existing file; None for a camera's number or device node, and for what does not exist."""
    try:
        path = Path(text).expanduser()
        mode = path.stat().st_mode
    except (OSError, ValueError, RuntimeError):  # the last: ~ of a user whom nobody knows
        return None
    if text.isdecimal() or stat.S_ISCHR(mode):
        return None
    if stat.S_ISDIR(mode):
        raise UsageError(f"'{text}' is a folder: give a video or an image in it")
    if is_still(path):
        return ImageSource(path)
    from realtime.sources.video import FileSource

    return FileSource(path, loop)


def _existing(photo: str) -> Path:
    path = Path(photo).expanduser()
    if not path.is_file():
        raise UsageError(f"there is no photo '{photo}' for the synthetic camera: check the name and the folder")
    return path


def _camera(text: str, cameras: list[CameraEntry]) -> CameraEntry:
    if text.isdecimal() and not cameras and not sys.platform.startswith("linux"):
        # Listing can fail where opening by number works; on Linux an empty list is the truth.
        return CameraEntry(int(text), f"camera {text}", "", platform_backend())
    try:
        return find_camera(text, cameras)
    except SeveralFitError:
        raise
    except UsageError as error:
        if text.isdecimal() or text.startswith("/dev/"):
            raise
        if _FILE_NAME.search(text):
            raise UsageError(f"there is no file '{text}' (the current folder is {Path.cwd()}): check the name and the folder") from error
        kinds = "or give a video, an image, a stream's URL or `synthetic`"
        raise UsageError(f"no camera, file or stream is called '{text}'; {listing_of_all(cameras)}; {kinds}") from error
