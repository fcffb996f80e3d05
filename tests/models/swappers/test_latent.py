"""The latent swap's twins through the whole path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.errors import ModelError, UsageError
from realtime.models.swappers.aligned import FADE, INSET
from realtime.models.swappers.select import SwapOptions, open_swapper
from realtime.vision.crops import soft_box
from tests.models.swappers import scene
from tests.models.swappers.test_planar import TEMPLATES
from tests.twins.swappers import DRAWN, drawn, encoded, encoder_twin, generator_twin

FFHQ = np.array(TEMPLATES["ffhq_512"])
SOURCE, TARGET = "p001_studio", "p006_studio"


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("latent")
    scene.save(folder, "my_encoder.onnx", encoder_twin())
    return scene.save(folder, "my_generator.onnx", generator_twin())


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("layers", [(4, 5, 6, 7), (0, 17)])
def test_the_layers_named_come_from_the_source(generator: Path, backend: str, layers: tuple[int, ...]) -> None:
    swapper = open_swapper(generator, SwapOptions(layers=layers), scene.surroundings(generator.parent, backend))
    swapper.use(swapper.fit([scene.photo(SOURCE)]))
    image, points = scene.picture(TARGET)
    out = scene.shown(image, swapper.swap(image, scene.face(points)))
    codes = encoded(scene.planes(image, points, FFHQ * 256, 256) * 2 - 1)
    codes[:, list(layers)] = encoded(scene.planes(*scene.picture(SOURCE), FFHQ * 256, 256) * 2 - 1)[:, list(layers)]
    expected = scene.pasted(image, points, FFHQ * DRAWN, drawn(codes) / 2 + 0.5, soft_box(DRAWN, FADE, INSET) / 255)
    off = np.abs(out - expected)
    assert off.mean() < 0.5 and off.max() < 6
    assert (out != image).mean() > 0.2


def test_what_is_lacking_or_wrong_is_told(generator: Path, tmp_path: Path) -> None:
    alone = scene.save(tmp_path, "alone.onnx", generator_twin())
    with pytest.raises(ModelError, match=r"alone\.onnx also needs the encoder"):
        open_swapper(alone, SwapOptions(), scene.surroundings(tmp_path))
    scene.save(tmp_path, "e4e_encoder.onnx", generator_twin())
    with pytest.raises(ModelError, match="a latent swap goes from"):
        open_swapper(alone, SwapOptions(), scene.surroundings(tmp_path))
    with pytest.raises(UsageError, match="layers 0 to 17"):
        open_swapper(generator, SwapOptions(layers=(18,)), scene.surroundings(tmp_path))
