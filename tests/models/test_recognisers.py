"""ArcFace and the converters of its embeddings, through twins whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.base import Recogniser
from realtime.models.recognisers.arcface import ArcFace
from realtime.models.recognisers.converter import Converter
from realtime.types import Array, Floats, Image
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_112, align
from tests.models.conftest import OpenTwin
from tests.twins import recognisers
from tests.twins.half import halved


def scene() -> tuple[Image, Floats]:
    """A colourful picture and where in it a face lies, leaning and twice as large as in the template."""
    rows, columns = np.mgrid[:400, :500]
    image = np.stack([rows * 0.5, columns * 0.4, (rows + columns) * 0.2], axis=2).astype(np.uint8)
    turn = np.array([[1.9, -0.5, 180.0], [0.5, 1.9, 40.0]])
    return image, geometry.apply(turn, ARCFACE_112)


def normalised(image: Image, points: Floats) -> Array:
    """(3, 112, 112): red, green, blue, (x - 127.5) / 127.5."""
    face, _ = align(image, points, ARCFACE_112, 112)
    return (face[:, :, ::-1].transpose(2, 0, 1) - 127.5) / 127.5


@pytest.mark.parametrize("name", recognisers.OUTPUT)
def test_the_face_goes_in_on_the_template_as_red_green_blue_from_minus_1_to_1(name: str, open_twin: OpenTwin) -> None:
    image, points = scene()
    arcface = ArcFace(open_twin(recognisers.arcface_twin(name)), name)
    expected = recognisers.embedding_of(normalised(image, points))
    raw = arcface.raw(image, points)
    np.testing.assert_allclose(raw, expected, atol=1e-3)
    np.testing.assert_allclose(arcface.embed(image, points), expected / np.linalg.norm(expected), atol=1e-4)
    assert (raw.shape, raw.dtype, arcface.name) == ((512,), np.float32, name)


def test_an_embedding_is_the_callers_own(open_twin: OpenTwin) -> None:
    image, points = scene()
    arcface = ArcFace(open_twin(recognisers.arcface_twin()))
    first = arcface.raw(image, points)
    kept = first.copy()
    arcface.raw(image[::-1].copy(), points)
    np.testing.assert_array_equal(first, kept)


def test_a_network_that_normalises_by_itself_gets_plain_pixels() -> None:
    image, points = scene()
    session = embedder()
    ArcFace(session, normalises=True).raw(image, points)
    np.testing.assert_allclose(session.inputs["input.1"][0], normalised(image, points) * 127.5 + 127.5, atol=1e-4)


def test_same_person_is_a_distance_of_0_6() -> None:
    recogniser: Recogniser = ArcFace(embedder())
    assert recogniser.same_person == pytest.approx(1 - 0.6)


@pytest.mark.parametrize("normalise", [True, False])
def test_a_converter_gets_the_embedding_at_full_length(normalise: bool, open_twin: OpenTwin) -> None:
    image, points = scene()
    raw = ArcFace(open_twin(recognisers.arcface_twin())).raw(image, points)
    assert np.linalg.norm(raw) > 2
    got = Converter(open_twin(recognisers.converter_twin())).convert(raw, normalise=normalise)
    expected = recognisers.converted(raw)
    np.testing.assert_allclose(got, expected / np.linalg.norm(expected) if normalise else expected, atol=1e-4)


def test_half_precision_goes_in_and_out(open_twin: OpenTwin) -> None:
    image, points = scene()
    exact = ArcFace(open_twin(recognisers.arcface_twin())).raw(image, points)
    raw = ArcFace(open_twin(halved(recognisers.arcface_twin()))).raw(image, points)
    np.testing.assert_allclose(raw, exact, atol=0.02)
    got = Converter(open_twin(halved(recognisers.converter_twin()))).convert(raw, normalise=False)
    np.testing.assert_allclose(got, recognisers.converted(exact), atol=0.05)
    assert (raw.dtype, got.dtype) == (np.float32, np.float32)


def embedder(values: Mapping[str, Array] | None = None, script: tuple[Step, ...] = ()) -> FakeSession:
    answer = values or {"683": np.ones((1, 512), np.float32)}
    return FakeSession([spec("input.1", 1, 3, 112, 112)], [spec("683", 1, 512)], lambda feeds: answer, script)


def test_nothing_usable_is_one_sentence() -> None:
    image, points = scene()
    with pytest.raises(ModelError, match=r"ArcFace gives something else than numbers: .* fp32 form$"):
        ArcFace(embedder(script=(Step(nan=True),))).embed(image, points)
    with pytest.raises(ModelError, match="nothing but zeros"):
        ArcFace(embedder({"683": np.zeros((1, 512), np.float32)})).embed(image, points)
    converter = FakeSession([spec("input", 1, 512)], [spec("output", 1, 512)], script=[Step(nan=True)])
    with pytest.raises(ModelError, match="converter gives something else than numbers"):
        Converter(converter).convert(np.ones(512, np.float32), normalise=True)
    with pytest.raises(ModelError, match="nothing but zeros"):
        Converter(FakeSession([spec("input", 1, 512)], [spec("output", 1, 512)])).convert(np.ones(512, np.float32), normalise=False)


@pytest.mark.parametrize(
    ("session", "sentence"),
    [
        (FakeSession([spec("x", 1, 3, 128, 128)], [spec("y", 1, 512)]), r"expected \(1, 3, 112, 112\) float32, got x \(1, 3, 128, 128\)"),
        (FakeSession([spec("x", 1, 3, 112, 112, dtype=np.uint8)], [spec("y", 1, 512)]), "float32, got x .* uint8"),
        (FakeSession([spec("x", 1, 3, 112, 112), spec("z", 1)], [spec("y", 1, 512)]), "takes one square picture"),
        (FakeSession([spec("x", 1, 3, 112, 112)], [spec("fc1", 1, 128)]), r"512 numbers .* gives fc1 \(1, 128\)"),
    ],
)
def test_another_network_than_arcface_is_refused_in_one_sentence(session: FakeSession, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        ArcFace(session)


def test_another_network_than_a_converter_is_refused_in_one_sentence() -> None:
    with pytest.raises(ModelError, match=r"expected \(1, 512\) float32, got x \(1, 3, 112, 112\)"):
        Converter(FakeSession([spec("x", 1, 3, 112, 112)], [spec("y", 1, 512)]))
    with pytest.raises(ModelError, match="512 numbers and nothing else"):
        Converter(FakeSession([spec("x", 1, 512)], [spec("y", 1, 256)]))
