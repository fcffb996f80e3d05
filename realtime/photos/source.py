"""From photo files to source faces ready to be fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from realtime.errors import UsageError
from realtime.models.base import Detector, Landmarker
from realtime.photos.judge import complain, improve, measure
from realtime.photos.read import LONGEST, read_photo
from realtime.tracking.follow import Follower
from realtime.tracking.others import main_score
from realtime.types import Box, Detection, Image, Landmarks, SourcePhoto
from realtime.vision import geometry
from realtime.vision.pose import turn

_PRESENCE = 0.5
_SURE = 0.78
"""Sureness from which a face is taken without looking at the photo turned: upright faces reach 0.8 to 0.9, turned ones up to 0.75."""
_FINE = 300
"""Face side in pixels that is worth reading a large photo again in finer detail."""
_FINEST = 6400
"""Longest side in pixels to which a photo is read again."""
_COUNTS = 0.35
"""Share of the main face's size from which another face is worth a word."""
_TURNS = {cv2.ROTATE_90_CLOCKWISE: "on its side", cv2.ROTATE_90_COUNTERCLOCKWISE: "on its side", cv2.ROTATE_180: "upside down"}


def load_source(
    paths: Sequence[str | Path],
    detector: Detector,
    landmarker: Landmarker,
    read: Callable[[Path], Image] = read_photo,
    *,
    shown: bool = True,
) -> tuple[list[SourcePhoto], list[str]]:
    """The main face of each photo, and notes: sentences for the user about what was chosen, mended or will spoil the swap.

    A photo of several that shows no usable face is left out with a note. `read` gives the picture of a file. `shown`: whether it is to be
    swapped in; otherwise it only tells who somebody is. Raises UsageError when a file cannot be read or none is usable.
    """
    if not paths:
        raise UsageError("no source photo was given: name one with --source me.jpg")
    photos: list[SourcePhoto] = []
    notes: list[str] = []
    failures: list[str] = []
    for path in map(Path, paths):
        image = read(path)
        try:
            photo, remarks = _load(path, image, detector, landmarker, shown)
        except UsageError as error:
            failures.append(str(error))
            continue
        photos.append(photo)
        notes += remarks
    if not photos:
        raise UsageError(failures[0])
    return photos, notes + [f"{failure}; the photo was left out" for failure in failures]


def _load(path: Path, image: Image, detector: Detector, landmarker: Landmarker, shown: bool) -> tuple[SourcePhoto, list[str]]:
    photo, notes = _find(image, path.name, detector, landmarker)
    if photo.image is image:  # otherwise it was turned or framed to find the face: not worth doing again
        photo = _finer(path, photo, detector, landmarker)
    quality = measure(photo.image, photo.landmarks.points)
    notes += complain(quality, path.name, shown=shown)
    return replace(photo, image=improve(photo.image, quality)), notes


def _find(image: Image, name: str, detector: Detector, landmarker: Landmarker) -> tuple[SourcePhoto, list[str]]:
    """The main face, looking at the photo framed, enlarged and turned when it does not clearly show one as it is."""
    best: tuple[SourcePhoto, list[str]] | None = None
    most = 0.0
    for view, remark in _views(image):
        found = detector.detect(view)
        photo = _main_face(view, found, name, landmarker)
        if photo is None:
            continue
        sure = _sureness(photo)
        if best is None or sure > most + 0.03:
            notes = [f"{name} lies {remark}: it was turned upright"] if remark else []
            best, most = (photo, notes + _others(photo.detection, found, view, name)), sure
        if most >= _SURE:
            break
    if best is None:
        raise UsageError(f"no face was found in {name}: use a photo that shows one face from the front")
    return best


def _main_face(image: Image, found: Sequence[Detection], name: str, landmarker: Landmarker) -> SourcePhoto | None:
    """The main one of the faces found that the mesh network takes for a face as well."""
    for detection in sorted(found, key=lambda face: -_weight(face, image)):
        mesh = _mesh(image, detection, landmarker)
        if mesh is not None:
            return SourcePhoto(image, detection, mesh, name)
    return None


