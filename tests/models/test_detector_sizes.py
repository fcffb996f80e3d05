"""The sizes that detectors look at: files of open and fixed size, pictures of any size, and faces that fill them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.backends.fake import FakeSession, spec
from realtime.errors import ModelError
from realtime.models.convert.fixed import fixed_copies
from realtime.models.detectors.finder import FaceFinder
from realtime.models.detectors.select import face_finder
from realtime.types import Image
from tests.models.conftest import OpenTwin
from tests.models.gridded import frame, grid_session
from tests.twins import detectors as twins


@pytest.mark.parametrize("build", [lambda: twins.scrfd_twin(size=(640, 360)), lambda: twins.yolo_raw_twin(size=(100, 640))])
def test_a_side_that_the_grids_do_not_fill_is_one_sentence(build: Callable[[], Any], open_twin: OpenTwin) -> None:
    with pytest.raises(ModelError, match=r"^a face detector takes a picture with height and width a multiple of 32 pixels, .*$"):
        face_finder([open_twin(build())], "file.onnx")


def test_a_network_of_whole_numbers_is_one_sentence() -> None:
    session = grid_session(320, {})
    bytes_ = FakeSession([spec("x", 1, 3, 320, 320, dtype=np.uint8)], session.specs.outputs)
    with pytest.raises(ModelError, match=r"expected \(1, 3, height, width\) of floats, got x .*uint8"):
        face_finder([bytes_], "file.onnx")


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


def test_a_copy_that_another_run_has_made_meanwhile_and_reads_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows replaces no file that is open."""

    def refused(temporary: Path, target: Path) -> None:
        target.write_bytes(temporary.read_bytes())
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")

    onnx.save(twins.scrfd_twin(), tmp_path / "det.onnx")
    monkeypatch.setattr(Path, "replace", refused)
    (copy,) = fixed_copies(tmp_path / "det.onnx", (320,), tmp_path / "sized")
    assert copy.is_file() and [each.name for each in copy.parent.iterdir()] == [copy.name]


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
    with pytest.raises(ModelError, match=r"^junk.onnx is no ONNX file, .*$"):
        fixed_copies(junk, (640,), tmp_path)
    from tests.twins.recognisers import converter_twin

    onnx.save(converter_twin(), junk)
    with pytest.raises(ModelError, match=r"^junk.onnx takes something else than one picture: .*$"):
        fixed_copies(junk, (640,), tmp_path)
    with pytest.raises(ModelError, match=r"cannot be read .*$"):
        fixed_copies(tmp_path / "none.onnx", (640,), tmp_path)


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
