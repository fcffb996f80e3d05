"""Pictures of synthetic people with stored landmarks, twins opened on a backend, and what a swap must look like, by other means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx

from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.base import Crop
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.select import Surroundings
from realtime.types import Array, Box, Detection, Face, Floats, Image, Landmarks, Patch, SourcePhoto
from realtime.vision.align import ARCFACE_128, align
from realtime.vision.blend import paste
from tests.twins.recognisers import arcface_twin, converter_twin

DATA = Path(__file__).parents[2] / "data"
EYES = ((33, 133), (362, 263))


def picture(name: str) -> tuple[Image, Floats]:
    with np.load(DATA / "landmarks.npz") as stored:
        image = cv2.imread(str(DATA / f"{name}.jpg"))
        assert image is not None
        return image, stored[name]


def face(points: Floats) -> Face:
    low, high = points[:, :2].min(0), points[:, :2].max(0)
    return Face(Landmarks(points, 1.0), Box(*map(float, low), *map(float, high)), 1)


def crop(image: Image, seen: Face, size: int = 128) -> Crop:
    """The face on ArcFace's template, as a swap network is given it, not swapped and shown everywhere."""
    before, transform = align(image, five(seen.landmarks.points), ARCFACE_128 * np.float32(size / 128), size)
    return Crop(image, seen, transform, before, before.copy(), np.full((size, size), 255, np.uint8))


def photo(name: str) -> SourcePhoto:
    image, points = picture(name)
    seen = face(points)
    return SourcePhoto(image, Detection(seen.box, np.zeros((5, 2), np.float32), 1.0), seen.landmarks, name)


def five(points: Floats) -> Floats:
    eyes = [points[list(pair), :2].mean(0) for pair in EYES]
    return np.array([*eyes, points[1, :2], points[61, :2], points[291, :2]], np.float32)


def similarity(points: Floats, target: Array) -> Array:
    """(2, 3) by linear least squares on the four unknowns of a similarity."""
    rows, values = [], []
    for (x, y), (u, v) in zip(points, target, strict=True):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        values += [u, v]
    a, b, c, d = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
    return np.array([[a, -b, c], [b, a, d]])


def planes(image: Image, points: Floats, template: Array, size: int) -> Floats:
    """(1, 3, s, s) RGB 0..1 of the face on a template."""
    crop = cv2.warpAffine(image, similarity(five(points), template), (size, size))
    return np.asarray(crop[..., ::-1].transpose(2, 0, 1)[None] / 255, np.float32)


def pasted(image: Image, points: Floats, template: Array, shown: Floats, mask: Array) -> Array:
    """The image with planes (1, 3, s, s) RGB 0..1 laid over, in floating point."""
    back = cv2.invertAffineTransform(similarity(five(points), template))
    size = (image.shape[1], image.shape[0])
    swapped = np.ascontiguousarray(shown[0].transpose(1, 2, 0)[..., ::-1].clip(0, 1) * 255)
    colour = cv2.warpAffine(swapped, back, size, flags=cv2.INTER_LINEAR)
    alpha = cv2.warpAffine(np.asarray(mask, np.float32), back, size, flags=cv2.INTER_LINEAR)[..., None]
    return image + (colour - image) * alpha


def shown(image: Image, patch: Patch | None) -> Image:
    assert patch is not None
    out = image.copy()
    paste(out, patch.x, patch.y, patch.colour, patch.alpha)
    return out


def save(folder: Path, name: str, model: Any) -> Path:
    path = folder / name
    onnx.save(model, path)
    return path


def companions(folder: Path) -> None:
    """ArcFace and the converters, beside the swap networks."""
    save(folder, "w600k_r50.onnx", arcface_twin())
    for name in ("ghost", "simswap", "hififace"):
        save(folder, f"crossface_{name}.onnx", converter_twin())


def surroundings(folder: Path, backend: str = "onnxruntime", notify: Callable[[str], None] = print, **more: Any) -> Surroundings:
    def open_network(path: Path) -> Session:
        return open_session(path, backend)

    return Surroundings(open_network, open_network, lambda name: None, Exact(folder / "exact", notify), **more)
