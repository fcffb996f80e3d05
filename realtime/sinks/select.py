"""From the text of --output to a sink."""

from __future__ import annotations

from pathlib import Path

from realtime.errors import UsageError
from realtime.sinks.base import Sink
from realtime.sinks.codings import CODINGS
from realtime.sinks.files import Seal, probe
from realtime.sinks.image import IMAGE_SUFFIXES, ImageSink
from realtime.sinks.null import NullSink
from realtime.sinks.virtualcam import VirtualCamSink, check_virtual_camera
from realtime.sinks.window import WindowSink, require_display


def open_output(text: str, audio_from: str | None = None, seal: Seal | None = None, *, replace: bool = False) -> Sink:
    """The sink that `text` names, not opened yet: virtualcam[:DEVICE], window, null, or a file by its suffix.

    `audio_from`: the file whose sound a video takes along. `seal` finishes files in which a face was swapped. `replace`: files of
    that name may go. Raises UsageError for anything else, naming the possibilities.
    """
    kind, _, device = text.partition(":")
    if kind == "virtualcam":
        return VirtualCamSink(device or None)
    if text == "window":
        return WindowSink()
    if text == "null":
        return NullSink()
    return _file(text, audio_from, seal, replace)


def check_output(text: str, *, replace: bool = False) -> None:
    """Find out, without opening it, whether an output is there and may be written to, as far as that can be told.

    Raises UsageError or SinkError, as the sink's `open` would.
    """
    kind, _, device = text.partition(":")
    if kind == "virtualcam":
        check_virtual_camera(device or None)
    elif text == "window":
        require_display()
    elif text != "null":
        probe(_path(text), replace=replace)


def _file(text: str, audio_from: str | None, seal: Seal | None, replace: bool) -> Sink:
    path = _path(text)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        return ImageSink(path, seal, replace=replace)
    # Imported here: PyAV is large, and a virtual camera does without.
    from realtime.sinks.video import VideoSink

    return VideoSink(path, audio_from, seal, replace=replace)


def _path(text: str) -> Path:
    """The file that an output names. Raises UsageError when it is none that can be written."""
    path = Path(text).expanduser()
    if path.suffix.lower() in (*CODINGS, *IMAGE_SUFFIXES):
        return path
    raise UsageError(
        f"there is no output {text!r}: use virtualcam, virtualcam:DEVICE, window, null, "
        f"a video file ({' '.join(CODINGS)}) or a picture ({' '.join(IMAGE_SUFFIXES)})"
    )
