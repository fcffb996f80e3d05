"""Every detector from end to end through its twin: letterbox, network, decoding, and back to the pixels of the picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.convert.fixed import fixed_copies
from realtime.models.detectors.finder import FaceFinder
from realtime.models.detectors.rows import best, suppress
from realtime.models.detectors.select import decoder, face_finder
from realtime.types import Detection, Floats, Image
from tests.models.conftest import OpenTwin
from tests.twins import detectors as twins
from tests.twins.half import halved

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


@pytest.mark.parametrize("build", [lambda: twins.scrfd_twin(size=(640, 360)), lambda: twins.yolo_raw_twin(size=(100, 640))])
def test_a_side_that_the_grids_do_not_fill_is_one_sentence(build: Callable[[], Any], open_twin: OpenTwin) -> None:
    with pytest.raises(ModelError, match=r"^A face detector takes a picture with height and width a multiple of 32 pixels, .*\.$"):
        face_finder([open_twin(build())], "file.onnx")


def test_a_network_of_whole_numbers_is_one_sentence() -> None:
    session = grid_session(320, {})
    bytes_ = FakeSession([spec("x", 1, 3, 320, 320, dtype=np.uint8)], session.specs.outputs)
    with pytest.raises(ModelError, match=r"expected \(1, 3, height, width\) of floats, got x .*uint8"):
        face_finder([bytes_], "file.onnx")


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


@pytest.mark.parametrize("build", [twins.scrfd_twin, lambda: twins.retinaface_twin(size=None), lambda: twins.yolo_raw_twin(size=None)])
def test_a_file_of_open_size_gets_a_copy_for_each_size(build: Callable[[], Any], open_twin: OpenTwin, tmp_path: Path) -> None:
    path = tmp_path / "det.onnx"
    onnx.save(build(), path)
    copies = fixed_copies(path, (640, 320), tmp_path / "sized")
    assert [copy.parent.name for copy in copies] == ["sized"] * 2
    before = [copy.stat().st_mtime_ns for copy in copies]
    assert fixed_copies(path, (640, 320), tmp_path / "sized") == copies
    assert [copy.stat().st_mtime_ns for copy in copies] == before
    sessions = [open_twin(onnx.load(str(copy))) for copy in copies]
    assert [session.specs.inputs[0].shape for session in sessions] == [(1, 3, 640, 640), (1, 3, 320, 320)]
    found = face_finder(sessions, "det.onnx").detect(frame(640, 640, [(4, 4)], 640))
    assert len(found) == 1


def test_only_the_open_side_is_written_down(open_twin: OpenTwin, tmp_path: Path) -> None:
    model = twins.scrfd_twin(size=(384, 640))
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "width"
    onnx.save(model, tmp_path / "det.onnx")
    (copy,) = fixed_copies(tmp_path / "det.onnx", (320,), tmp_path / "sized")
    session = open_twin(onnx.load(str(copy)))
    assert session.specs.inputs[0].shape == (1, 3, 384, 320)
    assert len(face_finder([session], "det.onnx").detect(frame(320, 320, [(4, 4)], 320))) == 1


def test_a_file_of_fixed_size_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "det.onnx"
    onnx.save(twins.yolo_twin(), path)
    assert fixed_copies(path, (640, 320), tmp_path / "sized") == (path,)
    assert not (tmp_path / "sized").exists()


def test_what_is_no_network_for_pictures_is_one_sentence(tmp_path: Path) -> None:
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"junk")
    with pytest.raises(ModelError, match=r"^junk.onnx is no ONNX file, .*\.$"):
        fixed_copies(junk, (640,), tmp_path)
    from tests.twins.recognisers import converter_twin

    onnx.save(converter_twin(), junk)
    with pytest.raises(ModelError, match=r"^junk.onnx takes something else than one picture: .*\.$"):
        fixed_copies(junk, (640,), tmp_path)
    with pytest.raises(ModelError, match=r"cannot be read .*\.$"):
        fixed_copies(tmp_path / "none.onnx", (640,), tmp_path)


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


WIDTHS = {"score": 1, "bbox": 4, "kps": 10}


def test_scrfd_by_hand() -> None:
    """Cell 43 of a 20 x 20 grid of 16 pixels is column 3, row 2; its anchors are centred at (48, 32)."""
    session = grid_session(320, {16: [43]})
    (row,) = decoder(session, "x").decode(session.run(), 0.6)
    assert row.tolist() == [16, 0, 64, 64, np.float32(0.9), *([48, 32] * 5)]


@settings(max_examples=30)
@given(st.integers(161, 2000), st.integers(40, 2000), st.integers(0, 19), st.integers(0, 19))
def test_any_size_of_picture_is_fitted_and_undone(width: int, height: int, column: int, row: int) -> None:
    """Corners of the input's used part are corners of the picture, whatever rounding did to the shrunk size."""
    session = grid_session(320, {16: [row * 20 + column]})
    finder = face_finder([session], "x", adaptive=True)
    (face, *_) = finder.detect(np.zeros((height, width, 3), np.uint8))
    shrunk = [max(round(side * 320 / max(width, height)), 1) for side in (width, height)]
    scale = np.array([width, height]) / shrunk
    low, high = (np.array([column, row]) * 16 - 32 + 0.5) * scale - 0.5, (np.array([column, row]) * 16 + 32 + 0.5) * scale - 0.5
    np.testing.assert_allclose(face.box, [*low, *high], rtol=1e-4, atol=1e-2)


def test_of_overlapping_faces_the_best_stays() -> None:
    """Squares of 64 pixels, 16 apart: they share 3/5 of what they cover."""
    session = grid_session(320, {16: [100, 101]})
    candidates = best(decoder(session, "x").decode(session.run(), 0.6))
    assert len(candidates) == 2
    assert len(suppress(candidates, 0.4)) == 1
    assert len(suppress(candidates, 0.61)) == 2


