from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from realtime import cli
from realtime.commands.verify import STATUSES, camera_frames
from realtime.errors import RealtimeError, UsageError
from realtime.sources.fake import FakeSource
from realtime.sources.synthetic import Sway, bundled_person
from realtime.trust import credentials, footage
from realtime.trust.seal import Sealer
from realtime.trust.verify import credentials_of, metadata_of, verify_file, verify_live
from realtime.trust.watermark import Marker
from realtime.trust.xmp import declare
from tests.sources.media import turn_header, write_silence
from tests.trust.files import write

needs_c2pa = pytest.mark.skipif(not credentials.available(), reason="c2pa-python is not installed")


def marked(image: Any) -> Any:
    copy = image.copy()
    Marker(image.shape[1], image.shape[0]).mark_bgr(copy)
    return copy


@pytest.fixture
def picture_file(tmp_path: Path) -> Path:
    path = tmp_path / "out.png"
    cv2.imwrite(str(path), marked(bundled_person()))
    return path


def film(path: Path, seconds: float, marked_from: float = 0.0, change: Callable[[Any], Any] = lambda image: image) -> Path:
    sway, marker = Sway(cv2.resize(bundled_person(), (640, 360), interpolation=cv2.INTER_AREA), 12.0, seed=0), Marker(640, 360)
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=12, options={"preset": "ultrafast", "crf": "24", "g": "12"})
        for number in range(round(seconds * 12)):
            image = sway.picture(number)
            if number >= marked_from * 12:
                marker.mark_bgr(image)
            image = np.ascontiguousarray(change(image))
            if not number:
                (video.height, video.width), video.pix_fmt = image.shape[:2], "yuv420p"
            container.mux(video.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(video.encode(None))
    return path


def statuses(path: Path) -> dict[str, str]:
    return {layer: finding.status for layer, finding in verify_file(path).findings.items()}


@needs_c2pa
def test_a_file_of_this_program_is_found_by_all_three(picture_file: Path, tmp_path: Path) -> None:
    Sealer(tmp_path / "keys")(picture_file)
    assert statuses(picture_file) == {"watermark": "found", "credentials": "found", "metadata": "found"}
    assert all(finding.says_ai for finding in verify_file(picture_file).findings.values())


def test_a_screenshot_of_it_has_the_watermark_only(picture_file: Path, tmp_path: Path) -> None:
    shot = tmp_path / "shot.jpg"
    image = cv2.imread(str(picture_file))[60:640, 100:1180, :]
    cv2.imwrite(str(shot), cv2.resize(image[:, ::-1], None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA))
    found = verify_file(shot)
    assert statuses(shot) == {"watermark": "found", "credentials": "not_found", "metadata": "not_found"}
    assert found.status == "found" and "mirrored" in found.watermark.detail


def test_an_untouched_picture_has_nothing(tmp_path: Path) -> None:
    path = tmp_path / "plain.png"
    cv2.imwrite(str(path), bundled_person())
    found = verify_file(path)
    assert found.status == "not_found" and {finding.status for finding in found.findings.values()} == {"not_found"}


def test_noise_cannot_be_told(tmp_path: Path) -> None:
    path = tmp_path / "noise.png"
    cv2.imwrite(str(path), np.random.default_rng(2).integers(0, 255, (300, 400, 3), np.uint8))
    found = verify_file(path)
    assert found.watermark.status == "inconclusive" and found.status == "inconclusive"


def test_a_mark_too_weak_to_be_read_is_a_trace(tmp_path: Path, picture: Callable[[str], Any]) -> None:
    image = picture("p006_selfie")
    Marker(image.shape[1], image.shape[0], strength=1).mark_bgr(image)
    path = tmp_path / "busy.png"
    cv2.imwrite(str(path), image)
    found = verify_file(path).watermark
    assert found.status == "inconclusive" and 0.5 <= found.confidence <= 0.95 and "traces" in found.detail


@pytest.mark.parametrize("change", [
    lambda image: image,
    lambda image: image[:, ::-1],
    lambda image: cv2.resize(image[40:330, 65:595], (424, 232), interpolation=cv2.INTER_AREA),
], ids=["as it is", "mirrored", "cropped and smaller"])  # fmt: skip
def test_seconds_of_a_film_are_read(tmp_path: Path, change: Callable[[Any], Any]) -> None:
    found = verify_file(film(tmp_path / "film.mp4", 1.0, change=change)).watermark
    assert found.status == "found" and found.says_ai


def test_a_film_that_is_marked_only_later_is_found(tmp_path: Path) -> None:
    assert verify_file(film(tmp_path / "film.mp4", 4.0, marked_from=2.0)).watermark.status == "found"


def test_every_second_frame_of_a_short_film_is_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "film.mp4")
    images = next(iter(footage.batches(path)))
    assert images[0].shape == (180, 320, 3) and len(images) == 3


def test_a_film_turned_by_its_header_is_read_upright(tmp_path: Path) -> None:
    """As a phone writes it: the picture lies on its side, and the header says how to turn it."""
    path = film(tmp_path / "film.mp4", 0.5, change=lambda image: np.rot90(image, 1))
    assert verify_file(path).watermark.status == "not_found"
    turn_header(path, 90)
    assert verify_file(path).watermark.status == "found"


def test_a_film_under_the_name_of_a_picture_is_read(tmp_path: Path) -> None:
    film(tmp_path / "film.mp4", 1.0).rename(tmp_path / "film.png")
    assert verify_file(tmp_path / "film.png").watermark.status == "found"


