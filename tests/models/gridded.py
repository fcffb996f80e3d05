"""What tests of detectors share: the kinds with their twins, where each puts a face, pictures of faces, and a SCRFD that pretends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.types import Detection, Floats, Image
from tests.twins import detectors as twins

STRIDE = 16
Place = Callable[[int, int], tuple[Floats, Floats]]
"""Column and row of a cell -> box (4,) and points (5, 2) in pixels of the input, by the definition of the kind."""


def _scrfd(column: int, row: int) -> tuple[Floats, Floats]:
    _, distances, points = twins.answer()
    corner = np.array([column, row]) * STRIDE
    return np.concatenate([corner - distances[:2] * STRIDE, corner + distances[2:] * STRIDE]), corner + points.reshape(5, 2) * STRIDE


def _retinaface(column: int, row: int) -> tuple[Floats, Floats]:
    """Priors of 64 pixels around the middle of the cell; variances 0.1 and 0.2."""
    _, numbers, points = twins.answer()
    middle = (np.array([column, row]) + 0.5) * STRIDE
    centre, half = middle + numbers[:2] * 0.1 * 64, 64 * np.exp(numbers[2:] * 0.2) / 2
    return np.concatenate([centre - half, centre + half]), middle + points.reshape(5, 2) * 0.1 * 64


def _yolo(column: int, row: int) -> tuple[Floats, Floats]:
    _, numbers, points = twins.answer()
    middle = (np.array([column, row]) + 0.5) * STRIDE
    return np.concatenate([middle - numbers[:2] * STRIDE / 2, middle + numbers[:2] * STRIDE / 2]), middle + points.reshape(5, 2) * STRIDE


def _yolo_raw(column: int, row: int) -> tuple[Floats, Floats]:
    """Distributions with one peak, at the rounded distance, from the middle of the cell."""
    _, distances, points = twins.answer()
    corner, sides = np.array([column, row]), np.round(distances)
    box = np.concatenate([corner + 0.5 - sides[:2], corner + 0.5 + sides[2:]])
    return box * STRIDE, (corner + points.reshape(5, 2)) * STRIDE


def _yunet(column: int, row: int) -> tuple[Floats, Floats]:
    _, numbers, points = twins.answer()
    corner, numbers = np.array([column, row]), numbers * twins.YUNET_SHARE
    centre, half = corner + numbers[:2], np.exp(numbers[2:]) / 2
    return np.concatenate([centre - half, centre + half]) * STRIDE, (corner + points.reshape(5, 2)) * STRIDE


KINDS: dict[str, tuple[Callable[[], Any], str, int, Place]] = {
    "det_10g": (lambda: twins.scrfd_twin(size=640), "scrfd", 640, _scrfd),
    "scrfd batched": (lambda: twins.scrfd_twin(size=320, names=BATCHED, batched=True), "scrfd", 320, _scrfd),
    "retinaface mobilenet": (lambda: twins.retinaface_twin(), "retinaface", 640, _retinaface),
    "retinaface resnet": (lambda: twins.retinaface_twin(names=("loc", "conf", "landmarks")), "retinaface", 640, _retinaface),
    "retinaface logits": (lambda: twins.retinaface_twin(softmax=False), "retinaface", 640, _retinaface),
    "yoloface_8n": (lambda: twins.yolo_twin(), "yoloface", 640, _yolo),
    "yolov8n-face": (lambda: twins.yolo_raw_twin(), "yoloface", 640, _yolo_raw),
    "yolov5n-face": (lambda: twins.yolo5_twin(), "yoloface", 640, _yolo),
    "yunet": (lambda: twins.yunet_twin(), "yunet", 320, _yunet),
}
WIDE: dict[str, tuple[Callable[[int, int], Any], Place]] = {
    "scrfd": (lambda height, width: twins.scrfd_twin(size=(height, width)), _scrfd),
    "retinaface": (lambda height, width: twins.retinaface_twin(size=(height, width)), _retinaface),
    "yolo": (lambda height, width: twins.yolo_twin(size=(height, width)), _yolo),
    "yolo raw": (lambda height, width: twins.yolo_raw_twin(size=(height, width)), _yolo_raw),
    "yolo 5": (lambda height, width: twins.yolo5_twin(size=(height, width)), _yolo),
    "yunet": (lambda height, width: twins.yunet_twin(size=(height, width)), _yunet),
}
BATCHED = tuple(f"{kind}_{stride}" for kind in ("score", "bbox", "kps") for stride in twins.STRIDES)
WIDTHS = {"score": 1, "bbox": 4, "kps": 10}


def frame(width: int, height: int, cells: list[tuple[int, int]], size: int) -> Image:
    """A black picture with skin where these cells of the input will be."""
    image = np.zeros((height, width, 3), np.uint8)
    pixels = max(width, height) * STRIDE // size
    for column, row in cells:
        image[row * pixels : (row + 1) * pixels, column * pixels : (column + 1) * pixels] = twins.SKIN[::-1]
    return image


def check(face: Detection, place: tuple[Floats, Floats], scale: float, near: float = 0.05) -> None:
    box, points = ((each + 0.5) * scale - 0.5 for each in place)
    np.testing.assert_allclose(face.box, box, atol=near)
    np.testing.assert_allclose(face.points, points, atol=near)
    assert face.points.shape == (5, 2)
    assert face.points.dtype == np.float32
    assert face.score == pytest.approx(1 / (1 + np.exp(-twins.answer()[0])), abs=1e-3)


def grid_session(size: int, faces: dict[int, list[int]], script: tuple[Step, ...] = ()) -> FakeSession:
    """A SCRFD that sees a face of 4 x 4 strides in the numbered cells of the stride."""
    outputs = [spec(f"{kind}_{stride}", 2 * (size // stride) ** 2, width) for kind, width in WIDTHS.items() for stride in twins.STRIDES]

    def network(feeds: object) -> dict[str, np.ndarray]:
        answer = {output.name: np.zeros(output.shape, np.float32) for output in outputs}
        for stride, cells in faces.items():
            for cell in cells:
                answer[f"score_{stride}"][2 * cell] = 0.9
                answer[f"bbox_{stride}"][2 * cell] = 2
        return answer

    return FakeSession([spec("input.1", 1, 3, size, size)], outputs, network, script)
