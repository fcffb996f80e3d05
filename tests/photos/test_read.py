from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pil
from PIL import ImageCms

from realtime.errors import UsageError
from realtime.photos.read import read_photo

GREEN = (40, 160, 80)  # RGB


def gradient(width: int = 96, height: int = 64) -> Pil.Image:
    """Red grows to the right, green downwards: turning and swapped channels show."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Pil.fromarray(np.stack([x, y, np.full_like(x, 60)], axis=2).astype(np.uint8))


def rgb(path: Path, **options: int) -> np.ndarray:
    image = read_photo(path, **options)
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.flags.c_contiguous
    return image[:, :, ::-1].astype(int)


def close(image: np.ndarray, expected: Pil.Image, within: float = 3) -> bool:
    return bool(np.abs(image - np.asarray(expected.convert("RGB")).astype(int)).mean() < within)


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp", "tiff", "gif", "avif", "ppm", "ico"])
def test_common_formats(tmp_path, suffix):
    picture = gradient(64, 64)
    picture.save(tmp_path / f"me.{suffix}")
    assert close(rgb(tmp_path / f"me.{suffix}"), picture, within=8)


def test_heic(tmp_path):
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    gradient().save(tmp_path / "me.heic")
    assert close(rgb(tmp_path / "me.heic"), gradient(), within=8)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(tmp_path, orientation):
    undo = {2: Pil.Transpose.FLIP_LEFT_RIGHT, 3: Pil.Transpose.ROTATE_180, 4: Pil.Transpose.FLIP_TOP_BOTTOM, 5: Pil.Transpose.TRANSPOSE}
    undo |= {6: Pil.Transpose.ROTATE_90, 7: Pil.Transpose.TRANSVERSE, 8: Pil.Transpose.ROTATE_270}
    stored = gradient().transpose(undo[orientation]) if orientation in undo else gradient()
    exif = Pil.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "me.jpg", exif=exif, quality=95)
    assert close(rgb(tmp_path / "me.jpg"), gradient(), within=5)


def test_broken_exif_is_ignored(tmp_path):
    gradient().save(tmp_path / "me.jpg", exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\xff\xff" + b"\x07" * 40, quality=95)
    assert close(rgb(tmp_path / "me.jpg"), gradient(), within=5)


@pytest.mark.parametrize(("mode", "name"), [("P", "me.png"), ("CMYK", "me.jpg"), ("YCbCr", "me.jpg"), ("LAB", "me.tiff")])
def test_colour_modes(tmp_path, mode, name):
    flat = Pil.new("RGB", (48, 48), GREEN)
    if mode == "LAB":
        flat = ImageCms.profileToProfile(flat, ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB")
    else:
        flat = flat.quantize(8) if mode == "P" else flat.convert(mode)
    flat.save(tmp_path / name)
    assert np.abs(rgb(tmp_path / name) - GREEN).max() < 12


@pytest.mark.parametrize(("mode", "level"), [("L", 90), ("1", 255)])
def test_grey_and_black_and_white(tmp_path, mode, level):
    Pil.new(mode, (48, 48), level).save(tmp_path / "me.png")
    assert np.array_equal(rgb(tmp_path / "me.png"), np.full((48, 48, 3), level))


def test_a_profile_that_does_not_fit_is_passed_over(tmp_path):
    unfit = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    gradient().convert("CMYK").save(tmp_path / "wrong.jpg", icc_profile=unfit, quality=95)
    assert rgb(tmp_path / "wrong.jpg").shape == (64, 96, 3)


def test_an_rgb_profile_is_applied(tmp_path):
    # The sRGB profile with red and blue primaries exchanged: pictures carry their channels exchanged too.
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.find(b"rXYZ"), profile.find(b"bXYZ")
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    gradient().save(tmp_path / "me.png", icc_profile=bytes(profile))
    swapped = Pil.fromarray(np.ascontiguousarray(np.asarray(gradient())[:, :, ::-1]))
    assert close(rgb(tmp_path / "me.png"), swapped, within=6)


@pytest.mark.parametrize("kind", ["RGBA", "LA", "P"])
def test_transparent_parts_become_mid_grey(tmp_path, kind):
    picture = Pil.new("RGBA", (40, 40), (0, 0, 0, 0))
    picture.paste((200, 200, 200, 255), (20, 0, 40, 40))
    if kind == "P":
        picture.quantize(4).save(tmp_path / "me.png")
    else:
        picture.convert(kind).save(tmp_path / "me.png")
    result = rgb(tmp_path / "me.png")
    assert abs(result[:, :18].mean() - 128) < 3 and abs(result[:, 22:].mean() - 200) < 3


def test_16_bit_grey_png(tmp_path):
    Pil.fromarray(np.full((30, 40), 128 * 257, np.uint16)).save(tmp_path / "me.png")
    assert np.abs(rgb(tmp_path / "me.png") - 128).max() <= 1


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_16_bit_colour(tmp_path, suffix):
    values = (np.asarray(gradient()).astype(np.uint16) * 257)[:, :, ::-1]
    ok, data = cv2.imencode(f".{suffix}", np.ascontiguousarray(values))
    assert ok
    (tmp_path / f"me.{suffix}").write_bytes(data.tobytes())
    assert close(rgb(tmp_path / f"me.{suffix}"), gradient(), within=2)


def test_floating_point_tiff(tmp_path):
    Pil.fromarray(np.full((20, 20), 0.5, np.float32)).save(tmp_path / "me.tiff")
    assert np.abs(rgb(tmp_path / "me.tiff") - 127).max() <= 2


def test_animation_gives_its_first_frame(tmp_path):
    first, second = Pil.new("RGB", (32, 32), (255, 0, 0)), Pil.new("RGB", (32, 32), (0, 0, 255))
    first.save(tmp_path / "me.gif", save_all=True, append_images=[second])
    red, _, blue = rgb(tmp_path / "me.gif")[0, 0]
    assert red > 240 and blue < 10


@pytest.mark.parametrize("name", ["Zoë Müller.jpg", "写真.png", "мой портрет.webp", "a b 'c'.jpg"])
def test_any_file_name(tmp_path, name):
    gradient().save(tmp_path / name)
    assert rgb(tmp_path / name).shape == (64, 96, 3)


def test_a_12_megapixel_photo_is_shrunk(tmp_path):
    gradient(400, 300).resize((4000, 3000)).save(tmp_path / "me.jpg", quality=60)
    result = rgb(tmp_path / "me.jpg")
    assert result.shape == (1200, 1600, 3)
    assert close(result, gradient(1600, 1200))


def test_a_wrong_suffix_does_not_matter(tmp_path):
    gradient().save(tmp_path / "me.png")
    (tmp_path / "me.png").rename(tmp_path / "me.jpg")
    assert close(rgb(tmp_path / "me.jpg"), gradient())


def sentence_for(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_photo(path)
    text = str(caught.value)
    assert not text.endswith(".") and "\n" not in text
    return text


def test_missing_file(tmp_path):
    assert "there is no photo" in sentence_for(tmp_path / "nobody.jpg")


def test_folder(tmp_path):
    assert "is a folder" in sentence_for(tmp_path)


def test_empty_file(tmp_path):
    (tmp_path / "me.jpg").touch()
    assert "is empty" in sentence_for(tmp_path / "me.jpg")


def test_not_a_picture(tmp_path):
    (tmp_path / "me.jpg").write_text("This is a letter, not a photo. " * 20)
    assert "is not a picture" in sentence_for(tmp_path / "me.jpg")


@pytest.mark.parametrize(
    ("name", "data"),
    [("me.mp4", b"\0\0\0\x20ftypisom"), ("me.jpg", b"\0\0\0\x20ftypmp42"), ("me.mkv", b"\x1a\x45\xdf\xa3"), ("x", b"RIFF\0\0\0\0AVI LIST")],
)
def test_video_by_mistake(tmp_path, name, data):
    (tmp_path / name).write_bytes(data + b"\x01" * 500)
    assert "is a video" in sentence_for(tmp_path / name)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif"])
def test_truncated_file(tmp_path, suffix):
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), np.uint8)
    Pil.fromarray(noise).save(tmp_path / f"me.{suffix}")
    data = (tmp_path / f"me.{suffix}").read_bytes()
    (tmp_path / f"me.{suffix}").write_bytes(data[: len(data) // 2])
    assert "damaged or cut short" in sentence_for(tmp_path / f"me.{suffix}")


def test_decompression_bomb(tmp_path):
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for side in (13_000, 60_000):
        file = io.BytesIO(b"\x89PNG\r\n\x1a\n")
        file.seek(0, io.SEEK_END)
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(b"\0" * 100_000)) + chunk(b"IEND", b""))
        (tmp_path / "bomb.png").write_bytes(file.getvalue())
        assert "million pixels" in sentence_for(tmp_path / "bomb.png")
