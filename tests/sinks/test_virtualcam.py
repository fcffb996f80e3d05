from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from realtime.errors import SinkError, UsageError
from realtime.sinks import loopback, v4l2, virtualcam
from realtime.sinks.virtualcam import VirtualCamSink
from tests.sinks.frames import frame, stream

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="v4l2loopback is Linux's")


class Recorder:
    """A pyvirtualcam backend; `takes` lists the formats it accepts, `error` what it raises."""

    def __init__(self, takes: tuple[bytes, ...] = (b"I420", b"24BG"), error: str = "") -> None:
        self.takes, self.error = takes, error
        self.frames: list[Any] = []
        self.closed = 0

    def __call__(self, *, fourcc: int, device: str | None, **_: Any) -> Recorder:
        if self.error or fourcc.to_bytes(4, "little") not in self.takes:
            raise RuntimeError(self.error or "Unsupported image format.")
        return self

    def send(self, data: Any) -> None:
        self.frames.append(data.copy())

    def device(self) -> str:
        return "Recorder Camera"

    def native_fourcc(self) -> None:
        return None

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    import pyvirtualcam.camera

    recorder = Recorder()
    monkeypatch.setitem(pyvirtualcam.camera.BACKENDS, "recorder", recorder)
    return recorder


def test_i420_is_sent_as_it_is(backend: Recorder) -> None:
    with VirtualCamSink("recorder") as sink:
        assert sink.steady
        sink.open(stream(live=True))
        assert sink.name == "virtualcam:Recorder Camera"
        sink.write(frame(5))
    assert bytes(backend.frames[0]) == frame(5).i420.tobytes()
    sink.close()
    assert backend.closed == 1


def test_a_backend_without_i420_gets_bgr(backend: Recorder) -> None:
    backend.takes = (b"24BG",)
    with VirtualCamSink("recorder") as sink:
        sink.open(stream(live=True))
        sink.write(frame(5))
    assert bytes(backend.frames[0]) == frame(5).image.tobytes()


@pytest.mark.parametrize(("error", "words"), [
    ("OBS Virtual Camera device not found! Did you install OBS?", "there is no virtual camera"),
    ("OBS Virtual Camera is not installed in your system.", "there is no virtual camera"),
    ("virtual camera output could not be started", "in use"),
    ("Multiple cameras are not supported by this backend.", "in use"),
    ("This backend supports only the 'OBS Virtual Camera' device.", "leave the name out"),
    ("something new\nwith details", "something new; start OBS"),
])  # fmt: skip
def test_each_failure_is_one_sentence_with_a_cure(backend: Recorder, error: str, words: str) -> None:
    backend.error = error
    with VirtualCamSink("recorder") as sink, pytest.raises(SinkError, match=words) as caught:
        sink.open(stream())
    assert "\n" not in str(caught.value)


def test_wrong_frames_and_late_frames_are_sink_errors(backend: Recorder) -> None:
    sink = VirtualCamSink("recorder")
    with pytest.raises(SinkError, match="closed"):
        sink.write(frame(0))
    sink.open(stream())
    with pytest.raises(SinkError, match="did not take"):
        sink.write(frame(0, 320, 240))
    sink.close()
    with pytest.raises(SinkError, match="closed"):
        sink.write(frame(0))


def test_odd_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="even width and height"):
        VirtualCamSink("recorder").open(stream(161, 120))


@pytest.mark.parametrize(("platform", "words"), [
    ("linux", "modprobe v4l2loopback"),
    ("darwin", "system extension"),
    ("win32", "install OBS"),
])  # fmt: skip
def test_a_missing_driver_names_the_platforms_cure(platform: str, words: str) -> None:
    assert words in virtualcam.missing_sentence(platform)


class Registry:
    HKEY_CLASSES_ROOT = 0

    def __init__(self, *keys: str) -> None:
        self.keys, self.opened = keys, 0

    def OpenKey(self, root: int, key: str) -> int:  # noqa: N802
        if key.removeprefix("CLSID\\") not in self.keys:
            raise FileNotFoundError(key)
        self.opened += 1
        return self.opened

    def CloseKey(self, key: int) -> None:  # noqa: N802
        self.opened -= 1


@pytest.mark.parametrize(
    ("keys", "there"),
    [
        ((), False),
        (("{A3FCE0F5-3493-419F-958A-ABA1250EC20B}",), True),
        (("{5C2CD55C-92AD-4999-8666-912BD3E70010}",), True),
        (("{5C2CD55C-92AD-4999-8666-912BD3E70011}",), False),
        (("{5C2CD55C-92AD-4999-8666-912BD3E70012}",), True),
    ],
)
def test_on_windows_a_camera_is_known_by_its_key(keys: tuple[str, ...], there: bool) -> None:
    registry = Registry(*keys)
    assert virtualcam._is_registered(registry) is there
    assert registry.opened == 0


@linux
def test_without_a_device_the_cure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "loopbacks", list)
    for wanted in (None, "Some Camera", "7"):
        with VirtualCamSink(wanted) as sink, pytest.raises(SinkError, match="modprobe v4l2loopback"):
            sink.open(stream())
    assert virtualcam.virtual_cameras() == []
    usable, sentence = virtualcam.diagnose()
    assert not usable and "modprobe v4l2loopback" in sentence


