"""Every detector from end to end through its twin: letterbox, network, decoding, and back to the picture's pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from realtime.backends.fake import FakeSession
from realtime.errors import ModelError
from realtime.models.detectors.select import face_finder
from tests.models.conftest import OpenTwin
from tests.models.gridded import KINDS, STRIDE, WIDE, check, frame
from tests.twins import detectors as twins
from tests.twins.half import halved


@pytest.mark.parametrize("kind", KINDS)
def test_faces_come_out_where_they_are_in_the_picture(kind: str, open_twin: OpenTwin) -> None:
    build, name, size, place = KINDS[kind]
    finder = face_finder([open_twin(build())], "file.onnx")
    assert finder.name == name
    for width, height in ((size, size), (2 * size, size), (size, 2 * size), (4 * size, 2 * size)):
        scale = max(width, height) / size
        cells = [(4, 3), (width * 16 // max(width, height) - 2, 8)]
        found = sorted(finder.detect(frame(width, height, cells, size)), key=lambda face: face.box.y0)
        assert len(found) == 2
        for face, cell in zip(found, cells, strict=True):
            check(face, place(*cell), scale)


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize(("height", "width"), [(384, 640), (640, 352)])
def test_inputs_need_not_be_square(kind: str, height: int, width: int, open_twin: OpenTwin) -> None:
    """Pictures of the input's proportions fill it, others as much of it as they can."""
    build, place = WIDE[kind]
    finder = face_finder([open_twin(build(height, width))], "file.onnx")
    last = (width // STRIDE - 2, height // STRIDE - 2)
    for shape in ((height, width), (2 * height, 2 * width), (2 * height, width), (height, 2 * width)):
        image, scale = np.zeros((*shape, 3), np.uint8), max(shape[0] / height, shape[1] / width)
        for column, row in ((3, 4), last):
            x, y, step = round(column * STRIDE * scale), round(row * STRIDE * scale), round(STRIDE * scale)
            image[y : y + step, x : x + step] = twins.SKIN[::-1]
        found = sorted(finder.detect(image), key=lambda face: face.box.y0)
        inside = [cell for cell in ((3, 4), last) if (np.array(cell) * STRIDE * scale < shape[::-1]).all()]
        assert len(found) == len(inside) >= 1
        for face, cell in zip(found, inside, strict=True):
            check(face, place(*cell), scale)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_goes_in_and_out(kind: str, open_twin: OpenTwin) -> None:
    """Half a pixel off at most: numbers above 512 have no finer steps than that."""
    build, _, size, place = KINDS[kind]
    finder = face_finder([open_twin(halved(build()))], "file.onnx")
    low, high = sorted(finder.detect(frame(size, size, [(4, 3), (14, 8)], size)), key=lambda face: face.box.y0)
    check(low, place(4, 3), 1, near=0.5)
    check(high, place(14, 8), 1, near=0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_face_cut_by_the_border_reaches_beyond_it(kind: str, open_twin: OpenTwin) -> None:
    """The corner cells: the box is not clipped, because what is cut off is part of the face."""
    build, _, size, place = KINDS[kind]
    last = size // STRIDE - 1
    finder = face_finder([open_twin(build())], "file.onnx")
    low, high = sorted(finder.detect(frame(size, size, [(0, 0), (last, last)], size)), key=lambda face: face.box.x0)
    check(low, place(0, 0), 1)
    check(high, place(last, last), 1)
    assert low.box.x0 < 0 and low.box.y0 < 0
    assert high.box.x1 > size and high.box.y1 > size


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_too_small_or_of_another_colour_is_left_out(kind: str, open_twin: OpenTwin) -> None:
    build, _, size, place = KINDS[kind]
    session = open_twin(build())
    image = frame(size, size, [(4, 4)], size)
    box, _ = place(4, 4)
    side = float(min(box[2:] - box[:2]))
    assert face_finder([session], "file.onnx", min_face=side + 1).detect(image) == []
    assert len(face_finder([session], "file.onnx", min_face=side - 1).detect(image)) == 1
    assert face_finder([session], "file.onnx").detect(np.ascontiguousarray(image[:, :, ::-1])) == []


@pytest.mark.parametrize("build", [twins.retinaface_twin, twins.yolo_twin, twins.yolo_raw_twin, twins.yolo5_twin])
def test_answers_that_are_not_numbers_are_one_sentence(build: Callable[[], Any], open_twin: OpenTwin) -> None:
    session = open_twin(build())
    finder = face_finder([session], "x")
    picture = np.zeros((64, 64, 3), np.uint8)
    assert finder.detect(picture) == []
    broken = {name: np.full_like(value, np.nan) for name, value in session.run().items()}
    stuck = FakeSession(session.specs.inputs, session.specs.outputs, lambda feeds: broken)
    with pytest.raises(ModelError, match="something else than numbers"):
        face_finder([stuck], "x").detect(picture)
