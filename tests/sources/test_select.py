"""What each word of --input leads to."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pil

from realtime.errors import SourceError, UsageError
from realtime.sources.camera import CameraSource
from realtime.sources.cameras import CameraEntry
from realtime.sources.image import ImageSource
from realtime.sources.select import check_file, open_input
from realtime.sources.stream import StreamSource
from realtime.sources.synthetic import SyntheticSource
from realtime.sources.transform import Transformed
from realtime.sources.video import FileSource
from tests.sources.media import plain, write_video

CAMERAS = [CameraEntry(0, "Virtual Camera", "/dev/video0", cv2.CAP_V4L2, is_virtual=True), CameraEntry(2, "Fake Webcam", "", cv2.CAP_ANY)]


def chosen(text: str, cameras: list[CameraEntry] = CAMERAS) -> Transformed:
    return open_input(text, cameras=lambda: cameras)


@pytest.mark.parametrize("text", ["", "camera", "2", "fake", "Fake Webcam", "0", "/dev/video0"])
def test_cameras(text: str) -> None:
    assert isinstance(chosen(text).source, CameraSource)


@pytest.mark.parametrize("text", ["rtsp://me:pw@cam/live", "http://127.0.0.1:8080/video.mp4", "HTTPS://host/x"])
def test_streams(text: str) -> None:
    assert isinstance(chosen(text).source, StreamSource)


def test_files_by_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "Ordner mit Ümlauten 写真"
    folder.mkdir()
    cv2.imwrite(str(tmp_path / "p.png"), np.zeros((32, 32, 3), np.uint8))
    picture = (tmp_path / "p.png").rename(folder / "mé.PNG")
    video = write_video(tmp_path / "v.mp4", [plain(9, (64, 48))]).rename(folder / "a b.mp4")
    assert isinstance(chosen(str(picture)).source, ImageSource)
    with chosen(str(video)) as source:
        assert isinstance(source.source, FileSource)
        assert source.open().width == 64
        assert source.read(1.0) is not None


@pytest.mark.parametrize(("count", "kind"), [(1, ImageSource), (3, FileSource)])
def test_a_gif_is_a_video_only_if_it_moves(tmp_path: Path, count: int, kind: type) -> None:
    first, *others = [Pil.fromarray(plain(40 * (k + 1), (64, 48))) for k in range(count)]
    first.save(tmp_path / "p.GIF", save_all=True, append_images=others)
    with chosen(str(tmp_path / "p.GIF")) as source:
        assert isinstance(source.source, kind)
        assert source.open().width == 64


def test_a_gif_that_is_none_is_told_as_a_video_is(tmp_path: Path) -> None:
    (tmp_path / "p.gif").write_bytes(b"GIF89a and no more")
    with pytest.raises(SourceError, match="holds no frame that can be decoded"):
        check_file(str(tmp_path / "p.gif"))


def test_a_number_is_a_camera_even_if_a_file_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2").touch()
    assert isinstance(chosen("2").source, CameraSource)


def test_synthetic() -> None:
    with open_input("synthetic", (160, 90), 50) as source:
        assert isinstance(source.source, SyntheticSource)
        info = source.open()
    assert (info.width, info.height, info.fps) == (160, 90, 50)
    with pytest.raises(UsageError, match=r"no photo 'C:\\none.jpg'"):
        chosen("synthetic:C:\\none.jpg")


def test_size_mirror_and_rotation_of_a_file(tmp_path: Path) -> None:
    image = np.zeros((48, 64, 3), np.uint8)
    image[:, :32] = 200
    video = write_video(tmp_path / "v.mp4", [image])
    with open_input(str(video), (32, 64), rotate=90, mirror=True) as source:
        assert (source.open().width, source.open().height) == (32, 64)
        frame = source.read(1.0)
    assert frame is not None and frame.image.shape == (64, 32, 3)


@pytest.mark.parametrize("text", ["foo", "Webcam 2.0", "v1.20"])
def test_nonsense_lists_the_possibilities(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen(text)
    sentence = str(caught.value)
    assert text in sentence and "2 'Fake Webcam'" in sentence and "synthetic" in sentence and "\n" not in sentence
    with pytest.raises(UsageError, match="synthetic"):
        chosen(text, [])


@pytest.mark.parametrize("text", ["C:\\clips\\none.mp4", "none.mp4", "/none/at all.mp4", "none/video"])
def test_a_file_that_is_not_there(text: str) -> None:
    with pytest.raises(UsageError, match="there is no file '") as caught:
        chosen(text)
    assert text in str(caught.value) and str(Path.cwd()) in str(caught.value)


def test_a_file_is_checked_before_anything_is_loaded_for_it(tmp_path: Path) -> None:
    junk, picture = tmp_path / "junk.mp4", tmp_path / "junk.png"
    junk.write_bytes(b"no video" * 99)
    picture.write_bytes(b"no picture")
    for path in (junk, picture):
        with pytest.raises(UsageError, match=path.name):
            check_file(str(path))
    with pytest.raises(UsageError, match="cut short; copy it again"):
        check_file(str(junk))
    check_file(str(write_video(tmp_path / "v.mp4", [plain(50, (64, 48))])))
    check_file("0")
    check_file("synthetic")
    check_file(str(tmp_path))


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder"):
        chosen(str(tmp_path))
    with pytest.raises(UsageError, match="rtsp://") as caught:
        chosen("gopher://me:pw@host/x")
    assert "pw" not in str(caught.value)
    with pytest.raises(UsageError, match="cameras here"):
        chosen("7")
