"""Every planar swap network's twin through the whole path: align, run, paste."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.models.peek import Peek
from realtime.models.swappers.aligned import FADE, INSET
from realtime.models.swappers.recognise import recognise
from realtime.models.swappers.select import SwapOptions, open_swapper
from realtime.types import Array, Floats
from realtime.vision.crops import soft_box
from tests.models.swappers import scene
from tests.twins import recognisers
from tests.twins.swappers import DISTINCT, TWINS, emap, known, twin

# As facefusion lists them, in shares of the crop's side; here again so that a slip in the program's own shows.
TEMPLATES = {
    "arcface_112_v1": [
        [0.35473214, 0.45658929], [0.64526786, 0.45658929], [0.5, 0.61154464], [0.37913393, 0.776875], [0.62086607, 0.776875],
    ],
    "arcface_112_v2": [
        [0.34191607, 0.46157411], [0.65653393, 0.45983393], [0.500225, 0.64050536], [0.37097589, 0.82469196], [0.63151696, 0.82325089],
    ],
    "arcface_128": [
        [0.36167656, 0.40387734], [0.63696719, 0.40235469], [0.50019687, 0.56044219], [0.38710391, 0.72160547], [0.61507734, 0.72034453],
    ],
    "ffhq_512": [
        [0.37691676, 0.46864664], [0.62285697, 0.46912813], [0.50123859, 0.61331904], [0.39308822, 0.725411], [0.61150205, 0.72490465],
    ],
    "mtcnn_512": [
        [0.36562865, 0.46733799], [0.63305391, 0.46585885], [0.50019127, 0.61942959], [0.39032951, 0.77598822], [0.61178945, 0.77476328],
    ],
}  # fmt: skip
CROP = {
    "inswapper": "arcface_128", "hyperswap": "arcface_128", "ghost": "arcface_112_v1", "simswap": "arcface_112_v1", "hififace": "mtcnn_512",
    "uniface": "ffhq_512", "blendswap": "ffhq_512",
}  # fmt: skip
SOURCE, TARGET = "p001_studio", "p006_studio"


def _template(name: str, size: int) -> Array:
    return np.array(TEMPLATES[name]) * size


def _source(name: str) -> Floats:
    """What the network must be fed for the source photo."""
    image, points = scene.picture(SOURCE)
    kind = name.split("_")[0]
    if kind in ("uniface", "blendswap"):
        template, size = ("ffhq_512", 256) if kind == "uniface" else ("arcface_112_v2", 112)
        return scene.planes(image, points, _template(template, size), size)
    raw = recognisers.embedding_of(scene.planes(image, points, _template("arcface_112_v2", 112), 112)[0] * 2 - 1)
    if kind in ("ghost", "simswap", "hififace"):
        raw = recognisers.converted(raw)
    raw = raw @ emap() if kind == "inswapper" else raw
    return raw if kind == "ghost" else raw / np.linalg.norm(raw)


def _expected(name: str, size: int) -> Array:
    quirks, (image, points) = TWINS[name], scene.picture(TARGET)
    mean, std = (np.array(each, np.float32).reshape(1, 3, 1, 1) for each in quirks.normal)
    template = _template(CROP[name.split("_")[0]], size)
    face, steps = scene.planes(image, points, template, size), size // quirks.size
    out = np.empty_like(face)
    for row in range(steps):
        for column in range(steps):
            part = known(name, (face[:, :, row::steps, column::steps] - mean) / std, _source(name))
            out[:, :, row::steps, column::steps] = part * std + mean if quirks.denormalise else part
    return scene.pasted(image, points, template, out, soft_box(size, FADE, INSET) / 255)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("networks")
    scene.companions(made)
    for name in TWINS:
        scene.save(made, f"{name}.onnx", twin(name))
    return made


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("name", DISTINCT)
def test_a_twin_comes_out_as_its_function_says(folder: Path, backend: str, name: str) -> None:
    _compare(folder, name, backend, None)


@pytest.mark.parametrize("size", [256, 512])
@pytest.mark.parametrize("name", ["inswapper_128", "inswapper_128_fp16"])
def test_several_passes_make_a_larger_face(folder: Path, name: str, size: int) -> None:
    _compare(folder, name, "onnxruntime", size)


@pytest.mark.parametrize(
    ("name", "asked", "passes"),
    [
        ("inswapper_128", {}, 2),
        ("inswapper_128", {"size": 128}, 1),
        ("inswapper_128", {"size": 512}, 4),
        ("ghost_1_256", {}, 1),
        ("simswap_unofficial_512", {}, 1),
    ],
)
def test_a_profile_brings_smaller_networks_to_a_size_and_an_option_overrides_it(
    folder: Path, name: str, asked: dict[str, int], passes: int
) -> None:
    options = SwapOptions(least=256, **asked)
    assert open_swapper(folder / f"{name}.onnx", options, scene.surroundings(folder)).passes == passes


def _compare(folder: Path, name: str, backend: str, size: int | None) -> None:
    swapper = open_swapper(folder / f"{name}.onnx", SwapOptions(size=size), scene.surroundings(folder, backend))
    image, points = scene.picture(TARGET)
    before = image.copy()
    swapper.use(swapper.fit([scene.photo(SOURCE)]))
    out = scene.shown(image, swapper.swap(image, scene.face(points)))
    np.testing.assert_array_equal(image, before)
    off = np.abs(out - _expected(name, size or TWINS[name].size))
    changed = np.abs(out.astype(int) - before).max(2) > 0
    assert off.mean() < 0.3 and off.max() < 8
    assert off[changed].mean() < 1.5
    assert np.abs(out.astype(int) - before)[changed].mean() > 20


@pytest.mark.parametrize("name", DISTINCT)
def test_means_and_deviations_are_those_of_the_published_networks(folder: Path, name: str) -> None:
    """Deviations that differ by half a percent do not show in a picture."""
    path = folder / f"{name}.onnx"
    contract = recognise(path, Peek(path))
    assert (contract.mean, contract.std) == TWINS[name].normal