def _sureness(photo: SourcePhoto) -> float:
    """The detector's score, less what speaks for a face that does not stand upright.

    On such a face the detector often still answers, with points that the mesh does not agree with: the distance between the two, over the
    eye distance, is 0.04 to 0.12 on upright faces and 0.16 to 0.7 on others.
    """
    mesh, seen = geometry.five_points(photo.landmarks.points), photo.detection.points
    apart = float(np.linalg.norm(mesh - seen, axis=1).mean() / max(np.linalg.norm(mesh[1] - mesh[0]), 1e-6))
    lying = abs(geometry.roll(mesh[0], mesh[1])) > 50
    return photo.detection.score - apart - (0.3 if lying else 0.0)


def _views(image: Image) -> Iterator[tuple[Image, str]]:
    """The photo as it is, then framed (a face may fill it), enlarged when small, and turned; each with how it must have been lying."""
    yield image, ""
    height, width = image.shape[:2]
    margin = max(height, width) // 3
    yield cv2.copyMakeBorder(image, margin, margin, margin, margin, cv2.BORDER_REPLICATE), ""
    if max(height, width) < 320:
        yield cv2.resize(image, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC), ""
    for code, remark in _TURNS.items():
        yield cv2.rotate(image, code), remark


def _weight(face: Detection, image: Image) -> float:
    """The main-face score, less for a face that is turned: as a source it is worth less than one from the front."""
    return main_score(face.box, face.score, *image.shape[:2]) * max(1 - abs(turn(face.points)), 0.3)


def _others(main: Detection, found: Sequence[Detection], image: Image, name: str) -> list[str]:
    """A sentence that says which of several faces was taken."""
    side = main.box.side
    count = sum(face.box.side > _COUNTS * side for face in found)
    if count < 2:
        return []
    largest = all(face.box.area <= main.box.area for face in found)
    kind = "the largest" if largest else "the clearest"
    return [f"{name} shows {count} faces: {kind}, {_place(main.box, image)}, is used; crop the photo to choose another"]


def _place(box: Box, image: Image) -> str:
    share = box.centre[0] / image.shape[1]
    return "near the centre" if 0.35 <= share <= 0.65 else f"on the {'left' if share < 0.35 else 'right'}"


def _finer(path: Path, photo: SourcePhoto, detector: Detector, landmarker: Landmarker) -> SourcePhoto:
    """The same face cut from the photo read again in finer detail, when it is small and the file has more; else the photo given."""
    box = geometry.bounds(photo.landmarks.points)
    size = box.side
    longest = max(photo.image.shape[:2])
    if size >= _FINE or longest < LONGEST:
        return photo
    fine = read_photo(path, min(round(longest * _FINE / size), _FINEST))
    scale = max(fine.shape[:2]) / longest
    wanted = Box(*(value * scale for value in box))
    frame = geometry.grow(wanted, 1.0)
    part, x, y = _cut(fine, frame)
    # The same face, not the main one of this smaller picture.
    wanted = Box(wanted.x0 - x, wanted.y0 - y, wanted.x1 - x, wanted.y1 - y)
    found = max(detector.detect(part), key=lambda face: geometry.overlap(face.box, wanted), default=None)
    if found is None or geometry.overlap(found.box, wanted) < 0.3:
        return photo
    mesh = _mesh(part, found, landmarker)
    return photo if mesh is None else SourcePhoto(part, found, mesh, photo.name)


def _mesh(image: Image, detection: Detection, landmarker: Landmarker) -> Landmarks | None:
    mesh = Follower(landmarker, _PRESENCE).start(image, detection, most=8)
    return mesh if isinstance(mesh, Landmarks) else None


def _cut(image: Image, box: Box) -> tuple[Image, int, int]:
    """The part of the image in the box, and where its corner lies."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = max(int(box.x0), 0), max(int(box.y0), 0), min(int(box.x1), width), min(int(box.y1), height)
    return np.ascontiguousarray(image[y0:y1, x0:x1]), x0, y0
