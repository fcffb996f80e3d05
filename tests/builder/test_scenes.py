"""Calibration pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from realtime.builder import scenes
from realtime.errors import BackendError, UsageError
from realtime.models.detectors.fake import FakeDetector, face_at
from realtime.models.landmarks.fake import FakeLandmarker, mesh_at
from realtime.types import Image


def _finders() -> tuple[FakeDetector, FakeLandmarker]:
    return FakeDetector([[face_at(256, 256, 200)]]), FakeLandmarker([mesh_at(256, 256, 200)])


def test_saved_and_loaded(tmp_path: Path) -> None:
    made = scenes.find_faces([np.full((512, 512, 3), level, np.uint8) for level in (3, 90)], *_finders())
    scenes.save(made, tmp_path / "s.npz")
    loaded = scenes.load(tmp_path / "s.npz")
    assert len(loaded) == 2
    for a, b in zip(made, loaded, strict=True):
        np.testing.assert_array_equal(a.image, b.image)
        np.testing.assert_array_equal(a.points, b.points)
        assert a.region == b.region


def test_variations_differ_in_place_and_light(picture: Callable[[str], Image]) -> None:
    image = picture("p001_studio")
    varied = list(scenes.vary(image))
    assert len(varied) == 6
    assert all(each.shape == image.shape and each.flags.c_contiguous for each in varied)
    assert varied[1].mean() < 0.9 * image.mean()
    np.testing.assert_array_equal(varied[0], cv2.warpAffine(image, cv2.getRotationMatrix2D((256, 256), 0, 1), (512, 512)))


@pytest.mark.parametrize("make", ["empty", "absent", "text"])
def test_nothing_to_look_at_is_a_sentence(tmp_path: Path, make: str) -> None:
    source = tmp_path / "source"
    if make == "empty":
        source.mkdir()
    elif make == "text":
        source.write_text("no video")
    with pytest.raises(UsageError, match="folder of photos or a video"):
        scenes.gather(source, tmp_path, *_finders())


def test_a_folder_without_faces_is_a_sentence(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(BackendError, match="no face was found in"):
        scenes.gather(tmp_path, tmp_path, FakeDetector(), _finders()[1])


def test_few_pictures_are_varied_and_many_are_not(tmp_path: Path) -> None:
    for index in range(2):
        cv2.imwrite(str(tmp_path / f"{index}.png"), np.full((512, 512, 3), 90, np.uint8))
    assert len(scenes.gather(None, tmp_path, *_finders())) == 12
    for index in range(2, 14):
        cv2.imwrite(str(tmp_path / f"{index}.png"), np.full((512, 512, 3), 90, np.uint8))
    assert len(scenes.gather(tmp_path, tmp_path, *_finders())) == 14


def test_frames_of_a_video_are_spread_over_it(tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    with av.open(str(path), "w") as video:
        stream = video.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 64
        for level in range(100):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 2 * level, np.uint8), format="bgr24")
            video.mux(stream.encode(frame))
        video.mux(stream.encode(None))
    found = scenes.gather(path, tmp_path, *_finders())
    levels = [float(scene.image.mean()) for scene in found]
    assert len(levels) == scenes.MOST
    assert levels[0] < 10 and levels[-1] > 185
