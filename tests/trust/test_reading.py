"""What the mark survives, and that it is found nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from realtime.sources.synthetic import Sway, bundled_person, cover
from realtime.trust.payload import Payload
from realtime.trust.reading import MIN_Z, Reader, read_mark
from realtime.trust.watermark import Marker

DATA = sorted((Path(__file__).parents[1] / "data").glob("*.jpg"))
SCENES = ("person", "p001_studio", "p006_selfie", "p009_selfie")
"""A plain room, a studio, and two busy pictures."""
SIZE = (1280, 720)


def load(path: Path) -> Any:
    return cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)


def scene(name: str) -> Any:
    return bundled_person() if name == "person" else cover(load(DATA[0].with_name(f"{name}.jpg")), SIZE)


def marked(image: Any) -> Any:
    """Through the luma plane with the strength that the marker chooses, as the pipeline does it."""
    i420 = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)
    Marker(image.shape[1], image.shape[0]).mark_i420(i420)
    return cv2.cvtColor(i420, cv2.COLOR_YUV2BGR_I420)


def coded(image: Any, suffix: str = ".jpg", quality: int = 50) -> Any:
    options = [cv2.IMWRITE_JPEG_QUALITY, quality] if suffix == ".jpg" else []
    return cv2.imdecode(cv2.imencode(suffix, image, options)[1], cv2.IMREAD_COLOR)


def scaled(image: Any, factor: float) -> Any:
    return cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR)


def cropped(image: Any, kept: float, seed: int = 5) -> Any:
    """This share of the width and of the height, from a place that the seed chooses."""
    height, width = (round(side * kept) for side in image.shape[:2])
    rng = np.random.default_rng(seed)
    top, left = rng.integers(image.shape[0] - height + 1), rng.integers(image.shape[1] - width + 1)
    return image[top : top + height, left : left + width].copy()


DAMAGES: dict[str, Callable[[Any], Any]] = {
    "png": lambda image: coded(image, ".png"),
    "jpeg_50": coded,
    "half_size": lambda image: scaled(image, 0.5),
    "crop_off_25": lambda image: cropped(image, 0.75),
    "crop_to_25_of_the_area": lambda image: cropped(image, 0.5),
    "mirror": lambda image: image[:, ::-1].copy(),
    "crop_jpeg": lambda image: coded(cropped(image, 0.75)),
    "crop_and_half": lambda image: scaled(cropped(image, 0.75), 0.5),
    "mirror_crop_enlarge_jpeg": lambda image: coded(scaled(cropped(image[:, ::-1], 0.8), 1.37), quality=75),
    "within_a_larger_picture": lambda image: cv2.copyMakeBorder(image, 230, 310, 120, 270, cv2.BORDER_CONSTANT, value=(40, 60, 80)),
    "turned_half_a_degree": lambda image: cv2.warpAffine(image, cv2.getRotationMatrix2D((640, 360), 0.5, 1), SIZE),
    "stretched_3_percent": lambda image: cv2.resize(image, (1318, 720)),
    "paler": lambda image: cv2.convertScaleAbs(image, alpha=0.8, beta=20),
    "blurred": lambda image: cv2.GaussianBlur(image, (0, 0), 1.0),
    "noisy": lambda image: cv2.add(image, np.random.default_rng(3).integers(0, 9, image.shape, np.uint8)),
}


@pytest.fixture(scope="module", params=SCENES)
def picture_marked(request: pytest.FixtureRequest) -> Any:
    return marked(scene(request.param))


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_mark_is_read_from_one_picture_after(picture_marked: Any, damage: str) -> None:
    reading = read_mark([DAMAGES[damage](picture_marked)])
    assert reading.found and reading.payload == Payload(ai_modified=True)
    assert reading.mirrored == ("mirror" in damage)


def test_the_size_of_the_mark_is_told(picture_marked: Any) -> None:
    assert read_mark([picture_marked]).scale == pytest.approx(1, abs=0.005)
    assert read_mark([cropped(picture_marked, 0.8)]).scale == pytest.approx(1.25, abs=0.01)


@pytest.mark.parametrize("size", [(640, 480), (854, 480), (1280, 720), (1920, 1080), (720, 1280), (480, 360)])
def test_every_usual_size_reads_back_after_jpeg_50(size: tuple[int, int]) -> None:
    assert read_mark([coded(marked(cover(bundled_person(), size)))]).found


@pytest.fixture(scope="module", params=("person", "p006_selfie"))
def film(request: pytest.FixtureRequest) -> list[Any]:
    """24 frames of a swaying picture, I420, marked."""
    sway, marker = Sway(scene(request.param), 30.0, seed=1), Marker(*SIZE)
    frames = [cv2.cvtColor(sway.picture(n), cv2.COLOR_BGR2YUV_I420) for n in range(24)]
    for i420 in frames:
        marker.mark_i420(i420)
    return frames


def through_x264(frames: list[Any], path: Path, bit_rate: int | None = None, **options: str) -> Iterator[Any]:
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=30, options={"preset": "veryfast", **options})
        video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
        if bit_rate:
            video.bit_rate = bit_rate
        for i420 in frames:
            container.mux(video.encode(av.VideoFrame.from_ndarray(i420, format="yuv420p")))
        container.mux(video.encode(None))
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="bgr24")


def test_one_frame_of_x264_at_crf_23_is_enough(film: list[Any], tmp_path: Path) -> None:
    assert read_mark(islice(through_x264(film[:4], tmp_path / "v.mp4", crf="23"), 2, 3)).found


def test_24_frames_of_x264_at_500_kbit_a_second_are_enough(film: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    frames = list(through_x264(film, path, bit_rate=500_000))
    reading = read_mark(frames)
    assert reading.found and reading.z > read_mark(frames[11:12]).z  # frames add up
    assert path.stat().st_size * 8 / 0.8 < 600_000  # 24 frames of a thirtieth second: the rate was kept


def variants(image: Any, count: int, seed: int) -> Iterator[Any]:
    """Upright cuts of a picture, some mirrored, compressed, or enlarged, of 200 to 320 lines: quick to search."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        cut = cropped(image, float(rng.uniform(0.3, 0.95)), int(rng.integers(1 << 30)))
        cut = cut[:, : max(32, int(cut.shape[0] * rng.uniform(0.3, 0.6)))]
        cut = scaled(cut, int(rng.integers(200, 321)) / cut.shape[0])
        cut = cut[:, ::-1].copy() if rng.random() < 0.5 else cut
        yield coded(cut, quality=int(rng.integers(30, 96))) if rng.random() < 0.5 else cut


