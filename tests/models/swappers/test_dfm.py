"""A DFM file's twin through the whole path."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.errors import ModelError
from realtime.models.swappers.select import SwapOptions, open_swapper
from tests.models.swappers import scene
from tests.twins.swappers import DFM_SIZE, dfm_known, dfm_masks, dfm_twin, twin

TEMPLATE = np.array(
    [[0.35342266, 0.39285716], [0.62797622, 0.39285716], [0.48660713, 0.5401786], [0.38839287, 0.68750011], [0.59821427, 0.68750011]]
)
TARGET = "p010_studio"


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(("morphs", "morph"), [(True, 0.25), (True, 1.0), (False, 0.3)])
def test_the_twin_comes_out_as_its_function_says(tmp_path: Path, backend: str, morphs: bool, morph: float) -> None:
    path = scene.save(tmp_path, "somebody.dfm", dfm_twin(morphs=morphs))
    swapper = open_swapper(path, SwapOptions(morph=morph), scene.surroundings(tmp_path, backend))
    image, points = scene.picture(TARGET)
    swapper.use(swapper.fit([]))
    patch = swapper.swap(image, scene.face(points))
    out = scene.shown(image, patch)
    to_crop = scene.similarity(scene.five(points), TEMPLATE * DFM_SIZE)
    face = cv2.warpAffine(image, to_crop, (DFM_SIZE, DFM_SIZE)) / 255
    planes = dfm_known(face, morph)[..., ::-1].transpose(2, 0, 1)[None]
    both = np.minimum(*dfm_masks())
    middle = cv2.erode(both, np.ones((25, 25), np.uint8))
    expected = scene.pasted(image, points, TEMPLATE * DFM_SIZE, planes, middle)
    inside = cv2.warpAffine(middle, to_crop, image.shape[1::-1], flags=cv2.WARP_INVERSE_MAP) > 0.99
    outside = cv2.warpAffine(cv2.dilate(both, np.ones((15, 15), np.uint8)), to_crop, image.shape[1::-1], flags=cv2.WARP_INVERSE_MAP) == 0
    assert inside.sum() > 5000
    assert np.abs(out - expected)[inside].mean() < 1.5
    np.testing.assert_array_equal(out[outside], image[outside])
    assert swapper.name == "somebody"


def test_another_network_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = scene.save(tmp_path, "wrong.dfm", twin("inswapper_128"))
    with pytest.raises(ModelError, match=r"wrong\.dfm is no dfm network, for it takes target"):
        open_swapper(path, SwapOptions(contract="dfm"), scene.surroundings(tmp_path))
