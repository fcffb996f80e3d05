"""The reader of the mark on pictures and numbers that nobody marked: an answer, never an error, and never a mark that is not there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from realtime.trust import payload
from realtime.trust.payload import CODED_BITS, Payload, decode, encode
from realtime.trust.reading import read_mark

SHAPES = [(1, 1), (2, 1), (1, 500), (500, 1), (3, 7), (40, 30), (720, 16), (97, 1281)]


@settings(max_examples=40)
@given(arrays.arrays(np.float64, CODED_BITS, elements=st.floats()))
def test_any_soft_bits(soft):
    with np.errstate(all="ignore"):
        value = decode(soft)
    assert value is None or 0 <= value < 1 << 48


@pytest.mark.parametrize("wrong", [1, 1 << 7, 0xFFFF])
def test_a_mark_whose_check_does_not_fit_is_none(wrong, monkeypatch):
    value, right = Payload().to_int(), payload._crc
    assert decode(encode(value).astype(float)) == value
    with monkeypatch.context() as spoilt:
        spoilt.setattr(payload, "_crc", lambda of: right(of) ^ wrong)
        soft = encode(value).astype(float)
    assert decode(soft) is None


@given(st.integers(0, (1 << 48) - 1), st.data())
@settings(max_examples=40)
def test_a_few_wrong_bits_are_mended_and_many_are_no_mark(value, data):
    soft = encode(value).astype(float)
    for place in data.draw(st.lists(st.integers(0, CODED_BITS - 1), max_size=4, unique=True)):
        soft[place] *= -0.2
    assert decode(soft) == value
    payload = Payload.from_int(value)
    assert payload is None or payload.to_int() & ~(0xFFFF << 16) == value & ~(0xFFFF << 16)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["black", "white", "noise", "checks"])
def test_any_picture(shape, kind):
    height, width = shape
    rows, columns = np.mgrid[:height, :width]
    pictures = {
        "black": np.zeros(shape, np.uint8),
        "white": np.full(shape, 255, np.uint8),
        "noise": np.random.default_rng(1).integers(0, 256, shape, np.uint8),
        "checks": (255 * ((rows // 8 + columns // 8) % 2)).astype(np.uint8),
    }
    image = np.ascontiguousarray(np.repeat(pictures[kind][..., None], 3, axis=2))
    assert not read_mark([image]).found


def test_no_picture_at_all():
    with pytest.raises(ValueError, match="at least one frame"):
        read_mark([])
