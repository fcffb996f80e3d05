"""Pictures that lie: whatever lies in the file, there is a picture or one sentence, and never more memory than a picture needs."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pil

from realtime.errors import UsageError
from realtime.photos.read import read_photo
from realtime.sources.base import EndOfStream
from realtime.sources.image import ImageSource
from tests.fuzz.mutations import mutated

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM")
UNHURRIED = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def good(kind: str) -> bytes:
    rng = np.random.default_rng(1)
    picture = Pil.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8))
    file = io.BytesIO()
    exif = Pil.Exif()
    exif[0x0112] = 6
    picture.save(file, kind, **({"exif": exif.tobytes()} if kind in ("JPEG", "PNG", "WEBP") else {}))
    return file.getvalue()


def outcome(path: Path) -> str:
    """The one sentence, or nothing when there is a picture."""
    try:
        image = read_photo(path)
    except UsageError as error:
        return str(error)
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size and image.flags.c_contiguous
    assert max(image.shape) <= 1600
    return ""


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_pictures(kind, tmp_path):
    path = tmp_path / "photo.img"
    path.write_bytes(good(kind))
    assert outcome(path) == ""

    @UNHURRIED
    @given(mutated(good(kind)))
    def attack(data):
        path.write_bytes(data)
        sentence = outcome(path)
        assert "\n" not in sentence and "Traceback" not in sentence

    attack()


HEADS = [b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"P6 "]
HEADS += [b"#?RADIANCE\n", b"\0\0\0\x18ftypheic", b"\0\0\0\x0cjP  \r\n\x87\n", b"8BPS\0\x01"]


@UNHURRIED
@given(data=st.binary(max_size=300), head=st.sampled_from(HEADS))
def test_noise_behind_known_beginnings(data, head, tmp_path):
    path = tmp_path / "photo.img"
    path.write_bytes(head + data)
    outcome(path)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int) -> bytes:
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(9_000_000))) + chunk(b"IEND", b"")


def tiff(width: int, height: int, order: str = "<", bits: int = 16) -> bytes:
    """RGB; of 32 bits Pillow does not know it, and it is left to OpenCV."""
    tags = [
        (256, 4, width),
        (257, 4, height),
        (258, 3, bits),
        (259, 3, 1),
        (262, 3, 2),
        (273, 4, 8),
        (277, 3, 3),
        (278, 4, height),
        (279, 4, 64),
    ]

    def word(kind: int, value: int) -> bytes:
        return struct.pack(f"{order}I", value) if kind == 4 else struct.pack(f"{order}HH", value, 0)

    fields = b"".join(struct.pack(f"{order}HHI", tag, kind, 1) + word(kind, value) for tag, kind, value in tags)
    return (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8) + struct.pack(f"{order}H", len(tags)) + fields + bytes(70)


BOMBS = {
    "png": png(60_000, 60_000),
    "png, one line": png(2_000_000_000, 1),
    "bmp": b"BM" + struct.pack("<IHHI", 100, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 50_000, 50_000, 1, 24, 0, 0, 0, 0, 0, 0),
    "gif": b"GIF89a"
    + struct.pack("<HHBBB", 65_535, 65_535, 0, 0, 0)
    + b","
    + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0)
    + b"\2\2L\1\0;",
    "ppm": b"P6 90000 90000 255\n" + bytes(100),
    "radiance": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 20000 +X 20000\n" + b"\2\2\x4e\x20" * 100,
    "tiff": tiff(100_000, 100_000),
    "tiff, the other way round": tiff(100_000, 100_000, ">"),
    "tga": struct.pack("<BBBHHBHHHHBB", 0, 0, 10, 0, 0, 0, 0, 0, 65_535, 65_535, 24, 0) + b"\xff\0\0\0" * 50,
}


OURS = {"png": png(13_000, 12_500), "tiff": tiff(13_000, 12_500), "tiff for OpenCV": tiff(13_000, 12_500, ">", 32)}
"""More than we open, and less than Pillow and OpenCV refuse by themselves."""


@pytest.mark.parametrize("name", OURS)
def test_our_own_limit_is_below_that_of_the_decoders(name, tmp_path):
    path = tmp_path / "photo.img"
    path.write_bytes(OURS[name])
    before = peak_megabytes()
    assert outcome(path) == "photo.img has more than 150 million pixels: use a smaller copy of the photo"
    assert peak_megabytes() - before < 150


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_take_memory(name, tmp_path):
    path = tmp_path / "photo.img"
    path.write_bytes(BOMBS[name])
    before = peak_megabytes()
    tracemalloc.start()
    try:
        assert outcome(path) != ""
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
    assert peak_megabytes() - before < 150


def peak_megabytes() -> float:
    """The most memory this process ever held; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def test_a_bomb_is_no_input_either(tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(BOMBS["png"])
    with pytest.raises(UsageError, match="more than 150 million pixels"):
        ImageSource(path).open()


@UNHURRIED
@given(width=st.integers(1, 40), height=st.integers(1, 40), mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"]))
def test_any_small_picture_is_an_input(width, height, mode, tmp_path):
    path = tmp_path / "small.tiff"
    Pil.new(mode, (width, height)).save(path)
    with ImageSource(path) as source:
        info = source.open()
        frame = source.read(1.0)
        assert frame.image.shape == (info.height, info.width, 3) == (height, width, 3)
        with pytest.raises(EndOfStream):
            source.read(1.0)