def check_unmarked(pictures: Iterator[Any]) -> int:
    count = 0
    for picture in pictures:
        reading = read_mark([picture])
        assert not reading.found and not reading.traces and reading.payload is None, (count, reading)
        count += 1
    return count


def test_no_mark_is_found_in_110_unmarked_pictures() -> None:
    pictures = [bundled_person(), load(Path(__file__).parents[2] / "realtime" / "assets" / "source.jpg"), *map(load, DATA)]
    assert check_unmarked(cut for seed, each in enumerate(pictures) for cut in variants(each, 11, seed)) == 110


@pytest.mark.media
def test_no_mark_is_found_in_200_pictures_of_the_media(media: Path) -> None:
    stills = [load(path) for path in sorted((media / "stills").iterdir())]
    films = [frame for path in sorted((media / "videos").iterdir()) for frame in frames_of(path)]
    count = 200 // len(stills) + 1
    cuts = (cut for seed, each in enumerate(stills) for cut in variants(each, count, 100 + seed))
    assert check_unmarked(cut for cut in [*films, *islice(cuts, 200 - len(films))]) == 200


def frames_of(path: Path) -> Iterator[Any]:
    with av.open(str(path)) as container:
        for frame in islice(container.decode(video=0), 0, 20, 10):
            yield frame.to_ndarray(format="bgr24")


def test_traces_are_no_find(picture: Callable[[str], Any]) -> None:
    image = picture("p006_selfie")
    i420 = cv2.cvtColor(np.ascontiguousarray(image[: image.shape[0] // 2 * 2]), cv2.COLOR_BGR2YUV_I420)
    Marker(image.shape[1], image.shape[0] // 2 * 2, strength=1).mark_i420(i420)
    reading = read_mark([cv2.cvtColor(i420, cv2.COLOR_YUV2BGR_I420)])
    assert reading.traces and reading.z >= MIN_Z and reading.payload is None


@pytest.mark.parametrize("size", [(8, 8), (1, 1), (3, 500), (500, 2), (40, 30)])
def test_a_tiny_picture_says_nothing(size: tuple[int, int]) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (*size, 3), np.uint8)
    reading = read_mark([noise])
    assert not reading.found and not reading.legible


def test_an_ordinary_picture_would_show_the_mark() -> None:
    assert read_mark([bundled_person()]).legible


def test_noise_hides_any_mark() -> None:
    assert not read_mark([np.random.default_rng(1).integers(0, 255, (300, 400, 3), np.uint8)]).legible


def test_without_a_frame_there_is_nothing_to_read() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        read_mark([])


def test_frames_of_another_size_are_refused() -> None:
    reader = Reader()
    reader.add(np.zeros((36, 64, 3), np.uint8))
    with pytest.raises(ValueError, match="frames of one size"):
        reader.add(np.zeros((64, 36, 3), np.uint8))