@linux
def test_devices_are_found_by_number_and_by_part_of_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [loopback.Loopback("/dev/video8", "OBS Camera"), loopback.Loopback("/dev/video10", "My Virtual Camera")]
    monkeypatch.setattr(loopback, "loopbacks", lambda: devices)
    assert virtualcam.find_loopback("10") == virtualcam.find_loopback("video10") == virtualcam.find_loopback("my virtual") == "/dev/video10"
    assert virtualcam.find_loopback(None) == "/dev/video8"
    with pytest.raises(SinkError, match=r"there is /dev/video8 \(OBS Camera\), /dev/video10"):
        virtualcam.find_loopback("1")


@linux
@pytest.mark.parametrize(("path", "words"), [("/dev/no-such", "there is no device"), ("/dev/null", "no video device")])
def test_paths_that_are_no_virtual_camera(path: str, words: str) -> None:
    with VirtualCamSink(path) as sink, pytest.raises(SinkError, match=words):
        sink.open(stream())


class Driver:
    """Answers ioctls as v4l2loopback does: the format can be set unless `held`, a reader's size."""

    def __init__(self, held: tuple[int, int] | None = None, capabilities: int = 2, name: bytes = b"v4l2 loopback") -> None:
        self.held, self.capabilities, self.name = held, capabilities, name
        self.pix = struct.pack("=III", *(held or (0, 0)), v4l2.YUV420)
        self.calls: list[int] = []

    def __call__(self, file: int, request: int, data: bytes) -> bytes:
        self.calls.append(request)
        head, offset = data[:4], len(data) - 200
        if request == v4l2._QUERYCAP:
            return self.name.ljust(88, b"\0") + struct.pack("=I", self.capabilities) + bytes(12)
        if request == v4l2._S_FMT and self.held is None:
            self.pix = data[offset : offset + 12]
        return (head.ljust(offset, b"\0") + self.pix).ljust(len(data), b"\0")


def drive(monkeypatch: pytest.MonkeyPatch, driver: Driver) -> Driver:
    monkeypatch.setattr(v4l2, "_ioctl", driver)
    monkeypatch.setattr(loopback, "RETRY_SECONDS", 0.0)
    return driver


@linux
def test_the_numbers_are_the_kernels() -> None:
    if struct.calcsize("P") == 8:
        assert (v4l2._QUERYCAP, v4l2._G_FMT, v4l2._S_FMT) == (0x80685600, 0xC0D05604, 0xC0D05605)
    assert (v4l2._STREAMON, v4l2._S_PARM) == (0x40045612, 0xC0CC5616)


@linux
def test_a_write_goes_to_the_device_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = tmp_path / "video10"
    device.write_bytes(b"")
    driver = drive(monkeypatch, Driver())
    with VirtualCamSink(str(device)) as sink:
        sink.open(stream(live=True))
        sink.write(frame(3))
    assert device.read_bytes() == frame(3).i420.tobytes()
    assert driver.calls[:3] == [v4l2._QUERYCAP, v4l2._STREAMON, v4l2._QUERYCAP], "the cure comes before the device is opened for good"
    assert driver.calls[-1] == v4l2._STREAMON, "and after it is closed"


@linux
def test_a_device_that_another_process_writes_to_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "video10").write_bytes(b"")
    drive(monkeypatch, Driver())
    code = f"import os, sys; os.open({str(tmp_path / 'video10')!r}, os.O_WRONLY); print('on', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with VirtualCamSink(str(tmp_path / "video10")) as sink, pytest.raises(SinkError, match=f"fed by another program .*{other.pid}"):
            sink.open(stream())
        other.communicate()
    with VirtualCamSink(str(tmp_path / "video10")) as sink:
        sink.open(stream())


@linux
def test_a_failed_write_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    drive(monkeypatch, Driver())
    with VirtualCamSink("/dev/full") as sink:
        sink.open(stream(live=True))
        with pytest.raises(SinkError, match="takes no more frames"):
            sink.write(frame(0))


@linux
def test_a_short_write_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "video10").write_bytes(b"")
    drive(monkeypatch, Driver())
    with VirtualCamSink(str(tmp_path / "video10")) as sink:
        sink.open(stream(live=True))
        monkeypatch.setattr(os, "write", lambda file, data: 100)
        with pytest.raises(SinkError, match="100 of 28800 bytes"):
            sink.write(frame(0))


@linux
@pytest.mark.parametrize(("driver", "words"), [
    (Driver(held=(1280, 720)), "held at 1280x720 by a program .* --size 1280x720"),
    (Driver(capabilities=1), "fed by another program"),
    (Driver(name=b"uvcvideo"), r"is a camera \(uvcvideo\), not a virtual one"),
])  # fmt: skip
def test_what_the_driver_answers_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: Driver, words: str) -> None:
    (tmp_path / "video10").write_bytes(b"")
    drive(monkeypatch, driver)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with VirtualCamSink(str(tmp_path / "video10")) as sink, pytest.raises(SinkError, match=words):
        sink.open(stream())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@linux
def test_a_second_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "video10").write_bytes(b"")
    drive(monkeypatch, Driver())
    with VirtualCamSink(str(tmp_path / "video10")) as first, VirtualCamSink(str(tmp_path / "video10")) as second:
        first.open(stream())
        with pytest.raises(SinkError, match="another run of this program"):
            second.open(stream())
        first.close()
        second.open(stream())
