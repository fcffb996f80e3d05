"""Detectors around a pretended network: numbers decoded by hand, and networks that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.detectors.rows import best, suppress
from realtime.models.detectors.select import decoder, face_finder
from tests.models.gridded import WIDTHS, grid_session


def test_scrfd_by_hand() -> None:
    """Cell 43 of a 20 x 20 grid of 16 pixels is column 3, row 2; its anchors are centred at (48, 32)."""
    session = grid_session(320, {16: [43]})
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    assert row.tolist() == [16, 0, 64, 64, np.float32(0.9), *([48, 32] * 5)]


def one_answer(shapes: Sequence[tuple[int, ...]], *numbers: tuple[int, tuple[Any, ...], tuple[float, ...]]) -> FakeSession:
    """A network for 640 pixels that gives nothing but these numbers: of which output, the place in it, values. Scores of grids are low."""
    outputs = [spec(f"o{index}", *shape) for index, shape in enumerate(shapes)]
    answer = {output.name: np.zeros(output.shape, np.float32) for output in outputs}
    for array in answer.values():
        if array.ndim == 4:
            array[:, 64] = -20
    for index, place, values in numbers:
        answer[f"o{index}"][place] = values
    return FakeSession([spec("x", 1, 3, 640, 640)], outputs, lambda feeds: answer)


RETINA = ((1, 16800, 4), (1, 16800, 2), (1, 16800, 10))
RAW = ((1, 80, 80, 80), (1, 80, 40, 40), (1, 80, 20, 20))


def test_retinaface_by_hand() -> None:
    """Row 12800 is the first of the grid of 16 pixels: a prior of 64 pixels around (8, 8). The face is cut by two borders."""
    session = one_answer(
        RETINA,
        (0, (0, 12800), (1, -0.5, 0, np.log(2) / 0.2)),  # a tenth of 64 pixels to the right, half of that up; twice as high
        (1, (0,), (1, 0)),
        (1, (0, 12800), (0.1, 0.9)),
        (2, (0, 12800), (0, 0, 5, -2.5, *[0] * 6)),
    )
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    np.testing.assert_allclose(row, [14.4 - 32, 4.8 - 64, 64, 128, 0.9, 8, 8, 40, -8, *[8] * 6], rtol=1e-5)


def test_yolo_8_by_hand() -> None:
    """A table says the middle, the sides, the score and the points, in pixels; the face is cut by two borders."""
    session = one_answer(((1, 20, 8400),), (0, (0, slice(None), 5), (10, 6, 40, 30, 0.9, *(1, 2, 0.5) * 5)))
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    np.testing.assert_allclose(row, [-10, -9, 40, 30, 0.9, *(1, 2) * 5], rtol=1e-5)


def test_yolo_8_as_its_grids_come_by_hand() -> None:
    """Column 1, row 0 of the grid of 32 pixels: 3, 2, 4 and 5 strides from its middle; points in half strides from its corner."""
    bins = np.full((4, 16), -30, np.float32)
    bins[range(4), (3, 2, 4, 5)] = 30
    session = one_answer(RAW, (2, (0, slice(None), 0, 1), (*bins.ravel(), 2, *(0.25, 0.5, 0) * 5)))
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    np.testing.assert_allclose(row, [-48, -48, 224, 224, 1 / (1 + np.exp(-2)), *(48, 32) * 5], rtol=1e-5)


def test_yolo_5_by_hand() -> None:
    """Whether there is anything times whether it is a face; the border cuts off the right."""
    session = one_answer(((1, 25200, 16),), (0, (0, 7), (630, 300, 60, 80, 0.9, *(600, 310) * 5, 0.8)))
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    np.testing.assert_allclose(row, [600, 260, 60, 80, 0.72, *(600, 310) * 5], rtol=1e-5)


def test_of_overlapping_faces_the_best_stays() -> None:
    """Squares of 64 pixels, 16 apart: they share 3/5 of what they cover."""
    session = grid_session(320, {16: [100, 101]})
    candidates = best(decoder(session, "x").decode(session.run(), 0.6))
    assert len(candidates) == 2
    assert len(suppress(candidates, 0.4)) == 1
    assert len(suppress(candidates, 0.61)) == 2


def test_scores_that_are_not_numbers_are_one_sentence() -> None:
    finder = face_finder([grid_session(320, {}, (Step(nan=True),))], "x")
    with pytest.raises(ModelError, match=r"^SCRFD gives something else than numbers: .*$"):
        finder.detect(np.zeros((320, 320, 3), np.uint8))


@pytest.mark.parametrize(
    "outputs",
    [
        [spec("output0", 1, 5, 8400)],  # YOLO-face without points
        [spec(f"{kind}_{stride}", 2 * (640 // stride) ** 2, width) for kind, width in (("s", 1), ("b", 4)) for stride in (8, 16, 32)],
        [spec("683", 1, 512)],
        [],
    ],
)
def test_another_network_is_refused_in_one_sentence(outputs: list[Any]) -> None:
    with pytest.raises(ModelError, match=r"^what.onnx is no face detector that this program knows .*: name a file of .*$"):
        face_finder([FakeSession([spec("x", 1, 3, 640, 640)], outputs)], "what.onnx")


@pytest.mark.parametrize(
    ("size", "outputs"),
    [
        (640, [spec(f"{kind}_{stride}", 7, width) for kind, width in WIDTHS.items() for stride in (8, 16, 32)]),
        (640, [spec("a", 1, 7, 4), spec("b", 1, 7, 2), spec("c", 1, 7, 10)]),
        (640, [spec(f"o{n}", 1, 80, 7, 7) for n in range(3)]),
        (300, [spec("output0", 1, 20, 8400)]),
    ],
)
def test_a_network_of_a_known_kind_and_another_shape_is_refused_too(size: int, outputs: list[Any]) -> None:
    with pytest.raises(ModelError, match=r"(takes|gives|expected) .*[^.]$"):
        face_finder([FakeSession([spec("x", 1, 3, size, size)], outputs)], "what.onnx")
