"""The virtual camera sink on a real v4l2loopback device, read back by other programs. Not collected by pytest: see README.md.

    python -m tests.rig.loopback [check ...] [--device /dev/video10]

Closes with 'N passed, N failed' and exits with 1 on a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from realtime.errors import SinkError
from realtime.sinks.loopback import cure
from realtime.sinks.virtualcam import VirtualCamSink, diagnose, virtual_cameras
from realtime.types import Frame, StreamFormat, Verdict
from tests.rig.readers import READERS, OpenReader, by_v4l2_ctl, right, run
from tests.sinks.frames import frame, number_of, picture

SIZES = ((640, 480), (1280, 720))
FPS = 10.0
"""Low, for an emulated machine."""

Report = Callable[[str, bool, str], None]


class Feeder:
    """Sends numbered pictures from a thread of its own until it is left."""

    def __init__(self, device: str, width: int, height: int) -> None:
        self.sink = VirtualCamSink(device)
        self.sink.open(StreamFormat(width, height, FPS, live=True))
        self._frames = [frame(number, width, height) for number in range(16)]
        self._stop = threading.Event()
        self.error: Exception | None = None
        self.sent = 0
        self.sink.write(self._frames[0])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1 / FPS):
            self.sent += 1
            try:
                self.sink.write(self._frames[self.sent % 16])
            except SinkError as error:
                self.error = error
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self.sink.close()


def pixels(device: str, report: Report) -> None:
    """Known pictures come out of three other programs with the right pixels."""
    for width, height in SIZES:
        with Feeder(device, width, height) as feeder:
            for name, read in READERS.items():
                report(f"pixels {width}x{height} {name}", *right(read(device, width, height)))
        report(f"pixels {width}x{height} writes", feeder.error is None and feeder.sent > 0, f"{feeder.sent} sent, error {feeder.error}")


def rounds(device: str, report: Report) -> None:
    """Ten starts and stops in a row, the size changing, each one read back."""
    for number in range(10):
        width, height = SIZES[number % 2]
        with Feeder(device, width, height):
            report(f"round {number + 1} {width}x{height}", *right(by_v4l2_ctl(device, width, height, 1)))


def held(device: str, report: Report) -> None:
    """A reader stays open across a restart: the same size goes on, another one is refused in a sentence and works once it closes."""
    small, large = SIZES
    with contextlib.ExitStack() as first:
        first.enter_context(Feeder(device, *small))
        with OpenReader(device) as reader:
            report("held: the reader sees the first run", *right([reader.look()]))
            first.close()
            with Feeder(device, *small):
                report("held: it sees the second run at the same size", *right([reader.look()]))
            report("held: another size is a sentence, or right", *_refused(device, reader, *large))
            with Feeder(device, *small):
                report("held: the same size still works after that", *right([reader.look()]))
    with Feeder(device, *large):
        report("held: another size once the reader is gone", *right(by_v4l2_ctl(device, *large, 2)))


def _refused(device: str, reader: OpenReader, width: int, height: int) -> tuple[bool, str]:
    """True when opening fails with the sentence, or both the reader and a new one see the right picture: never garbage."""
    try:
        with Feeder(device, width, height):
            ok, note = right([*by_v4l2_ctl(device, width, height, 2), reader.look()])
            return ok, f"opened; {note}"
    except SinkError as error:
        text = str(error)
        return "640x480" in text and "python" in text and "\n" not in text, text


def killed(device: str, report: Report) -> None:
    """A writer that is killed leaves a device that the next run can use."""
    code = (
        "import sys, time; from tests.rig.loopback import Feeder\n"
        f"with Feeder({device!r}, 640, 480): print('on', flush=True); time.sleep(60)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    report("killed: a second run is told that the first has the camera", *_busy(device))
    report("killed: the first run is not disturbed", *right(by_v4l2_ctl(device, 640, 480, 2)))
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with Feeder(device, 1280, 720):
        report("killed: the next run works", *right(by_v4l2_ctl(device, 1280, 720, 2)))


def _busy(device: str) -> tuple[bool, str]:
    try:
        with VirtualCamSink(device) as sink:
            sink.open(StreamFormat(640, 480, FPS, live=True))
            return False, "it was opened twice"
    except SinkError as error:
        return "fed by" in str(error), str(error)


def plain(device: str, report: Report) -> None:
    """A device that another pyvirtualcam program has left unusable is mended at the next start."""
    code = (
        "import sys, numpy as np, pyvirtualcam\n"
        f"with pyvirtualcam.Camera(640, 480, 30, device={device!r}, backend='v4l2loopback') as camera:\n"
        "    camera.send(np.zeros((480, 640, 3), np.uint8)); print('on', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    report("plain: it started", other.stdout.readline() == b"on\n", "")
    report("plain: in use is told", *_busy(device))
    other.communicate()
    with Feeder(device, 640, 480):
        report("plain: mended", *right(by_v4l2_ctl(device, 640, 480, 2)))


def fed(device: str, report: Report) -> None:
    """A device that ffmpeg feeds, which opens it for reading too, is refused; once ffmpeg is gone it works."""
    source = "-f lavfi -i testsrc2=size=640x480:rate=10 -pix_fmt yuv420p"
    feeder = subprocess.Popen(["ffmpeg", "-nostdin", "-loglevel", "error", "-re", *source.split(), "-f", "v4l2", device])
    try:
        _until(lambda: any(camera.device == device and "ffmpeg" in camera.users for camera in virtual_cameras()))
        time.sleep(2)
        report("fed: in use is told", *_busy(device))
        report("fed: ffmpeg is not disturbed", feeder.poll() is None and bool(by_v4l2_ctl(device, 640, 480, 2)), "")
    finally:
        feeder.terminate()
        feeder.wait()
    with Feeder(device, 1280, 720):
        report("fed: it works afterwards", *right(by_v4l2_ctl(device, 1280, 720, 2)))


def listing(device: str, report: Report) -> None:
    """What doctor says."""
    cameras = virtual_cameras()
    report("listing: the device is listed", device in [camera.device for camera in cameras], str(cameras))
    report("listing: diagnose", *diagnose())
    label = next(camera.label for camera in cameras if camera.device == device)
    for wanted in (label.lower(), device.removeprefix("/dev/video"), None):
        with VirtualCamSink(wanted) as sink:
            sink.open(StreamFormat(640, 480, FPS, live=True))
            report(f"listing: found by {wanted!r}", sink.name.startswith("virtualcam:/dev/video"), sink.name)
    wrongs = {"/dev/video99": "there is no device", "no such name": "there is no virtual camera", "/dev/null": "no video device"}
    for wrong, words in wrongs.items():
        with VirtualCamSink(wrong) as sink:
            report(f"listing: {wrong} is refused", *_sentence(sink, words))
    report("listing: nothing is left open", not _own_files(device), str(_own_files(device)))


def _sentence(sink: VirtualCamSink, words: str) -> tuple[bool, str]:
    try:
        sink.open(StreamFormat(640, 480, FPS, live=True))
    except SinkError as error:
        return words in str(error), str(error)
    return False, "it was opened"


def _own_files(device: str) -> list[str]:
    return [link.name for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and os.path.realpath(link) == device]


def rate(device: str, report: Report) -> None:
    """Readers are told the frame rate, and a write takes next to no time."""
    with VirtualCamSink(device) as sink:
        sink.open(StreamFormat(1280, 720, 25.0, live=True))
        one = frame(1, 1280, 720)
        sink.write(one)
        told = run("v4l2-ctl", "-d", device, "--get-parm").stdout.decode()
        report("rate: announced", "25.000" in told, told.strip().replace("\n", " "))
        start = time.perf_counter()
        for _ in range(20):
            sink.write(one)
        took = (time.perf_counter() - start) / 20
        report("rate: a write does not wait", took < 1 / 25, f"{took * 1e3:.2f} ms a frame")


def pipeline(device: str, report: Report) -> None:
    """Real camera -> the three threads -> badge and mark -> virtual camera, at a steady rate; the swap is painted by hand."""
    from realtime.pipeline.finish import Finisher
    from realtime.pipeline.pipeline import Pipeline
    from realtime.sources.select import open_input
    from realtime.trust.badge import Badge
    from realtime.trust.reading import read_mark
    from realtime.trust.watermark import Marker
    from tests.rig.viewer import swapped_already

    width, height = SIZES[0]
    swapped = swapped_already((width, height))

    def paint(taken: Frame) -> Verdict:
        np.copyto(taken.image, picture(width, height, taken.seq % 256))
        return swapped(taken)

    def finisher(wide: int, high: int) -> Finisher:
        return Finisher(wide, high, "hide", Marker(wide, high), Badge(wide, high), bgr_wanted=False)

    whole = Pipeline(open_input("/dev/video0", (width, height), FPS), paint, finisher, [VirtualCamSink(device)])
    thread = threading.Thread(target=whole.run, daemon=True)
    thread.start()
    try:
        _until(lambda: whole.telemetry.frames_out > 2, 600)  # an emulated machine compiles for minutes
        images = by_v4l2_ctl(device, width, height, 4)
        report("pipeline: the picture", *right(images))
        report("pipeline: frames go forward", len({number_of(image) for image in images}) > 2, "")
        reading = read_mark(images)
        report("pipeline: the mark comes through", reading.found, f"z {reading.z:.1f}, {reading.payload}")
    finally:
        start = time.perf_counter()
        whole.stop()
        thread.join()
    report("pipeline: it ends within a second", time.perf_counter() - start < 1.5, f"{time.perf_counter() - start:.2f} s")
    repeats = f"{whole.telemetry.frames_in} in, {whole.telemetry.frames_out} out, {whole.telemetry.repeated} repeated"
    report("pipeline: frames went through", whole.telemetry.frames_out > 10, repeats)


def _until(condition: Callable[[], bool], seconds: float = 30) -> None:
    limit = time.perf_counter() + seconds
    while not condition() and time.perf_counter() < limit:
        time.sleep(0.05)


CHECKS = {check.__name__: check for check in (listing, pixels, rounds, held, killed, plain, fed, rate, pipeline)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="check", help=f"one of {', '.join(CHECKS)}; all when none is named")
    parser.add_argument("--device", default="/dev/video10")
    options = parser.parse_args()
    results: list[bool] = []

    def report(name: str, ok: bool, note: str) -> None:
        results.append(ok)
        print(f"{'ok  ' if ok else 'FAIL'} {name}  {note}", flush=True)

    for name in options.checks or CHECKS:
        start = time.perf_counter()
        try:
            CHECKS[name](options.device, report)
        except Exception as error:  # the other checks still run
            report(name, False, f"{type(error).__name__}: {error}")
        cure(options.device)
        print(f"     {name}: {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