def test_scores_that_are_not_numbers_are_one_sentence() -> None:
    finder = face_finder([grid_session(320, {}, (Step(nan=True),))], "x")
    with pytest.raises(ModelError, match=r"^SCRFD gives something else than numbers: .*\.$"):
        finder.detect(np.zeros((320, 320, 3), np.uint8))


@pytest.mark.parametrize("build", [twins.retinaface_twin, twins.yolo_twin, twins.yolo_raw_twin, twins.yolo5_twin])
def test_so_are_those_of_the_others(build: Callable[[], Any], open_twin: OpenTwin) -> None:
    session = open_twin(build())
    finder = face_finder([session], "x")
    picture = np.zeros((64, 64, 3), np.uint8)
    assert finder.detect(picture) == []
    broken = {name: np.full_like(value, np.nan) for name, value in session.run().items()}
    stuck = FakeSession(session.specs.inputs, session.specs.outputs, lambda feeds: broken)
    with pytest.raises(ModelError, match="something else than numbers"):
        face_finder([stuck], "x").detect(picture)


def looks(finder: FaceFinder, large: FakeSession, small: FakeSession, image: Image) -> tuple[int, int]:
    before = large.runs, small.runs
    finder.detect(image)
    return large.runs - before[0], small.runs - before[1]


HD = np.zeros((720, 1280, 3), np.uint8)


def test_a_network_that_misses_large_faces_looks_at_full_and_half_and_in_vain_at_a_quarter() -> None:
    large, small = grid_session(640, {}), grid_session(320, {})
    assert looks(face_finder([large, small], "x"), large, small, HD) == (1, 2)
    alone = grid_session(640, {})
    face_finder([alone], "x").detect(HD)
    assert alone.runs == 3


def test_a_network_that_finds_large_faces_looks_again_only_when_thorough() -> None:
    session = FakeSession([spec("images", 1, 3, 640, 640)], [spec("output0", 1, 20, 8400)])
    face_finder([session], "x").detect(HD)
    assert session.runs == 1
    face_finder([session], "x", thorough=True).detect(HD)
    assert session.runs == 4


def filled(size: int, runs: int = 1000) -> FakeSession:
    """A SCRFD that sees a face of 8 x 8 strides of 32 pixels in the middle of the picture, for so many runs."""
    session = grid_session(size, {})
    cell = 2 * ((size // 32) // 2 * (size // 32) + (size // 32) // 2)
    scores = iter([0.8] * runs)

    def network(feeds: object) -> dict[str, np.ndarray]:
        answer = {output.name: np.zeros(output.shape, np.float32) for output in session.specs.outputs}
        answer["score_32"][cell], answer["bbox_32"][cell] = next(scores, 0), 4
        return answer

    return FakeSession(session.specs.inputs, session.specs.outputs, network)


def test_a_face_in_the_background_does_not_hide_the_one_that_fills_the_picture() -> None:
    """At full size only the small one is seen, at half size both; each is reported once, the best first."""
    large, small = grid_session(640, {16: [100]}), filled(320)
    found = face_finder([large, small], "x").detect(HD)
    assert [round(max(face.box.width, face.box.height)) for face in found] == [128, 1024]
    assert len(face_finder([filled(640), grid_session(320, {})], "x").detect(HD)) == 1
    both = face_finder([grid_session(640, {16: [44]}), grid_session(320, {8: [44]})], "x").detect(HD)
    assert len(both) == 1


def test_a_face_that_fills_the_picture_is_looked_for_at_the_smaller_size_from_then_on() -> None:
    """256 pixels of 320: at full size it would measure 512, and SCRFD misses faces above 256."""
    large, small = grid_session(640, {}), filled(320)
    finder = face_finder([large, small], "x", adaptive=True)
    assert looks(finder, large, small, HD) == (1, 1)
    assert looks(finder, large, small, HD) == (0, 1)
    other = np.zeros((720, 1000, 3), np.uint8)
    assert looks(finder, large, small, other) == (1, 1)  # another picture: nothing is known of it
    assert looks(finder, large, small, HD) == (0, 1)  # of this one it still is
    steady = face_finder([large, small], "x")
    assert looks(steady, large, small, HD) == looks(steady, large, small, HD) == (1, 1)


def test_a_small_face_keeps_the_large_input() -> None:
    large, small = grid_session(640, {16: [100]}), grid_session(320, {})
    finder = face_finder([large, small], "x", adaptive=True)
    assert looks(finder, large, small, HD) == looks(finder, large, small, HD) == (1, 1)


def test_when_the_large_face_is_gone_all_sizes_are_tried_and_the_full_one_comes_first_again() -> None:
    large, small = grid_session(640, {}), filled(320, runs=1)
    finder = face_finder([large, small], "x", adaptive=True)
    assert looks(finder, large, small, HD) == (1, 1)
    assert looks(finder, large, small, HD) == (1, 2)
    assert looks(finder, large, small, HD) == (1, 2)


def test_a_small_picture_is_not_blown_up_to_the_large_input() -> None:
    tiny = np.zeros((200, 300, 3), np.uint8)
    large, small = grid_session(640, {}), grid_session(320, {})
    assert looks(face_finder([large, small], "x", adaptive=True), large, small, tiny) == (0, 2)
    assert looks(face_finder([large, small], "x"), large, small, tiny) == (1, 2)


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
    with pytest.raises(ModelError, match=r"^what.onnx is no face detector that this program knows .*: name a file of .*\.$"):
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
    with pytest.raises(ModelError, match=r"^[^.]+\.?.*\.$"):
        face_finder([FakeSession([spec("x", 1, 3, size, size)], outputs)], "what.onnx")
