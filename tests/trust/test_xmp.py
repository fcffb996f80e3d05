from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pil

from realtime.trust import xmp
from realtime.trust.xmp import COMPOSITE, declare, source_types
from tests.trust.files import scenery, write


def test_the_term_is_the_iptcs() -> None:
    assert COMPOSITE == "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".webp"])
def test_a_picture_declares_it_and_keeps_its_pixels(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"p{suffix}")
    before = path.read_bytes()
    assert source_types(path) == []
    path.write_bytes(declare(before, suffix))
    assert source_types(path) == [COMPOSITE]
    after = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(after, cv2.imdecode(np.frombuffer(before, np.uint8), cv2.IMREAD_COLOR))


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_another_reader_finds_the_packet_where_the_format_has_it(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"p{suffix}")
    path.write_bytes(declare(path.read_bytes(), suffix))
    with Pil.open(path) as picture:
        picture.load()
        assert COMPOSITE.encode() in picture.info["xmp"] and picture.size == (320, 180)


@pytest.mark.parametrize(("mode", "options"), [("RGB", {}), ("RGBA", {"lossless": True}), ("RGB", {"lossless": True}), ("RGBA", {})])
def test_every_kind_of_webp_has_a_place(tmp_path: Path, mode: str, options: dict[str, bool]) -> None:
    path = tmp_path / "p.webp"
    Pil.fromarray(scenery(37, 23)).convert(mode).save(path, **options)
    with Pil.open(path) as before:
        expected = np.asarray(before.convert("RGBA"))
    path.write_bytes(declare(path.read_bytes(), ".webp"))
    with Pil.open(path) as after:
        assert np.array_equal(np.asarray(after.convert("RGBA")), expected)
    assert source_types(path) == [COMPOSITE]


def test_other_formats_stay_as_they_are() -> None:
    assert declare(b"BM...", ".bmp") == b"BM..."


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_a_file_of_another_kind_is_refused(suffix: str) -> None:
    with pytest.raises(ValueError, match="no "):
        declare(b"something else altogether", suffix)


@pytest.mark.parametrize("packet", [
    b"<x:xmpmeta a='b'><rdf:Description Iptc4xmpExt:DigitalSourceType=\"%s\"/></x:xmpmeta>",
    b"<x:xmpmeta><Iptc4xmpExt:DigitalSourceType>\n  %s\n</Iptc4xmpExt:DigitalSourceType></x:xmpmeta>",
    b"<x:xmpmeta><Iptc4xmpExt:DigitalSourceType>%s",
], ids=["attribute", "element", "cut short"])  # fmt: skip
def test_packets_of_others_are_read(tmp_path: Path, packet: bytes) -> None:
    path = tmp_path / "p.bin"
    path.write_bytes(b"\0\xff" * 50 + packet.replace(b"%s", COMPOSITE.encode()) + b"\0" * 50)
    assert source_types(path) == [COMPOSITE]


def test_a_word_outside_a_packet_is_none(tmp_path: Path) -> None:
    path = tmp_path / "p.bin"
    path.write_bytes(f"DigitalSourceType='{COMPOSITE}' <x:xmpmeta></x:xmpmeta> DigitalSourceType>{COMPOSITE}".encode())
    assert source_types(path) == []


def test_a_file_made_of_beginnings_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "p.bin"
    path.write_bytes(b"<x:xmpmeta" * 300_000)
    assert source_types(path) == []


def test_the_end_of_a_large_file_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmp, "_WHOLE", 4096)
    path = tmp_path / "p.bin"
    path.write_bytes(bytes(100_000) + f"<x:xmpmeta DigitalSourceType='{COMPOSITE}'></x:xmpmeta>".encode())
    assert source_types(path) == [COMPOSITE]


@given(data=st.binary(max_size=200), suffix=st.sampled_from([".png", ".jpg", ".webp"]))
def test_rubbish_raises_nothing_but_value_errors(data: bytes, suffix: str) -> None:
    head = {".png": b"\x89PNG\r\n\x1a\n", ".jpg": b"\xff\xd8", ".webp": b"RIFF\0\0\0\0WEBP"}[suffix]
    for content in (data, head + data):
        try:
            declared = declare(content, suffix)
        except ValueError:
            continue
        assert COMPOSITE.encode() in declared and declared.startswith(content[:2])
