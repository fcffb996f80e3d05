"""Which contract a file keeps, told by what it takes and by its name."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from realtime.errors import ModelError, RealtimeError, UsageError
from realtime.models.catalog import MODELS
from realtime.models.peek import Peek
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.recognise import emap_of, has_half_weights, recognise
from realtime.models.swappers.select import terms
from tests.models.swappers import scene
from tests.twins.detectors import retinaface_twin, scrfd_twin, yolo5_twin, yolo_twin, yunet_twin
from tests.twins.recognisers import arcface_twin, converter_twin
from tests.twins.swappers import TWINS, dfm_twin, emap, generator_twin, twin

BY_SHAPE = {"inswapper_128": "inswapper", "simswap_unofficial_512": "simswap_512", "uniface_256": "uniface", "blendswap_256": "blendswap"}


def _contract(path: Path, named: str | None = None) -> str:
    return recognise(path, Peek(path), named).name


@pytest.mark.parametrize("name", TWINS)
def test_the_published_files_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    contract = _contract(scene.save(tmp_path, f"{name}.onnx", twin(name)))
    assert contract == {"simswap_unofficial_512": "simswap_512"}.get(name, name.split("_")[0])


@pytest.mark.parametrize(("name", "contract"), BY_SHAPE.items())
def test_inputs_alone_tell_most(tmp_path: Path, name: str, contract: str) -> None:
    assert _contract(scene.save(tmp_path, "x.onnx", twin(name))) == contract


def test_dfm_and_generators_are_told_by_their_inputs(tmp_path: Path) -> None:
    assert _contract(scene.save(tmp_path, "x.onnx", dfm_twin())) == "dfm"
    assert _contract(scene.save(tmp_path, "y.onnx", generator_twin())) == "latent"


def test_what_could_be_several_is_asked_for(tmp_path: Path) -> None:
    path = scene.save(tmp_path, "x.onnx", twin("ghost_1_256"))
    with pytest.raises(UsageError, match=r"x\.onnx could be any of hyperswap, ghost, simswap, hififace, .* --swap-contract"):
        _contract(path)
    assert _contract(path, "simswap") == "simswap"


def test_a_name_does_not_outweigh_the_inputs(tmp_path: Path) -> None:
    assert _contract(scene.save(tmp_path, "ghost_mine.onnx", twin("inswapper_128"))) == "inswapper"
    with pytest.raises(ModelError, match=re.escape("no ghost network, for it takes target (1, 3, 128, 128), source (1, 512)")):
        _contract(scene.save(tmp_path, "x.onnx", twin("inswapper_128")), "ghost")


@pytest.mark.parametrize(
    ("network", "seems"),
    [
        (scrfd_twin(), "it looks like a face detector, which --detector takes"),
        (retinaface_twin(), "it looks like a face detector, which --detector takes"),
        (yunet_twin(), "it looks like a face detector, which --detector takes"),
        (yolo_twin(), "it looks like a face detector, which --detector takes"),
        (yolo5_twin(), "it looks like a face detector, which --detector takes"),
        (arcface_twin(), "it looks like a face recogniser, which --recogniser takes"),
        (converter_twin(), "name the .onnx or .dfm file of one"),
    ],
)
def test_what_another_network_looks_like_is_told(tmp_path: Path, network: Any, seems: str) -> None:
    with pytest.raises(ModelError, match=rf"^x\.onnx is no swap network that this program knows, for it takes .*: {seems}$") as caught:
        _contract(scene.save(tmp_path, "x.onnx", network))
    assert caught.value.exit_code == 2 and "(0" not in str(caught.value) and " 0," not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "licence"),
    [
        ("simswap", "CC-BY-NC-4.0; it forbids commercial use"),
        ("ghost", "Apache-2.0"),
        ("hyperswap", "ResearchRAIL; it forbids every use but research"),
    ],
)
def test_the_licence_told_is_the_catalogues(tmp_path: Path, kind: str, licence: str) -> None:
    path = scene.save(tmp_path, "x.onnx", twin("ghost_1_256"))
    assert terms(path, kind) == f"x.onnx is a network of the kind {kind}: the licence of the published weights is {licence}"


def test_every_kind_has_a_licence() -> None:
    published = {row.contract for row in MODELS.values() if row.role == "swapper"}
    assert all(bool(contract.licence) != (contract.name in published) for contract in CONTRACTS.values())


def test_other_networks_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no swap network that this program knows"):
        _contract(scene.save(tmp_path, "x.onnx", arcface_twin()))
    for content in (b"", b"\x00" * 100, b"not a model at all", twin("inswapper_128").SerializeToString()[:-1000]):
        (tmp_path / "y.onnx").write_bytes(content)
        with pytest.raises(ModelError, match=r"y\.onnx is no ONNX file, or a truncated one: get it anew"):
            Peek(tmp_path / "y.onnx")
    with pytest.raises(ModelError, match="cannot be read"):
        Peek(tmp_path / "gone.onnx")


MODEL = twin("inswapper_128")
del MODEL.graph.initializer[:]
MODEL.graph.initializer.append(numpy_helper.from_array(emap()[:4], "buff2fs"))
SMALL = MODEL.SerializeToString()


@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=8), st.integers(0, len(SMALL)))
def test_damaged_files_are_understood_or_refused_in_a_sentence(changes: list[tuple[int, int]], length: int) -> None:
    content = bytearray(SMALL)
    for at, value in changes:
        content[at] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.onnx"
        path.write_bytes(content[:length] if length % 3 else content)
        try:
            peek = Peek(path)
            recognise(path, peek)
            emap_of(path, peek)
        except RealtimeError as error:
            assert "\n" not in str(error)


def test_a_peek_sees_what_loading_the_file_shows(tmp_path: Path) -> None:
    model = twin("inswapper_128_fp16")
    peek = Peek(scene.save(tmp_path, "x.onnx", model))
    assert list(peek.network.graph.input) == list(model.graph.input)
    assert list(peek.network.graph.output) == list(model.graph.output)
    assert list(peek.weights) == [weight.name for weight in model.graph.initializer]
    for weight in model.graph.initializer:
        np.testing.assert_array_equal(peek.weight(weight.name), numpy_helper.to_array(weight))
    assert has_half_weights(peek)
    assert not has_half_weights(Peek(scene.save(tmp_path, "y.onnx", twin("inswapper_128"))))


def test_the_emap_is_taken_by_name_else_the_last_weight(tmp_path: Path) -> None:
    named, last = (scene.save(tmp_path, f"{name}.onnx", twin(name)) for name in ("inswapper_128_fp16", "inswapper_128"))
    np.testing.assert_allclose(emap_of(named, Peek(named)), emap(), atol=1e-3)
    np.testing.assert_array_equal(emap_of(last, Peek(last)), emap())
    model = onnx.load(named)
    model.graph.initializer.insert(0, model.graph.initializer.pop())
    moved = scene.save(tmp_path, "moved.onnx", model)
    np.testing.assert_allclose(emap_of(moved, Peek(moved)), emap(), atol=1e-3)
    del model.graph.initializer[0]
    simplified = scene.save(tmp_path, "simplified.onnx", model)
    with pytest.raises(ModelError, match=r"simplified\.onnx lacks the 512 x 512 matrix"):
        emap_of(simplified, Peek(simplified))
