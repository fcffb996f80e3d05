"""Cameras are found by number, path and name, and every refusal is one sentence with the cure."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import pytest

from realtime.errors import UsageError
from realtime.sources import camera_advice, v4l2
from realtime.sources.cameras import CameraEntry, find_camera, first_camera, list_cameras, platform_backend

CAMERAS = [
    CameraEntry(0, "OBS Virtual Camera", "/dev/video0", cv2.CAP_V4L2, is_virtual=True),
    CameraEntry(2, "Logi Webcam C920", "/dev/video2", cv2.CAP_V4L2, ("MJPG 1280x720 at 30 fps", "YUYV 640x480 at 30 fps")),
    CameraEntry(4, "Logi Webcam C920 Pro", "/dev/video4", cv2.CAP_V4L2),
]
MJPG = ("MJPG", 1280, 720, 30.0)


@pytest.mark.parametrize(
    ("text", "index"),
    [("2", 2), ("/dev/video4", 4), ("Logi Webcam C920", 2), ("obs", 0), ("c920 pro", 4)],
)
def test_found_by_number_path_name_and_part(text: str, index: int) -> None:
    assert find_camera(text, CAMERAS).index == index


def test_ambiguous_and_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"several cameras, 2 'Logi Webcam C920', 4 'Logi Webcam C920 Pro'"):
        find_camera("logi", CAMERAS)
    with pytest.raises(UsageError, match=r"called 'foo'; cameras here: 0 'OBS Virtual Camera' \(virtual\), 2"):
        find_camera("foo", CAMERAS)
    with pytest.raises(UsageError, match="no camera was found"):
        find_camera("foo", [])


def test_the_first_camera_is_a_real_one_if_there_is_one() -> None:
    assert first_camera(CAMERAS).index == 2
    assert first_camera(CAMERAS[:1]).index == 0
    with pytest.raises(UsageError, match="synthetic"):
        first_camera([])


def test_the_list_is_sorted_and_marks_virtual_cameras() -> None:
    def enumerate_cameras(backend: int) -> list[Any]:
        names = {1: "HD Webcam", 0: "OBS Virtual Camera"}
        return [SimpleNamespace(index=i, name=name, path=None, backend=backend) for i, name in names.items()]

    found = list_cameras(enumerate_cameras)
    assert [(entry.index, entry.is_virtual) for entry in found] == [(0, True), (1, False)]
    assert found[1].backend == platform_backend()


def test_an_enumeration_that_fails_costs_only_the_names() -> None:
    def enumerate_cameras(backend: int) -> list[Any]:
        raise NotImplementedError

    assert list_cameras(enumerate_cameras) == []


def test_the_interface_of_each_platform() -> None:
    assert platform_backend("linux") == cv2.CAP_V4L2
    assert platform_backend("darwin") == cv2.CAP_AVFOUNDATION
    assert platform_backend("win32") == cv2.CAP_DSHOW


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errno.EACCES, "usermod -aG video"),
        (errno.EBUSY, "in use by obs"),
        (errno.ENOENT, "plug it in"),
        (None, "could not be opened"),
    ],
)
def test_why_a_linux_camera_refuses(monkeypatch: pytest.MonkeyPatch, error: int | None, words: str) -> None:
    monkeypatch.setattr(v4l2, "open_error", lambda path: error)
    monkeypatch.setattr(v4l2, "holders", lambda path: ["obs"])
    sentence = camera_advice.refusal(CAMERAS[1], "linux")
    assert words in sentence and sentence.count(".") - sentence.count("/dev/video2.") <= 1


def test_why_other_cameras_refuse() -> None:
    entry = CameraEntry(0, "FaceTime HD", "", cv2.CAP_ANY)
    assert "System Settings" in camera_advice.refusal(entry, "darwin")
    assert "desktop apps" in camera_advice.refusal(entry, "win32")


def test_no_note_when_the_camera_obeys() -> None:
    assert camera_advice.difference(CAMERAS[1], MJPG, MJPG) == ""
    assert camera_advice.difference(CAMERAS[1], ("", 1280, 720, 29.97), MJPG) == ""
    assert camera_advice.difference(CAMERAS[1], ("MJPG", 1280, 720, 60.0), MJPG) == ""


def test_the_note_advises_on_slow_and_on_other_sizes() -> None:
    slow = camera_advice.difference(CAMERAS[1], ("YUYV", 1280, 720, 10.0), MJPG)
    assert "YUYV 1280x720 at 10 fps, not MJPG 1280x720 at 30 fps" in slow and "uncompressed" in slow
    other = camera_advice.difference(CAMERAS[1], ("MJPG", 640, 480, 30.0), MJPG)
    assert "it offers MJPG 1280x720 at 30 fps: choose" in other


def test_devices_that_are_none_answer_nothing(tmp_path: Path) -> None:
    plain = tmp_path / "video9"
    plain.write_bytes(b"")
    assert v4l2.driver(str(plain)) is None
    assert v4l2.modes(str(plain)) == []
    assert v4l2.modes(str(tmp_path / "none")) == []
    assert v4l2.open_error(str(tmp_path / "none")) == errno.ENOENT


def test_a_mode_in_words() -> None:
    assert str(v4l2.Mode("MJPG", 1280, 720, (60.0, 29.97))) == "MJPG 1280x720 at 60, 29.97 fps"
    assert str(v4l2.Mode("YUYV", 640, 480, ())) == "YUYV 640x480"