def test_half_a_film_does_not_break_it(tmp_path: Path) -> None:
    path = film(tmp_path / "film.mkv", 2.0)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert verify_file(path).watermark.status == "found"


@needs_c2pa
@pytest.mark.parametrize("suffix", [".mp4", ".png", ".jpg"])
def test_a_file_changed_after_it_was_signed_is_inconclusive(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"f{suffix}")
    Sealer(tmp_path / "keys")(path)
    assert credentials_of(path).status == "found"
    data = bytearray(path.read_bytes())
    data[-200 if suffix == ".jpg" else data.find(b"mdat") + 200 if suffix == ".mp4" else data.find(b"IDAT") + 200] ^= 1
    path.write_bytes(data)
    finding = credentials_of(path)
    assert finding.status == "inconclusive" and "changed later" in finding.detail


def test_metadata_of_another_kind_is_not_found(tmp_path: Path) -> None:
    path = write(tmp_path / "p.png")
    path.write_bytes(declare(path.read_bytes(), ".png").replace(b"compositeWithTrainedAlgorithmicMedia", b"digitalCapture".ljust(36)))
    finding = metadata_of(path)
    assert finding.status == "not_found" and "digitalCapture" in finding.detail and not finding.says_ai


def test_a_camera_has_a_watermark_at_most() -> None:
    sway = Sway(bundled_person(), 30.0, seed=0)
    found = verify_live([[marked(sway.picture(n)) for n in range(2)]])
    assert found.watermark.status == "found" and found.credentials.status == found.metadata.status == "not_found"


def test_frames_of_another_size_are_left_out() -> None:
    assert verify_live([[marked(bundled_person()), np.zeros((48, 64, 3), np.uint8)]]).watermark.detail.startswith("the mark")


def test_a_file_of_sound_alone_has_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "song.mp4"
    write_silence(path, "aac")
    with pytest.raises(UsageError, match=r"there is no picture in song\.mp4"):
        verify_file(path)


@pytest.mark.parametrize("content", [b"no picture at all", bytes(1000)])
def test_what_is_neither_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.dat"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be read as a picture or a video .*: copy it again"):
        verify_file(path)


def test_an_empty_file_and_a_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(UsageError, match=r"empty\.jpg is empty: copy it again"):
        verify_file(tmp_path / "empty.jpg")
    with pytest.raises(UsageError, match="is a folder: name a picture or a video in it"):
        verify_file(tmp_path)


def test_half_a_picture_is_looked_at_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "half.jpg"
    cv2.imwrite(str(path), bundled_person())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert verify_file(path).watermark.status in ("not_found", "inconclusive")
    assert "half.jpg is damaged or cut short" in caplog.text


def test_a_camera_that_is_not_there_names_what_the_option_takes(capsys: Any) -> None:
    assert cli.main(["verify", "--camera", "no such camera"]) == 2
    told = capsys.readouterr().err
    assert "no camera is called 'no such camera'" in told and "without --camera" in told
    assert "synthetic" not in told and "stream" not in told


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*the current folder is"):
        verify_file(tmp_path / "gone.png")


def test_the_command_prints_and_ends_by_what_was_found(picture_file: Path, tmp_path: Path, capsys: Any) -> None:
    assert cli.main(["verify", str(picture_file), "--json"]) == STATUSES["found"] == 0
    report = json.loads(capsys.readouterr().out)
    assert {report[layer]["status"] for layer in ("watermark", "credentials", "metadata")} <= {"found", "not_found", "inconclusive"}
    assert report["watermark"]["status"] == report["status"] == "found" and 0.9 < report["watermark"]["confidence"] <= 1
    plain = tmp_path / "plain.png"
    cv2.imwrite(str(plain), bundled_person())
    assert cli.main(["verify", str(plain)]) == STATUSES["not_found"] == 3
    shown = capsys.readouterr().out
    assert "does not make it real" in shown and "authentic" not in shown.lower()


def test_nothing_is_ever_called_by_the_word() -> None:
    sources = [*Path(credentials.__file__).parent.glob("*.py"), Path(camera_frames.__code__.co_filename)]
    assert len(sources) > 8
    for path in sources:
        assert "authentic" not in path.read_text("utf-8").lower().replace("c2pa authenticity", ""), path


@pytest.mark.parametrize("argv", [["verify"], ["verify", "a.png", "--camera", "0"]])
def test_one_thing_at_a_time(argv: list[str], capsys: Any) -> None:
    assert cli.main(argv) == 2
    assert "one of the two" in capsys.readouterr().err


def test_the_command_looks_at_a_camera(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    sway = Sway(bundled_person(), 30.0, seed=0)
    source = FakeSource([None, *(marked(sway.picture(n)) for n in range(3))], size=(1280, 720))
    monkeypatch.setattr("realtime.sources.select.open_input", lambda text: source)
    assert cli.main(["verify", "--camera", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["credentials"]["status"] == "not_found"
    assert source.closed


def test_a_camera_without_frames_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.sources.select.open_input", lambda text: FakeSource([]))
    with pytest.raises(RealtimeError, match="no picture to look at"):
        verify_live(camera_frames("0"))


@needs_c2pa
def test_a_key_of_somebody_else_is_a_name_that_nobody_checked(tmp_path: Path) -> None:
    from realtime.trust.signing import make_key

    path = tmp_path / "signed.png"
    credentials.sign(write(tmp_path / "p.png"), path, make_key(datetime.now(UTC)))
    assert "nobody has checked" in credentials_of(path).detail
