"""The camera source on real V4L2 devices. Not collected by pytest: see README.md.

    python -m tests.rig.capture [check ...] [--camera /dev/video0] [--loopback /dev/video11]

`--camera`: a capture device (the vivid driver's will do). `--loopback`: a v4l2loopback device that ffmpeg plays MJPG into.
Closes with 'N passed, N failed' and exits with 1 on a failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from realtime.errors import SourceError, UsageError
from realtime.sinks.loopback import cure
from realtime.sources import v4l2
from realtime.sources.camera import CameraSource
from realtime.sources.camera_advice import refusal
from realtime.sources.cameras import CameraEntry, find_camera, list_cameras
from realtime.sources.select import open_input
from realtime.types import Frame

Report = Callable[[str, bool, str], None]
VIVID = Path("/sys/bus/platform/drivers/vivid")
NOBODY = 65534


def entry_of(path: str) -> CameraEntry:
    return find_camera(path, list_cameras())


def take(source: CameraSource, count: int, limit: float = 30.0) -> list[Frame]:
    """Up to `count` frames within `limit` seconds."""
    frames: list[Frame] = []
    end = time.perf_counter() + limit
    while len(frames) < count and time.perf_counter() < end:
        frame = source.read(0.5)
        frames += [] if frame is None else [frame]
    return frames


def listing(camera: str, loopback: str, report: Report) -> None:
    entry = entry_of(camera)
    report("listed", bool(entry.name) and not entry.is_virtual, f"{entry}, {len(entry.formats)} formats, e.g. {entry.formats[:2]}")
    told = subprocess.run(["v4l2-ctl", "-d", camera, "--list-formats-ext"], capture_output=True, text=True, check=True).stdout
    sizes = {tuple(map(int, word.split("x"))) for word in told.split() if word.replace("x", "", 1).isdigit() and "x" in word}
    ours = {(mode.width, mode.height) for mode in v4l2.modes(camera)}
    report("the sizes v4l2-ctl lists", bool(ours) and ours == sizes, f"{len(ours)} sizes")
    same = find_camera(entry.name, list_cameras()) == find_camera(str(entry.index), list_cameras()) == entry
    report("found by name and number", same, entry.name)
    try:
        open_input("no such camera")
        report("an unknown name", False, "was accepted")
    except UsageError as error:
        report("an unknown name", entry.name in str(error), str(error))


def opening(camera: str, loopback: str, report: Report) -> None:
    with CameraSource(entry_of(camera), (640, 480), 30) as source:
        info = source.open()
        report("opened", info.live, str(info))
        frames = take(source, 8)
        shapes = {frame.image.shape for frame in frames}
        report("frames", len(frames) == 8 and shapes == {(info.height, info.width, 3)}, f"{shapes}, {source.measured_fps:.1f} fps")
        rising = all(b.seq > a.seq and b.captured_at > a.captured_at for a, b in pairwise(frames))
        report("numbers and times rise", rising, f"seq {[frame.seq for frame in frames]}")
        moving = any((frame.image != frames[0].image).any() for frame in frames[1:])
        report("the picture moves", moving, f"mean {frames[-1].image.mean():.0f}")
        began = time.perf_counter()
        source.close()
    report("close is prompt", time.perf_counter() - began < 2, f"{time.perf_counter() - began:.2f} s")


def note(camera: str, loopback: str, report: Report) -> None:
    """vivid has no MJPG, and an odd request gets another size: both must be said."""
    with CameraSource(entry_of(camera), (1000, 700), 30) as source:
        info = source.open()
    got = f"{info.width}x{info.height}"
    report("what differs is said", got in info.note and "1000x700" in info.note and "MJPG" in info.note, info.note)


def reopening(camera: str, loopback: str, report: Report) -> None:
    counts = []
    for size in ((640, 480), (320, 180), (640, 480)):
        with CameraSource(entry_of(camera), size, 30) as source:
            info = source.open()
            counts.append((len(take(source, 3)), (info.width, info.height)))
    report("three times in a row", all(count == 3 for count, _ in counts), str(counts))


def busy(camera: str, loopback: str, report: Report) -> None:
    other = subprocess.Popen(["v4l2-ctl", "-d", camera, "--stream-mmap", "--stream-to=/dev/null"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)
        CameraSource(entry_of(camera), (640, 480), 30).open()
        report("a busy camera", False, "was opened")
    except SourceError as error:
        report("a busy camera", "in use by" in str(error) and "v4l2-ctl" in str(error), str(error))
    finally:
        other.terminate()
        other.wait()


def denied(camera: str, loopback: str, report: Report) -> None:
    """In a child that is nobody; needs root to become it."""
    entry = entry_of(camera)
    mode = Path(camera).stat().st_mode
    Path(camera).chmod(0o600)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(NOBODY)
        os.write(writer, refusal(entry).encode())
        os._exit(0)
    os.waitpid(child, 0)
    sentence = os.read(reader, 1000).decode()
    Path(camera).chmod(mode)
    report("a camera that is denied", "usermod" in sentence, sentence)


@contextmanager
def webcam(loopback: str, size: tuple[int, int], rate: int = 5) -> Iterator[subprocess.Popen[bytes]]:
    """ffmpeg as an MJPG webcam: encoded once and played in a loop as it is, since an encoder would take the reader's processor."""
    quiet = ["ffmpeg", "-nostdin", "-loglevel", "error"]
    with tempfile.TemporaryDirectory() as folder:
        clip = f"{folder}/web.avi"
        pattern = f"testsrc2=size={size[0]}x{size[1]}:rate={rate}"
        made = ["-f", "lavfi", "-i", pattern, "-frames:v", "10", "-c:v", "mjpeg", "-q:v", "4", "-pix_fmt", "yuvj420p", clip]
        subprocess.run([*quiet, *made], check=True)
        cure(loopback)
        played = ["-re", "-stream_loop", "-1", "-i", clip, "-c:v", "copy", "-f", "v4l2", loopback]
        player = subprocess.Popen([*quiet, *played])
        try:
            wait_for(lambda: bool(v4l2.modes(loopback)))
            yield player
        finally:
            player.terminate()
            player.wait()
            cure(loopback)


