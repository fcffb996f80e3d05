from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.trust import payload
from realtime.trust.payload import Payload
from realtime.trust.watermark import COLUMNS, ROWS, Marker, read_mark, spread

DATA = Path(__file__).parents[1] / "data"
PERSON = Path(__file__).parents[2] / "realtime" / "assets" / "person.jpg"


def load(path: Path) -> Any:
    return cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)


@pytest.fixture(scope="module")
def person() -> Any:
    return load(PERSON)


def planes(image: Any) -> Any:
    return cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)


def marked(image: Any, **options: Any) -> Any:
    """Through the luma plane, as the pipeline does it."""
    i420 = planes(image)
    Marker(image.shape[1], image.shape[0], **options).mark_i420(i420)
    return cv2.cvtColor(i420, cv2.COLOR_YUV2BGR_I420)


def encoded(image: Any, quality: int) -> Any:
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def test_the_mark_says_ai_modified_and_nothing_else(person: Any) -> None:
    reading = read_mark([marked(person)])
    assert reading.found and not reading.mirrored and reading.payload == Payload(ai_modified=True)


@pytest.mark.parametrize("size", [(640, 480), (1280, 720), (1920, 1080), (854, 480)])
def test_every_usual_size_reads_back_after_jpeg_50(person: Any, size: tuple[int, int]) -> None:
    image = cv2.resize(person, size, interpolation=cv2.INTER_AREA)
    assert read_mark([encoded(marked(image), 50)]).found


@pytest.mark.parametrize("change", [
    lambda image: cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA),
    lambda image: np.roll(image, (37, 101), (0, 1)),
    lambda image: cv2.convertScaleAbs(image, alpha=0.8, beta=20),
    lambda image: cv2.GaussianBlur(image, (0, 0), 1.0),
], ids=["half", "shifted", "paler", "blurred"])  # fmt: skip
def test_it_survives(person: Any, change: Any) -> None:
    assert read_mark([change(marked(person))]).found


def test_a_mirrored_picture_is_read_and_told(person: Any) -> None:
    reading = read_mark([marked(person)[:, ::-1].copy()])
    assert reading.found and reading.mirrored


def test_it_survives_h264_at_crf_23(person: Any, tmp_path: Path) -> None:
    with av.open(str(tmp_path / "v.mp4"), "w") as container:
        video = container.add_stream("libx264", rate=30, options={"crf": "23", "preset": "veryfast"})
        video.width, video.height, video.pix_fmt = 1280, 720, "yuv420p"
        marker = Marker(1280, 720)
        for number in range(4):
            i420 = planes(np.roll(person, number * 6, 1))
            marker.mark_i420(i420)
            container.mux(video.encode(av.VideoFrame.from_ndarray(i420, format="yuv420p")))
        container.mux(video.encode(None))
    with av.open(str(tmp_path / "v.mp4")) as container:
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    assert read_mark(frames[:1]).found
    assert read_mark(frames).found


def test_bgr_carries_the_same_mark(person: Any) -> None:
    image = person.copy()
    Marker(1280, 720).mark_bgr(image)
    assert read_mark([encoded(image, 75)]).found
    assert cv2.PSNR(image, person) > 45


@pytest.mark.parametrize("path", [PERSON, *sorted(DATA.glob("*.jpg"))], ids=lambda path: path.stem)
def test_no_mark_is_found_where_there_is_none(path: Path) -> None:
    reading = read_mark([load(path)])
    assert not reading.found and reading.payload is None and reading.z < 6


def test_a_marked_picture_of_another_kind_is_not_ours(person: Any) -> None:
    reading = read_mark([marked(person, payload=Payload(ai_modified=False, version=7))])
    assert reading.payload == Payload(ai_modified=False, version=7)


@pytest.mark.parametrize("level", [0, 255])
@pytest.mark.parametrize("strength", [1, 3])
def test_black_and_white_do_not_wrap_and_colour_planes_stay(level: int, strength: int) -> None:
    i420 = np.full((72 * 3 // 2, 128), level, np.uint8)
    Marker(128, 72, strength).mark_i420(i420)
    assert np.abs(i420[:72].astype(int) - level).max() == strength and (i420[72:] == level).all()
    image = np.full((72, 128, 3), level, np.uint8)
    Marker(128, 72, strength).mark_bgr(image)
    assert np.abs(image.astype(int) - level).max() == strength


def test_the_layout_never_changes() -> None:
    layout = spread()
    assert len(layout.sync) == ROWS * COLUMNS // 4 and sorted([*layout.sync, *layout.data]) == list(range(ROWS * COLUMNS))
    assert list(layout.sync[:4]) == [1954, 1681, 922, 1284] and list(layout.signs[:8]) == [-1, -1, -1, 1, 1, 1, 1, 1]


def test_without_a_frame_there_is_nothing_to_read() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        read_mark([])


@pytest.mark.parametrize("strength", [0, 17])
def test_an_absurd_strength_is_refused(strength: int) -> None:
    with pytest.raises(ValueError, match="strength of 1 to 16"):
        Marker(64, 48, strength)


@given(value=st.integers(0, 2**48 - 1), seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_the_code_corrects_one_wrong_bit_in_twenty(value: int, seed: int) -> None:
    coded = payload.encode(value).astype(float)
    wrong = np.random.default_rng(seed).integers(0, 20) + np.arange(0, len(coded) - 20, 20)
    coded[wrong] *= -1
    assert payload.decode(coded) == value


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_noise_is_no_payload(seed: int) -> None:
    value = payload.decode(np.random.default_rng(seed).normal(size=payload.CODED_BITS))
    assert value is None or Payload.from_int(value) is None


@given(value=st.integers(0, 2**48 - 1))
def test_numbers_of_others_are_not_taken(value: int) -> None:
    if value >> 32 != payload.MAGIC:
        assert Payload.from_int(value) is None
