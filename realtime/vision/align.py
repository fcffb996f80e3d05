"""Crops of a face in a standard pose, as recognisers and swap networks expect them."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from realtime.types import Floats, Image
from realtime.vision import geometry
from realtime.vision.geometry import Transform
from realtime.vision.sample import sample_planes

ARCFACE_112 = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]], np.float32
)
"""Eyes, nose tip, mouth corners in a 112 x 112 crop: insightface `face_align.arcface_dst`, also OpenCV's `FaceRecognizerSF::alignCrop`."""

ARCFACE_112_V1 = np.array([[39.73, 51.138], [72.27, 51.138], [56.0, 68.493], [42.463, 87.01], [69.537, 87.01]], np.float32)
"""In a 112 x 112 crop: insightface's `face_align.src_map` for a face from the front, which ghost and simswap were trained on."""

ARCFACE_128 = ARCFACE_112 + np.array([8, 0], np.float32)
"""In a 128 x 128 crop: what insightface's `face_align.estimate_norm` makes of the template for sizes that are a multiple of 128."""

FFHQ_512 = np.array(
    [[192.98138, 239.94708], [318.90277, 240.1936], [256.63416, 314.01935], [201.26117, 371.41043], [313.08905, 371.15118]], np.float32
)
"""In a 512 x 512 crop aligned as the FFHQ data set: facexlib `FaceRestoreHelper.face_template`."""

MTCNN_512 = np.array(
    [[187.20185, 239.27706], [324.12364, 238.51973], [256.09793, 317.14797], [199.84871, 397.30593], [313.23617, 396.67880]], np.float32
)
"""In a 512 x 512 crop: facefusion's template `mtcnn_512`, which hififace was trained on."""

DFL_WHOLE_FACE_224 = np.array(
    [[79.166676, 88.000004], [140.66867, 88.000004], [109.0, 121.00001], [86.999001, 154.00002], [133.99999, 154.00002]], np.float32
)
"""In a 224 x 224 crop: facefusion's template `dfl_whole_face`, DeepFaceLab's "whole face" on five points."""

_COARSE = 4.0
"""Image pixels per crop pixel from which the image is halved first, because bilinear sampling skips over most pixels there. *Measured* on a
face 550 pixels high, halving lowers the jitter of the mesh found in the crop from 0.28 to 0.20 pixels, and costs 0.3 ms."""


def align(image: Image, points: Floats, template: Floats, size: int) -> tuple[Image, Transform]:
    """The crop (size, size, 3) uint8 in which five `points` (5, 2) of the image lie on the `template`, and the transform into it.

    Outside the image the crop is black.
    """
    transform = geometry.similarity(points, template)
    return crop(image, transform, size), transform


def crop(image: Image, transform: Transform, size: int, out: Image | None = None) -> Image:
    """Sample the image under a transform from image to crop pixels: (size, size, 3) uint8, black outside the image. Writes `out` if given.

    Where the image is much finer than the crop, the part shown is halved first, as often as needed.
    """
    image, transform = _coarse_enough(image, transform, size)
    return cast(Image, cv2.warpAffine(image, transform, (size, size), dst=out, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT))


def fill(image: Image, transform: Transform, planes: Floats, scale: Floats, shift: Floats, reverse: bool) -> None:
    """The same crop straight into a network's input: `planes` (3, n, n) float32; `scale`, `shift` and `reverse` as for `sample_planes`."""
    image, transform = _coarse_enough(image, transform, planes.shape[2])
    sample_planes(np.ascontiguousarray(image), geometry.invert(transform), planes, scale, shift, reverse)


def _coarse_enough(image: Image, transform: Transform, size: int) -> tuple[Image, Transform]:
    """The image, or the part that the crop shows, halved until it is not much finer than the crop, and the transform from there."""
    fineness, factor = 1 / geometry.scale_of(transform), 1
    while fineness / factor >= _COARSE:
        factor *= 2
    return _shrunk(image, transform, size, factor) if factor > 1 else (image, transform)


def _shrunk(image: Image, transform: Transform, size: int, factor: int) -> tuple[Image, Transform]:
    """The part of the image that the crop shows, `factor` (a power of two) times smaller, and the transform from it to the crop."""
    corners = np.array([[0, 0], [size, 0], [size, size], [0, size]], np.float32)
    box = geometry.bounds(geometry.apply(geometry.invert(transform), corners))
    height, width = image.shape[:2]
    x0, y0 = max(int(box.x0) - factor, 0), max(int(box.y0) - factor, 0)
    columns, rows = (min(int(box.x1) + factor, width) - x0) // factor, (min(int(box.y1) + factor, height) - y0) // factor
    if columns < 1 or rows < 1:
        return image, transform
    part = image[y0 : y0 + rows * factor, x0 : x0 + columns * factor]
    while part.shape[0] > rows:  # by two at a time: OpenCV's fast case
        part = cast(Image, cv2.resize(part, (part.shape[1] // 2, part.shape[0] // 2), interpolation=cv2.INTER_AREA))
    centre = (factor - 1) / 2
    back = np.array([[factor, 0, x0 + centre], [0, factor, y0 + centre]], np.float64)
    return part, geometry.compose(transform, back)
