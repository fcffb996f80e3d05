"""Other programs that read a virtual camera: v4l2-ctl, FFmpeg and OpenCV."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import cv2
import numpy as np

from tests.sinks.frames import colours_wrong_by, number_of

TOLERANCE = 8
"""Levels: 4:2:0 and two conversions of a flat colour."""


def run(*command: str, timeout: float = 60) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, timeout=timeout, check=False)


def by_v4l2_ctl(device: str, width: int, height: int, count: int = 3) -> list[Any]:
    """Frames as the driver hands them out; empty when their size is not the expected one."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        run("v4l2-ctl", "-d", device, "--stream-mmap=3", f"--stream-count={count}", f"--stream-to={raw}")
        data = np.fromfile(raw, np.uint8) if raw.exists() else np.empty(0, np.uint8)
    if data.size != count * width * height * 3 // 2:
        return []
    return [cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420) for planes in data.reshape(count, height * 3 // 2, width)]


def by_ffmpeg(device: str, width: int, height: int, count: int = 3) -> list[Any]:
    command = f"ffmpeg -nostdin -loglevel error -f v4l2 -i {device} -frames:v {count} -f rawvideo -pix_fmt bgr24 -"
    data = np.frombuffer(run(*command.split()).stdout, np.uint8)
    return list(data.reshape(count, height, width, 3)) if data.size == count * width * height * 3 else []


def by_opencv(device: str, width: int, height: int, count: int = 5) -> list[Any]:
    camera = cv2.VideoCapture(device, cv2.CAP_V4L2)
    try:
        images = [camera.read()[1] for _ in range(count)]
    finally:
        camera.release()
    return [] if any(image is None or image.shape != (height, width, 3) for image in images) else images


READERS = {"v4l2-ctl": by_v4l2_ctl, "ffmpeg": by_ffmpeg, "OpenCV": by_opencv}


def right(images: list[Any]) -> tuple[bool, str]:
    if not images:
        return False, "nothing, or another size, was read"
    worst = max(colours_wrong_by(image) for image in images)
    return worst <= TOLERANCE, f"worst {worst} levels, numbers {[number_of(image) for image in images]}"


class OpenReader:
    """Another program, OpenCV in a process of its own, that shows the camera, keeps it open and saves what it sees when asked."""

    CODE = """
import sys, cv2, numpy as np
camera = cv2.VideoCapture(sys.argv[1], cv2.CAP_V4L2)
print(camera.read()[0], flush=True)
for line in sys.stdin:
    for _ in range(6):  # past what was buffered
        image = camera.read()[1]
    np.save(line.strip(), np.zeros((0, 0, 3), np.uint8) if image is None else image)
    print('saved', flush=True)
"""

    def __init__(self, device: str) -> None:
        command = [sys.executable, "-c", self.CODE, device]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._ask, self._answer = self._process.stdin, self._process.stdout
        self.started = self._answer.readline().strip() == "True"

    def look(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{folder}/seen.npy", file=self._ask, flush=True)
            self._answer.readline()
            return np.load(f"{folder}/seen.npy")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
