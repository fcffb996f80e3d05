"""The gate of networks that show faces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.backends.fake import FakeSession, spec
from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.builder import faces
from realtime.builder.contract import TEMPLATES, Contract
from realtime.builder.role import Tools
from realtime.builder.roles import ROLES, Recording
from realtime.builder.run import Plan, WriteScenes, build
from realtime.builder.scenes import Scene
from realtime.builder.table import State
from realtime.errors import BackendError, UsageError
from realtime.models.recognisers.sface import SFace
from realtime.types import Image, Region
from tests.builder.conftest import network
from tests.twins.inswapper import known, known_twin


def test_a_latent_keeps_the_angles_between_faces() -> None:
    random = np.random.default_rng(0)
    people = random.standard_normal((5, 128)).astype(np.float32)
    people /= np.linalg.norm(people, axis=1, keepdims=True)
    longer = np.array([faces.spread(person, 512) for person in people])
    np.testing.assert_allclose(longer @ longer.T, people @ people.T, atol=1e-5)
    np.testing.assert_array_equal(faces.spread(people[0], 128), people[0])
    assert np.linalg.norm(faces.spread(people[0], 16)) == pytest.approx(1, abs=1e-5)


def test_each_face_is_given_another_person(picture: Callable[[str], Image], recogniser: Path) -> None:
    scenes = [_scene(picture(name)) for name in ("p001_studio", "p002_studio", "p005_studio", "p006_studio")]
    with OnnxRuntimeSession(recogniser) as session:
        whose = SFace(session)
        own = [whose.embed(scene.image, scene.points) for scene in scenes]
        given = faces.embeddings(scenes, whose)
    np.testing.assert_array_equal(given, [own[2], own[3], own[0], own[1]])


def _scene(image: Image) -> Scene:
    return Scene(image, Region(256, 256, 380, 0), Contract().points(300) + np.float32(100))


_CONTRACTS = {
    "plain": Contract(),
    "normalised": Contract(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
    "both ways, bgr": Contract(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5), denormalise=True, order="bgr"),
    "another template": Contract(template="arcface_112"),
}


@pytest.mark.parametrize("name", _CONTRACTS)
def test_a_network_is_fed_and_read_by_its_contract(tmp_path: Path, picture: Callable[[str], Image], recogniser: Path, name: str) -> None:
    """The known twin gives the planes in another order, times gains that the latent sets."""
    contract, scene = _CONTRACTS[name], _scene(picture("p001_studio"))
    onnx.save(known_twin(), tmp_path / "known.onnx")
    with Recording(OnnxRuntimeSession(tmp_path / "known.onnx")) as session:
        (row,) = ROLES["swapper"].observe(session, [scene], Tools(recogniser, contract))
        taken = session.taken[0]
    step = slice(None, None, -1 if contract.order == "rgb" else 1)
    face, _ = faces.align(scene.image, scene.points, contract.points(128), 128)
    wanted = (face[..., step].astype(np.float32) / 255 - np.float32(contract.mean)) / np.float32(contract.std)
    np.testing.assert_allclose(taken["target"][0], wanted.transpose(2, 0, 1), atol=1e-5)
    output = known(taken["target"], taken["source"])[0].transpose(1, 2, 0)
    output = output * np.float32(contract.std) + np.float32(contract.mean) if contract.denormalise else output
    shown = row[int(row[0]) + 1 :].reshape(128, 128, 3)
    np.testing.assert_allclose(shown, np.clip(output[..., step], 0, 1), atol=1e-5)


def test_figures_are_of_pixels_and_of_persons() -> None:
    a, b = np.float32([2, 1, 0, 0.5, 0.5]), np.float32([2, 0.6, 0.8, 0.6, 0.4])
    assert faces.compare([a], [a]) == {"psnr": pytest.approx(120), "identity": pytest.approx(1), "lowest": pytest.approx(1)}
    assert faces.compare([a, a], [a, b]) == {
        "psnr": pytest.approx(23.01, abs=0.01), "identity": pytest.approx(0.8), "lowest": pytest.approx(0.6),
    }  # fmt: skip


def test_single_numbers_get_the_middle_and_a_restorer_needs_no_latent(scenes: list[Scene], recogniser: Path) -> None:
    session = FakeSession(
        [spec("face", 1, 3, 64, 64), spec("fidelity", 1)], [spec("better", 1, 3, 64, 64)], lambda feeds: {"better": feeds["face"]}
    )
    (row,) = ROLES["enhancer"].observe(session, scenes[:1], Tools(recogniser))
    assert session.inputs["fidelity"][0] == 0.5
    assert row.size == 1 + int(row[0]) + 64 * 64 * 3


def test_what_is_no_number_has_the_worst_of_figures(scenes: list[Scene], recogniser: Path) -> None:
    def observed(value: float) -> list[np.ndarray]:
        planes = np.full((1, 3, 64, 64), value, np.float32)
        session = FakeSession([spec("face", 1, 3, 64, 64)], [spec("out", 1, 3, 64, 64)], lambda feeds: {"out": planes})
        return ROLES["swapper"].observe(session, scenes, Tools(recogniser))

    figures = ROLES["swapper"].compare(observed(0.8), observed(np.nan))
    assert figures["psnr"] < 10 and np.isfinite(figures["psnr"])


@pytest.mark.usefixtures("here")
def test_a_swap_network_that_8_bits_spoil_loses(twin: Path, recogniser: Path, tmp_path: Path, write_scenes: WriteScenes) -> None:
    """From the recording to the choice, by the figures of faces."""
    swapper = network(twin, "fp32", "int8", role="swapper", psnr=80.0)
    rows = build(Plan((swapper,), "openvino", recogniser=recogniser), tmp_path / "engines", write_scenes)
    assert [row.state for row in rows] == [State.CHOSEN, State.FAILED_GATE]
    assert set(rows[1].figures) == {"psnr", "identity", "lowest"}
    assert 20 < rows[1].figures["psnr"] < 80 and "psnr" in rows[1].reason


def test_without_a_recogniser_it_is_a_sentence(scenes: list[Scene]) -> None:
    with pytest.raises(BackendError, match="models fetch"):
        ROLES["swapper"].observe(FakeSession([], []), scenes, Tools())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"template": "moon"}, "no template 'moon'"),
        ({"mean": (0.0,)}, "three numbers"),
        ({"std": (1.0, 0.0, 1.0)}, "none of std is 0"),
        ({"order": "gbr"}, "rgb or bgr"),
    ],
)
def test_a_contract_that_makes_no_sense_is_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        replace(Contract(), **changes)


def test_templates_are_faces() -> None:
    for points in TEMPLATES.values():
        assert points.shape == (5, 2) and 0.2 < points.min() < points.max() < 0.9
        assert points[0, 0] < points[1, 0] and points[0, 1] < points[2, 1] < points[3, 1]
