"""Whole frames enlarged tile by tile, on twins whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from realtime.backends.fake import FakeSession, spec
from realtime.backends.select import open_session
from realtime.errors import ModelError
from realtime.models.catalog import MODELS
from realtime.models.convert import convert
from realtime.models.enhancers.frame import FrameEnlarger
from realtime.sources.fake import FakeSource, frames
from realtime.sources.transform import Transformed
from realtime.types import Image
from tests.models.conftest import OpenTwin
from tests.twins.enhancers import enlarged, frame_twin


def picture(height: int, width: int) -> Image:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize(("height", "width", "factor"), [(100, 170, 2), (64, 32, 4), (32, 33, 2), (5, 7, 2)])
def test_every_pixel_comes_from_its_own_tile(height: int, width: int, factor: int, open_twin: OpenTwin) -> None:
    enlarger = FrameEnlarger(open_twin(frame_twin(factor, 64)))
    image, out = picture(height, width), np.zeros((height * factor, width * factor, 3), np.uint8)
    enlarger.enlarge(image, out)
    assert enlarger.factor == factor
    np.testing.assert_array_equal(out, enlarged(image, factor))


def test_a_file_of_open_sides_is_given_the_tiles_size(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(convert(MODELS["real_esrgan_x2"], frame_twin(2).SerializeToString()))
    shape = [dim.dim_value for dim in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    assert shape == [1, 3, 256, 256]
    with open_session(path, "onnxruntime") as session:
        assert FrameEnlarger(session).factor == 2


@pytest.mark.parametrize(
    ("taken", "given"), [((1, 3, 64, 64), (1, 3, 64, 64)), ((1, 3, 64, 64), (1, 3, 100, 100)), ((1, 64, 64, 3), (1, 3, 128, 128))]
)
def test_another_network_is_refused(taken: tuple[int, ...], given: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"^what enlarges frames .*: name another file"):
        FrameEnlarger(FakeSession([spec("input", *taken)], [spec("output", *given)]))


def test_what_is_no_number_ends_it() -> None:
    nothing = np.full((1, 3, 128, 128), np.nan, np.float32)
    session = FakeSession([spec("input", 1, 3, 64, 64)], [spec("output", 1, 3, 128, 128)], lambda fed: {"output": nothing})
    with pytest.raises(ModelError, match="gives no picture"):
        FrameEnlarger(session).enlarge(picture(8, 8), np.zeros((16, 16, 3), np.uint8))


@pytest.mark.parametrize("live", [False, True])
def test_frames_of_files_are_enlarged_and_a_cameras_are_not(live: bool) -> None:
    transformed = Transformed(FakeSource(frames(1), live=live), mirror=True)
    transformed.enlarge_by(2, lambda image, out: np.copyto(out, image.repeat(2, 0).repeat(2, 1)))
    info, frame = transformed.open(), transformed.read(1.0)
    assert frame is not None
    assert (info.width, info.height) == ((64, 48) if live else (128, 96))
    assert frame.image.shape[:2] == (info.height, info.width)