def wait_for(true: Callable[[], bool], limit: float = 30.0) -> bool:
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        if true():
            return True
        time.sleep(0.3)
    return False


def mjpg(camera: str, loopback: str, report: Report) -> None:
    for size in ((640, 480), (1280, 720)):
        with webcam(loopback, size), CameraSource(entry_of(loopback), size, 5) as source:
            entry = entry_of(loopback)
            info = source.open()
            frames = take(source, 10)
        name = f"MJPG {size[0]}x{size[1]}"
        good = len(frames) == 10 and (info.width, info.height) == size and "YUYV" not in info.note
        report(name, good, f"{source.measured_fps:.1f} fps, note '{info.note}', {entry}, {entry.formats}")
        report(f"{name} is marked virtual", entry.is_virtual, entry.name)


def unplugged(camera: str, loopback: str, report: Report) -> None:
    """The driver is taken from the device, as when a camera is pulled out, and given back."""
    if not VIVID.is_dir():
        report("unplugged", False, "needs the vivid driver")
        return
    device = next(link.name for link in VIVID.iterdir() if link.name.startswith("vivid."))
    with CameraSource(entry_of(camera), (640, 480), 30) as source:
        source.open()
        before = take(source, 3)
        (VIVID / "unbind").write_text(device)
        silent = wait_for(lambda: source.read(0.7) is None)
        report("silent while it is away", bool(before) and silent, f"last seq {before[-1].seq}")
        time.sleep(2)
        (VIVID / "bind").write_text(device)
        after = take(source, 3)
        rising = bool(after) and after[0].seq > before[-1].seq
        report("taken up again", len(after) == 3 and rising, f"seq {[frame.seq for frame in after]}")


CHECKS = {check.__name__: check for check in (listing, opening, note, reopening, busy, denied, mjpg, unplugged)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", metavar="check", help=f"one of {', '.join(CHECKS)}; all when none is named")
    parser.add_argument("--camera", default="/dev/video0")
    parser.add_argument("--loopback", default="/dev/video11")
    options = parser.parse_args()
    results: list[bool] = []

    def report(name: str, ok: bool, told: str) -> None:
        results.append(ok)
        print(f"{'ok  ' if ok else 'FAIL'} {name}  {told}", flush=True)

    for name in options.checks or CHECKS:
        start = time.perf_counter()
        try:
            CHECKS[name](options.camera, options.loopback, report)
        except Exception as error:  # the other checks still run
            report(name, False, f"{type(error).__name__}: {error}")
        print(f"     {name}: {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
