from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.backends.select import open_session
from realtime.errors import ModelError
from realtime.graphs import detect
from realtime.graphs.builder import Graph
from realtime.models.detectors import yunet
from realtime.models.detectors.rows import suppress
from realtime.models.store import ModelStore
from realtime.types import Array, Floats, Image
from tests.graphs.runtimes import Run, load, loaded
from tests.twins.inswapper import random_twin

COUNT = detect.CANDIDATES


def _suppressor(runtime: str, rounds: int) -> Callable[[Floats, Floats], Array]:
    def build(graph: Graph) -> None:
        boxes, scores = graph.input("boxes", np.float32, (COUNT, 4)), graph.input("scores", np.float32, (COUNT,))
        graph.output("kept", detect.kept(graph, boxes, scores, rounds=rounds), np.float32, (COUNT,))

    run = loaded(build, runtime)
    return lambda boxes, scores: run(boxes=boxes, scores=scores)["kept"] > 0


def _greedy(boxes: Floats, scores: Floats) -> Array:
    """Which of the sorted boxes the product's own suppression keeps."""
    rows = np.column_stack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2], scores, np.arange(COUNT)]).astype(np.float32)
    kept = np.zeros(COUNT, bool)
    kept[[int(row[5]) for row in suppress(rows[scores > 0], detect.SAME_FACE)]] = True
    return kept


def _crowd(seed: int, extent: float, good: int) -> tuple[Floats, Floats]:
    """Boxes of whole pixels, so that no overlap is within rounding of the threshold by chance, sorted by score."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, int(extent), (COUNT, 2))
    boxes = np.concatenate([low, low + rng.integers(10, 60, (COUNT, 2))], axis=1).astype(np.float32)
    scores = np.sort(rng.random(COUNT)).astype(np.float32)[::-1] + np.float32(0.1)
    scores[good:] = 0
    return boxes, scores.copy()


class TestSuppression:
    @pytest.fixture(scope="class")
    @staticmethod
    def exact(runtime: str) -> Callable[[Floats, Floats], Array]:
        return _suppressor(runtime, COUNT)

    @pytest.fixture(scope="class")
    @staticmethod
    def usual(runtime: str) -> Callable[[Floats, Floats], Array]:
        return _suppressor(runtime, detect.ROUNDS)

    @given(st.integers(0, 10**6), st.floats(5, 300), st.integers(0, COUNT))
    @settings(max_examples=60, deadline=None)
    def test_equals_the_greedy_one(self, exact: Any, usual: Any, seed: int, extent: float, good: int) -> None:
        boxes, scores = _crowd(seed, extent, good)
        expected = _greedy(boxes, scores)
        np.testing.assert_array_equal(exact(boxes, scores), expected)
        np.testing.assert_array_equal(usual(boxes, scores), expected)

    @pytest.mark.parametrize("length", [2, 3, 10, 15, 16, 64])
    def test_chains(self, exact: Any, usual: Any, length: int) -> None:
        """Each box overlaps the next only: every other one stays, and the default number of rounds is right for the first 17 of them."""
        boxes = np.zeros((COUNT, 4), np.float32)
        boxes[:, 0], boxes[:, 2] = np.arange(COUNT) * 10, np.arange(COUNT) * 10 + 20
        boxes[:, 3] = 20
        scores = np.where(np.arange(COUNT) < length, np.linspace(0.9, 0.7, COUNT), 0).astype(np.float32)
        expected = (np.arange(COUNT) % 2 == 0) & (scores > 0)
        np.testing.assert_array_equal(exact(boxes, scores), expected)
        found = usual(boxes, scores)
        np.testing.assert_array_equal(found[:17], expected[:17])
        assert (found >= expected).all()

    def test_boxes_that_are_none_disturb_nobody(self, usual: Any) -> None:
        boxes, scores = _crowd(1, 100, 20)
        expected = _greedy(boxes, scores)
        boxes[20:30], boxes[30:40] = np.nan, np.inf
        np.testing.assert_array_equal(usual(boxes, scores), expected)


@pytest.mark.models
class TestOnPhotos:
    @pytest.fixture(scope="class")
    @staticmethod
    def pair(models: ModelStore, runtime: str) -> tuple[Run, yunet.YuNet]:
        path = models.path("yunet_320")
        return load(detect.detect(path), runtime), yunet.YuNet(open_session(path, "onnxruntime"))

    @pytest.mark.parametrize("names", [["p001_studio"], ["p006_selfie"], ["p002_studio", "p005_studio", "p010_studio"]], ids=len)
    def test_finds_the_faces_that_yunet_finds(
        self, pair: tuple[Run, yunet.YuNet], picture: Callable[[str], Image], names: list[str]
    ) -> None:
        image = np.concatenate([picture(name) for name in names], axis=1)
        found, expected = pair[0](frame=image), pair[1].detect(image)
        kept = np.flatnonzero(found["scores"] > 0)
        assert len(kept) == len(expected) == len(names)
        eyes = max(float(np.linalg.norm(face.points[1] - face.points[0])) for face in expected)
        for row, face in zip(kept, expected, strict=True):
            assert found["scores"][row] == pytest.approx(face.score, abs=0.02)
            np.testing.assert_allclose(found["boxes"][row], face.box, atol=0.03 * eyes)
            np.testing.assert_allclose(found["points"][row], face.points, atol=0.03 * eyes)

    def test_finds_nothing_in_nothing(self, pair: tuple[Run, yunet.YuNet]) -> None:
        assert not pair[0](frame=np.full((480, 640, 3), 90, np.uint8))["scores"].any()


class TestRefusals:
    def test_another_network(self) -> None:
        with pytest.raises(ModelError, match="32 pixels"):
            detect.detect(random_twin())

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"gone\.onnx"):
            detect.detect(tmp_path / "gone.onnx")
