from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.graphs import colour
from realtime.graphs.builder import Graph
from tests.graphs.reference import match
from tests.graphs.runtimes import Run, loaded

SIZE = 24


@pytest.fixture(scope="module")
def matched(runtime: str) -> Run:
    def build(graph: Graph) -> None:
        patch, target = (graph.input(name, np.float32, (SIZE, SIZE, 3)) for name in ("patch", "target"))
        weight = graph.input("weight", np.float32, (SIZE, SIZE, 1))
        graph.output("out", colour.match(graph, patch, target, weight), np.float32, (SIZE, SIZE, 3))

    return loaded(build, runtime)


class TestMatch:
    @given(st.integers(0, 10**6), st.floats(5, 60), st.floats(5, 60))
    @settings(max_examples=25, deadline=None)
    def test_equals_the_reference(self, matched: Run, seed: int, ours: float, theirs: float) -> None:
        rng = np.random.default_rng(seed)
        patch, target = (rng.normal(120, spread, (SIZE, SIZE, 3)).astype(np.float32) for spread in (ours, theirs))
        weight = rng.random((SIZE, SIZE, 1)).astype(np.float32)
        found = matched(patch=patch, target=target, weight=weight)["out"]
        np.testing.assert_allclose(found, match(patch, target, weight[..., 0]), atol=0.05)  # levels of 255

    def test_spreads_are_doubled_or_halved_at_most(self, matched: Run) -> None:
        """Else an even patch's noise becomes blotches, by a face half in shadow."""
        noise = np.random.default_rng(4).normal(0, 1, (SIZE, SIZE, 3)).astype(np.float32)
        for ours, theirs, gain in ((3, 40, 2), (40, 3, 0.5)):
            out = matched(patch=120 + ours * noise, target=120 + theirs * noise[::-1], weight=np.ones((SIZE, SIZE, 1), np.float32))["out"]
            np.testing.assert_allclose(out.std((0, 1)), gain * (ours * noise).std((0, 1)), rtol=0.02)

    def test_a_picture_matched_to_itself_stays(self, matched: Run) -> None:
        image = np.random.default_rng(1).uniform(0, 255, (SIZE, SIZE, 3)).astype(np.float32)
        found = matched(patch=image, target=image, weight=np.ones((SIZE, SIZE, 1), np.float32))["out"]
        np.testing.assert_allclose(found, image, atol=0.05)

    def test_an_even_patch_and_no_weight_give_numbers(self, matched: Run) -> None:
        grey, noise = np.full((SIZE, SIZE, 3), 90, np.float32), np.random.default_rng(2).uniform(0, 255, (SIZE, SIZE, 3)).astype(np.float32)
        even = matched(patch=grey, target=noise, weight=np.ones((SIZE, SIZE, 1), np.float32))["out"]
        np.testing.assert_allclose(even, np.broadcast_to(noise.mean((0, 1)), even.shape), atol=0.1)
        assert np.isfinite(matched(patch=noise, target=noise, weight=np.zeros((SIZE, SIZE, 1), np.float32))["out"]).all()


class TestMasks:
    @pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
    def test_the_border_fades_evenly_on_all_sides(self, share: float) -> None:
        mask = colour.border_mask(64, share)
        np.testing.assert_array_equal(mask, mask[::-1])
        np.testing.assert_array_equal(mask, mask.T)
        assert mask[0].max() < 0.1 and mask[32, 32] > 0.99
        assert (np.diff(mask[32, :32]) >= 0).all()

    def test_the_ellipse_is_full_in_the_middle_and_nothing_outside(self, runtime: str) -> None:
        def build(graph: Graph) -> None:
            points = graph.input("points", np.float32, (2, 2))
            graph.output("mask", colour.ellipse_mask(graph, points, 64, 0.25), np.float32, (64, 64, 1))

        mask = loaded(build, runtime)(points=np.array([[12, 8], [52, 60]], np.float32))["mask"][..., 0]
        y, x = np.mgrid[:64, :64]
        radius = np.hypot((x - 32) / 20, (y - 34) / 26)
        assert (mask[radius > 1] == 0).all() and (mask[radius < 0.75] == 1).all()
        assert mask[34, 32 + 18] == pytest.approx(0.352, abs=1e-3)  # a tenth within: 0.4 of the feather, smoothed
