"""The virtual camera that video-call programs and browsers can select."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from realtime.errors import SinkError, UsageError
from realtime.sinks import loopback
from realtime.sinks.lifecycle import Closing
from realtime.types import OutputFrame, StreamFormat

_BACKEND = "realtime-v4l2loopback"
_OBS = "{A3FCE0F5-3493-419F-958A-ABA1250EC20B}"
_UNITY = tuple(f"{{5C2CD55C-92AD-4999-8666-912BD3E700{number:02X}}}" for number in (16, *range(18, 91)))
"""By what Windows knows the cameras of OBS and of Unity Capture, of which there may be 74 and one number is left out: pyvirtualcam 0.15,
virtual_output.h of native_windows_obs and, for 64 bits, of native_windows_unity_capture."""
_OTHERWISE = "or use --output window or --output FILE.mp4"


@dataclass(frozen=True, slots=True)
class VirtualCamera:
    """A virtual camera that exists on this machine."""

    device: str
    """What `VirtualCamSink` and --output virtualcam:DEVICE take."""
    label: str
    """What other programs show in their list."""
    users: tuple[str, ...] = ()
    """Programs that have it open now, as far as we may see."""


class VirtualCamSink(Closing):
    """Sends I420 frames, as they are, to a virtual camera.

    The sink neither waits nor paces: the driver copies the frame, and the caller keeps the rate steady. Readers see the camera from the
    first frame on. `device` is a path or number (Linux), a part of the label, or the name of a pyvirtualcam backend; None: the first one.
    """

    steady = waits = True

    def __init__(self, device: str | None = None) -> None:
        self._wanted = device
        self._device = device
        self._camera: Any = None
        self._bgr = False

    @property
    def reads_image(self) -> bool:
        return self._bgr

    @property
    def name(self) -> str:
        return f"virtualcam:{self._device}" if self._device else "virtualcam"

    def open(self, stream: StreamFormat) -> None:
        """Raises SinkError with the cure: no driver, no such device, in use, not permitted, held at another size."""
        if stream.width % 2 or stream.height % 2:
            raise UsageError(f"a virtual camera needs an even width and height, not {stream.width}x{stream.height}: give --size")
        backends = _backends()
        if self._wanted in backends or not sys.platform.startswith("linux"):
            self._camera = self._open_other(stream, backends)
        else:
            self._camera = _open_loopback(find_loopback(self._wanted), stream)
        self._device = str(self._camera.device)

    def _open_other(self, stream: StreamFormat, backends: dict[str, Any]) -> Any:
        """OBS and Unity Capture. All built-in OBS backends take I420; BGR is for one that does not."""
        from pyvirtualcam import Camera, PixelFormat

        backend = self._wanted if self._wanted in backends else None
        device = None if backend else self._wanted
        errors = []
        for self._bgr in (False, True):
            fmt = PixelFormat.BGR if self._bgr else PixelFormat.I420
            try:
                return Camera(stream.width, stream.height, stream.fps, fmt=fmt, device=device, backend=backend)
            except Exception as error:  # each backend has its own
                errors.append(str(error))
        raise SinkError(_other_sentence(errors[0], self._wanted))

    def write(self, frame: OutputFrame) -> None:
        """Raises SinkError when the driver did not take the frame."""
        if self._camera is None:
            raise SinkError("the virtual camera is closed")
        try:
            self._camera.send(frame.image if self._bgr else frame.i420)
        except (RuntimeError, ValueError, TypeError) as error:
            raise SinkError(f"the virtual camera did not take a frame: {error}") from error

    def close(self) -> None:
        camera, self._camera = self._camera, None
        if camera is not None:
            camera.close()


def _backends() -> dict[str, Any]:
    try:
        import pyvirtualcam.camera
    except Exception as error:  # a missing wheel, or a library that does not load
        raise SinkError(f"pyvirtualcam does not load ({error}): install it with pip install pyvirtualcam, {_OTHERWISE}") from error
    return dict(pyvirtualcam.camera.BACKENDS)


def _open_loopback(path: str, stream: StreamFormat) -> Any:
    import pyvirtualcam

    output = loopback.LoopbackOutput.open(path, stream.width, stream.height, stream.fps)
    try:
        pyvirtualcam.register_backend(_BACKEND, loopback.adopt)
        return pyvirtualcam.Camera(
            stream.width, stream.height, stream.fps, fmt=pyvirtualcam.PixelFormat.I420, backend=_BACKEND, output=output
        )
    except Exception:
        output.close()
        raise


def find_loopback(wanted: str | None) -> str:
    """The path of the loopback device meant by a path, a number, a part of a label, or None: the first that nobody feeds.

    Raises SinkError when there is none.
    """
    if wanted and wanted.startswith("/"):
        return wanted
    devices = loopback.loopbacks()
    if not devices:
        raise SinkError(missing_sentence())
    if wanted:
        return _named(wanted, devices)
    return next((device.path for device in devices if _usable(device.path)), devices[0].path)


def check_virtual_camera(wanted: str | None) -> None:
    """Raises SinkError when it can be told, without opening the camera, that frames cannot be sent to it: on Linux all but its size,
    on Windows whether there is one, elsewhere only whether pyvirtualcam is there."""
    backends = _backends()
    if wanted not in backends and sys.platform.startswith("linux"):
        loopback.refuse_unusable(find_loopback(wanted))
    elif sys.platform == "win32" and not _is_registered():
        raise SinkError(missing_sentence("win32"))


def _is_registered(registry: Any = None) -> bool:
    """Whether Windows knows a virtual camera that pyvirtualcam does: it looks at the same keys, and opens none that is not there."""
    registry = registry or importlib.import_module("winreg")  # by name: it is on Windows only
    for key in (_OBS, *_UNITY):
        try:
            registry.CloseKey(registry.OpenKey(registry.HKEY_CLASSES_ROOT, f"CLSID\\{key}"))
        except OSError:
            continue
        return True
    return False


def _usable(path: str) -> bool:
    try:
        loopback.refuse_unusable(path)
    except SinkError:
        return False
    return True


def _named(wanted: str, devices: list[loopback.Loopback]) -> str:
    number = wanted.removeprefix("video")
    for device in devices:
        if number.isdecimal() and device.path == f"/dev/video{number}":
            return device.path
    for device in devices:
        if wanted.casefold() in device.label.casefold():
            return device.path
    there = ", ".join(f"{device.path} ({device.label})" for device in devices)
    raise SinkError(f"there is no virtual camera {wanted!r}; there is {there}")


def missing_sentence(platform: str = sys.platform) -> str:
    """What to do when there is no virtual camera, on this platform, in one sentence."""
    if platform.startswith("linux"):
        if loopback.driver_installed():
            return f"there is no virtual camera: load the driver with {loopback.MODPROBE}, {_OTHERWISE}"
        install = "sudo apt install v4l2loopback-dkms (or your distribution's package of that name)"
        return f"there is no virtual camera: install the driver with {install}, load it with {loopback.MODPROBE}, {_OTHERWISE}"
    if platform == "darwin":
        return (
            "there is no virtual camera: install OBS 30 or later (https://obsproject.com), press Start Virtual Camera in it once, "
            f"allow its system extension, and quit OBS, {_OTHERWISE}"
        )
    return (
        "there is no virtual camera: install OBS (https://obsproject.com), press Start Virtual Camera in it once "
        f"and Stop Virtual Camera again, {_OTHERWISE}"
    )


def _other_sentence(text: str, device: str | None) -> str:
    lowered = text.casefold()
    if "supports only" in lowered:
        return f"there is no virtual camera {device!r}: leave the name out to use the one that there is"
    if any(words in lowered for words in ("not found", "not installed", "did you install", "no camera registered")):
        return missing_sentence()
    if any(words in lowered for words in ("could not be started", "multiple cameras", "in use", "already")):
        return "the virtual camera is in use: stop the virtual camera in OBS and end other programs that feed it, then start again"
    first = text.strip().splitlines()[0] if text.strip() else "no reason given"
    return f"the virtual camera does not open: {first.rstrip('.')}; start OBS's virtual camera once and stop it, {_OTHERWISE}"


def virtual_cameras() -> list[VirtualCamera]:
    """The virtual cameras that frames can be sent to. Empty when there is none, or the platform tells only by opening one."""
    if not sys.platform.startswith("linux"):
        return []
    return [
        VirtualCamera(device.path, device.label, tuple(sorted({holder.program for holder in loopback.holders(device.path)})))
        for device in loopback.loopbacks()
    ]


def diagnose() -> tuple[bool, str]:
    """Whether a virtual camera can be used, and a sentence: which, or what is wrong and the cure.

    On Linux nothing is disturbed; elsewhere the camera is opened for a moment, the only way to find out.
    """
    try:
        if not sys.platform.startswith("linux"):
            return _try_open()
        path = find_loopback(None)
        loopback.refuse_unusable(path)
    except (SinkError, UsageError) as error:
        return False, str(error)
    label = next((device.label for device in loopback.loopbacks() if device.path == path), "")
    return True, f"{path} ({label}) is ready"


def _try_open() -> tuple[bool, str]:
    with VirtualCamSink() as sink:
        sink.open(StreamFormat(1280, 720, 30.0, live=True))
        return True, f"{sink.name.removeprefix('virtualcam:')} is ready"
