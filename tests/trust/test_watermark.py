from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.trust import payload
from realtime.trust.payload import Payload
from realtime.trust.reading import read_mark
from realtime.trust.watermark import COLUMNS, ROWS, STRENGTHS, Marker, Texture, spread

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


def test_the_mark_says_ai_modified_and_nothing_else(person: Any) -> None:
    reading = read_mark([marked(person)])
    assert reading.found and not reading.mirrored and reading.payload == Payload(ai_modified=True)


def test_bgr_carries_the_same_mark(person: Any) -> None:
    image = person.copy()
    Marker(1280, 720).mark_bgr(image)
    assert read_mark([image]).found
    assert cv2.PSNR(image, person) > 47


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


@pytest.mark.parametrize("strength", [0, 17])
def test_an_absurd_strength_is_refused(strength: int) -> None:
    with pytest.raises(ValueError, match="strength of 1 to 16"):
        Marker(64, 48, strength)


def test_strength_1_leaves_47_db_of_the_luma(person: Any) -> None:
    before, after = planes(person), planes(person)
    Marker(1280, 720, 1).mark_i420(after)
    assert cv2.PSNR(before[:720], after[:720]) >= 47


def test_a_busy_picture_gets_the_stronger_mark_and_a_plain_one_the_weaker(picture: Any) -> None:
    for name, strength in (("p006_selfie", 2), ("p001_studio", 1), ("p009_studio", 1)):
        image = picture(name)
        height, width = (side // 2 * 2 for side in image.shape[:2])
        image = image[:height, :width].copy()
        before, after = planes(image), planes(image)
        marker = Marker(width, height)
        marker.mark_i420(after)
        assert marker.strength == strength
        assert np.abs(after[:height].astype(int) - before[:height]).max() == strength
        copy = image.copy()
        marker.mark_bgr(copy)
        assert np.abs(copy.astype(int) - image).max() == strength


def textured(share: float) -> Any:
    """A luma plane of 720 lines in which this share of the places is quiet."""
    luma = np.full((720, 1280), 128, np.uint8)
    luma[:, round(share * 1280) :][:, ::8] = 168  # a line every chip: half of the places half a chip apart differ
    luma[:, round(share * 1280) :][:, 4::8] = 88
    luma[:, round(share * 1280) :] = np.repeat(luma[:, round(share * 1280) :][:, ::4], 4, 1)[:, : 1280 - round(share * 1280)]
    return luma


def test_a_picture_near_the_limit_keeps_its_strength() -> None:
    texture = Texture(1280, 720)
    assert [texture.busy(textured(share)) for share in (0.9, 0.44, 0.3, 0.44, 0.6, 0.44)] == [False, False, True, True, False, False]


@pytest.mark.parametrize("size", [(2, 2), (4, 720), (16, 16)])
def test_a_tiny_picture_is_marked_too(size: tuple[int, int]) -> None:
    i420 = np.full((size[1] * 3 // 2, size[0]), 128, np.uint8)
    Marker(*size).mark_i420(i420)
    assert set(np.unique(np.abs(i420[: size[1]].astype(int) - 128))) <= {*STRENGTHS}


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
