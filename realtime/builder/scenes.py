"""The pictures that engines are calibrated with and judged on: each with one face and where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np

from realtime.errors import BackendError, UsageError
from realtime.models.base import Detector, Landmarker
from realtime.types import Floats, Image, Region
from realtime.vision import geometry

MOST = 48
"""Pictures used: int8 ranges settle within some dozens, and every candidate is run on all of them."""
FEW = 12
"""Below this many pictures, each is varied."""
_LONGEST = 1280
_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".heic", ".tif", ".tiff"}
_SURE = 0.5
_VARIATIONS = ((0.0, 1.0, 1.0), (14.0, 0.75, 0.9), (-14.0, 1.2, 1.0), (7.0, 0.5, 0.7), (-7.0, 1.4, 0.8), (25.0, 0.9, 0.6))
"""Roll in degrees, brightness, scale: the head tilts, light and distances of a webcam."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture and the face in it, found by the fp32 networks."""

    image: Image
    region: Region
    points: Floats
    """(5, 2) float32, from the mesh."""


def gather(source: Path | None, bundled: Path, detector: Detector, landmarker: Landmarker) -> list[Scene]:
    """Scenes from a folder of pictures, a video, or, without either, the pictures in the folder `bundled`.

    Raises UsageError when `source` cannot be read, and BackendError when it shows no face.
    """
    images = list(_images(source or bundled))
    if len(images) < FEW:
        images = [varied for image in images for varied in vary(image)]
    scenes = find_faces(images[:MOST], detector, landmarker)
    if not scenes:
        raise BackendError(f"no face was found in {source or bundled}: calibration needs pictures or a video of faces")
    return scenes


def find_faces(images: Sequence[Image], detector: Detector, landmarker: Landmarker) -> list[Scene]:
    """One scene for each image with a face, its largest."""
    return [scene for image in images if (scene := _scene(image, detector, landmarker)) is not None]


def vary(image: Image) -> Iterator[Image]:
    """The picture under each variation, every other one mirrored."""
    height, width = image.shape[:2]
    for index, (angle, light, scale) in enumerate(_VARIATIONS):
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, scale)
        turned = cv2.warpAffine(image, turn, (width, height), borderMode=cv2.BORDER_REFLECT)
        lit = cv2.convertScaleAbs(turned, alpha=light)
        yield cast(Image, np.ascontiguousarray(lit[:, ::-1]) if index % 2 else lit)


def save(scenes: Sequence[Scene], path: Path) -> None:
    arrays: dict[str, Any] = {f"image_{index}": scene.image for index, scene in enumerate(scenes)}
    regions = np.array([scene.region for scene in scenes], np.float64)
    points = np.array([scene.points for scene in scenes], np.float32)
    np.savez(path, regions=regions, points=points, **arrays)


def load(path: Path) -> list[Scene]:
    with np.load(path, allow_pickle=False) as file:
        rows = zip(file["regions"], file["points"], strict=True)
        return [Scene(file[f"image_{i}"], Region(*map(float, region)), points) for i, (region, points) in enumerate(rows)]


def _scene(image: Image, detector: Detector, landmarker: Landmarker) -> Scene | None:
    found = detector.detect(image)
    if not found:
        return None
    region = geometry.region_from_detection(max(found, key=lambda face: face.box.area))
    for _ in range(2):  # as the tracker does: the second look is at where the first saw the face
        mesh = landmarker.landmarks(image, region)
        if mesh.presence < _SURE:
            return None
        region = geometry.region_from_landmarks(mesh.points)
    return Scene(image, region, geometry.five_points(mesh.points))


def _images(source: Path) -> Iterator[Image]:
    if source.is_dir():
        from realtime.photos.read import read_photo  # here: it brings much along that children which only load scenes do not need

        paths = sorted(path for path in source.iterdir() if path.suffix.lower() in _SUFFIXES)
        if not paths:
            raise UsageError(f"there is no picture in {source}: name a folder of photos or a video")
        step = max(len(paths) / MOST, 1.0)
        for index in range(min(len(paths), MOST)):
            yield read_photo(paths[int(index * step)], _LONGEST)
    elif source.is_file():
        yield from _video(source)
    else:
        raise UsageError(f"there is no {source}: --calibration takes a folder of photos or a video")


def _video(path: Path) -> Iterator[Image]:
    """Frames spread over the whole video."""
    video = cv2.VideoCapture(str(path))
    try:
        count = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
        if not video.isOpened() or count < 1:
            raise UsageError(f"{path} cannot be read as a video: name a folder of photos or a video")
        wanted = set(np.linspace(0, count - 1, min(MOST, count)).astype(int).tolist())
        for index in range(count):
            if not video.grab():
                return
            if index in wanted:
                yield cast(Image, video.retrieve()[1])
    finally:
        video.release()
