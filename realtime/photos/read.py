"""Reading a picture file of any kind into upright 8-bit BGR.

Pillow decodes: of the libraries at hand it alone handles EXIF, colour profiles, CMYK, palettes, draft decoding of large JPEGs and, through
pillow-heif, HEIC. OpenCV reads the 16-bit colour TIFFs that Pillow does not know.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageCms, ImageOps, TiffImagePlugin, UnidentifiedImageError

from realtime.errors import UsageError
from realtime.types import Image

LONGEST = 1600
"""Pixels: more than any face atlas can use, and quick to search."""
_MOST_PIXELS = 150_000_000
"""Larger pictures than any camera's are refused: a small file can hold one that fills the memory."""
_BACKDROP = 128
"""Grey behind transparent parts: neither bright nor dark beside skin."""
_VIDEO = {".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".ts", ".mts"}
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_WIDTH, _LENGTH = 256, 257  # tags of TIFF 6.0
_HEIC = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


class DamagedPhotoError(UsageError):
    """A picture whose kind is known, and that cannot be decoded to its end."""


def read_photo(path: str | Path, longest: int = LONGEST) -> Image:
    """The picture in a file, (h, w, 3) uint8 BGR, upright as its EXIF says, shrunk so that no side exceeds `longest` pixels.

    Transparent parts become mid-grey, embedded colour profiles are converted to sRGB, of animations the first frame is taken. Raises
    UsageError with the cure when there is no such file or it cannot be read as a picture.
    """
    path = Path(path)
    head = _check(path)
    # The reader is loaded only for the family of formats that HEIC belongs to: it takes 6 MB and 0.05 s.
    heif = _heif_problem() if head[4:8] == b"ftyp" else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks on odd EXIF and large files: the cap below decides
            picture = _decode(path, longest)
    except UsageError:
        raise
    except Pil.DecompressionBombError:
        raise UsageError(_too_large(path)) from None
    except UnidentifiedImageError:
        other = _decode_deep(path, head, longest)
        if other is None:
            raise UsageError(_unknown(path, head, heif)) from None
        return other
    except MemoryError:
        raise UsageError(f"there is not enough memory to open {path.name}: use a smaller copy of the photo") from None
    except Exception as error:  # decoders raise whatever they trip over: OSError, SyntaxError, struct.error, zlib.error, ...
        raise DamagedPhotoError(f"{path.name} is damaged or cut short ({_words(error)}): copy it again or use another photo") from None
    return picture


def _check(path: Path) -> bytes:
    """The file's first bytes. Raises UsageError when there is nothing to read."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: name a photo in it")
        if not path.exists():
            raise UsageError(f"there is no photo {path}: check the name and the folder")
        if not path.is_file():
            raise UsageError(f"{path} is not a file: name a photo")
        with path.open("rb") as file:
            head = file.read(32)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror or error}): check its permissions") from None
    except ValueError:  # a null character in the name
        raise UsageError(f"{str(path)!r} is not a file name: check the spelling") from None
    if not head:
        raise UsageError(f"{path.name} is empty: copy the photo again")
    return head


def _heif_problem() -> str:
    """Make Pillow read HEIC, the format of phones; why it cannot, or nothing."""
    try:
        import pillow_heif
    except ImportError:
        return "no HEIC reader is installed"
    pillow_heif.register_heif_opener()
    return ""


def _decode(path: Path, longest: int) -> Image:
    with Pil.open(path) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            raise UsageError(_too_large(path))
        # A JPEG decodes straight to a half, a quarter or an eighth; at least as large as asked for.
        picture.draft(picture.mode, (longest, longest))
        picture.load()
        upright = _upright(picture)
        if upright.mode in ("RGB", "L", "CMYK"):  # before the slow colour conversion; palettes and alpha do not shrink well as they are
            upright.thumbnail((longest, longest), Pil.Resampling.LANCZOS)
        colour = _to_rgb(upright)
    colour.thumbnail((longest, longest), Pil.Resampling.LANCZOS)
    return np.ascontiguousarray(np.asarray(colour)[:, :, ::-1])


def _upright(picture: Pil.Image) -> Pil.Image:
    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # broken EXIF raises many things; the picture itself is fine
        return picture.copy()


def _to_rgb(picture: Pil.Image) -> Pil.Image:
    """Any mode to 8-bit RGB."""
    if picture.mode.startswith("I") or picture.mode == "F":
        return _from_deep(np.asarray(picture))
    if "transparency" in picture.info or picture.mode in ("RGBA", "LA", "PA", "RGBa", "La"):
        layer = picture.convert("RGBA")
        flat = Pil.new("RGBA", layer.size, (_BACKDROP, _BACKDROP, _BACKDROP, 255))
        flat.alpha_composite(layer)
        return flat.convert("RGB")
    return _by_profile(picture) or picture.convert("RGB")


def _by_profile(picture: Pil.Image) -> Pil.Image | None:
    """Converted by its colour profile to sRGB; None when it has no usable one."""
    profile = picture.info.get("icc_profile")
    if not profile or picture.mode not in ("RGB", "CMYK", "L"):
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None


def _from_deep(values: np.ndarray) -> Pil.Image:
    """Samples of more than 8 bits, grey (h, w), to 8-bit RGB: from 16 bits when they fit, else by their own maximum."""
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    top = float(numbers.max(initial=0.0))
    full = next((limit for limit in (1.0, 255.0, 65535.0) if top <= limit), top)
    grey = np.clip(numbers * (255.0 / full), 0, 255).astype(np.uint8)
    return Pil.fromarray(grey).convert("RGB")


def _decode_deep(path: Path, head: bytes, longest: int) -> Image | None:
    """A TIFF of a kind that Pillow does not know, 16-bit colour above all, by OpenCV; None when it is none, or cannot be read.

    Nothing else is given to OpenCV: it takes any header's word for the size (a Radiance file of 500 bytes asks for five gigabytes).
    """
    if head[:4] not in _TIFF:
        return None
    if _tiff_pixels(path, head) > _MOST_PIXELS:
        raise UsageError(_too_large(path))
    try:
        picture: Image | None = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (cv2.error, OSError):
        return None
    if picture is None or picture.size == 0:
        return None
    scale = longest / max(picture.shape[:2])
    if scale < 1:
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return picture


def _tiff_pixels(path: Path, head: bytes) -> int:
    """What the first picture of a TIFF claims to have; 0 when its directory makes no sense."""
    try:
        directory = TiffImagePlugin.ImageFileDirectory_v2(head[:16] if head[2:3] == b"+" or head[3:4] == b"+" else head[:8])
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file.seek(directory.next)
            directory.load(file)
        return int(directory.get(_WIDTH, 0)) * int(directory.get(_LENGTH, 0))
    except Exception:  # whatever it trips over: OpenCV will see it too, and say no
        return 0


def _unknown(path: Path, head: bytes, heif: str) -> str:
    if heif and head[4:8] == b"ftyp" and head[8:12] in _HEIC:
        return f"{path.name} is a HEIC photo and {heif}: run `pip install pillow-heif`, or save the photo as JPEG"
    # Containers by their signatures: MP4/MOV, Matroska/WebM, AVI.
    boxed = head[4:8] == b"ftyp" and head[8:12] not in (*_HEIC, b"avif", b"avis")
    if path.suffix.lower() in _VIDEO or boxed or head.startswith(b"\x1a\x45\xdf\xa3") or head[8:11] == b"AVI":
        return f"{path.name} is a video: the source is a photo; save a frame of it that shows the face from the front"
    return f"{path.name} is not a picture that can be read: use a JPEG, PNG, WebP, TIFF or HEIC photo"


def _too_large(path: Path) -> str:
    return f"{path.name} has more than {_MOST_PIXELS // 1_000_000} million pixels: use a smaller copy of the photo"


def _words(error: Exception) -> str:
    """The error in a few words on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 80 else text[:77] + "..."
