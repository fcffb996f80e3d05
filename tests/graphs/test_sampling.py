from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.graphs import sampling
from realtime.graphs.builder import Graph
from realtime.types import Floats, Image, Region
from realtime.vision import align, geometry
from tests.graphs.runtimes import Run, loaded, unary

SIZE = 96
Picture = Callable[[str], Image]
REGIONS = {
    "upright": Region(240, 250, 300, 0),
    "turned": Region(250.3, 240.7, 310.5, 33),
    "enlarged": Region(230.2, 200.1, 60, -170),
    "beyond the corner": Region(20, 15, 220, 12),
    "coarse": Region(256, 256, 380, 5),
}
FRAMES = {"480p": (480, 640), "720p": (720, 1280), "1080p": (1080, 1920), "2160p": (2160, 3840), "tall": (640, 360), "tiny": (2, 1)}


def _crop(runtime: str, *, gather_bytes: bool, smooth: bool = False, size: int = SIZE) -> Run:
    def build(graph: Graph) -> None:
        frame = graph.input("frame", np.uint8, ("height", "width", 3))
        source = sampling.pixels(graph, frame, gather_bytes=gather_bytes)
        image, within = sampling.crop(graph, source, graph.input("matrix", np.float32, (2, 3)), size, smooth=smooth)
        graph.output("image", image, np.float32, (size, size, 3))
        graph.output("within", within, np.float32, (size, size, 1))

    return loaded(build, runtime)


@pytest.fixture(scope="module", params=[False, True], ids=["float16", "bytes"])
def crop(request: pytest.FixtureRequest, runtime: str) -> Run:
    return _crop(runtime, gather_bytes=request.param)


@pytest.fixture(scope="module")
def smooth(runtime: str) -> Run:
    return _crop(runtime, gather_bytes=False, smooth=True)


def _back(region: Region, size: int = SIZE) -> Floats:
    return geometry.invert(geometry.crop_transform(region, size)).astype(np.float32)


def _noise(height: int, width: int) -> Image:
    return cv2.resize(np.random.default_rng(5).integers(0, 256, (45, 80, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)


class TestCrop:
    @pytest.mark.parametrize("name", REGIONS)
    @pytest.mark.parametrize("photo", ["p001_studio", "p006_selfie"])
    def test_is_opencvs_warp(self, crop: Run, picture: Picture, photo: str, name: str) -> None:
        image, transform = picture(photo), geometry.crop_transform(REGIONS[name], SIZE)
        found = crop(frame=image, matrix=_back(REGIONS[name]))
        wrong = np.abs(found["image"] - cv2.warpAffine(image, transform, (SIZE, SIZE), flags=cv2.INTER_LINEAR))
        assert wrong.mean() <= 1 and wrong.max() <= 4  # levels of 255
        whole = cv2.warpAffine(np.ones(image.shape[:2], np.float32), transform, (SIZE, SIZE), flags=cv2.INTER_LINEAR)
        np.testing.assert_allclose(found["within"][..., 0], whole, atol=0.02)

    @pytest.mark.parametrize("name", FRAMES)
    def test_any_size_of_frame_in_one_model(self, crop: Run, name: str) -> None:
        height, width = FRAMES[name]
        image, region = _noise(height, width), Region(width * 0.8, height * 0.7, min(height, width) * 0.4 + 1, 20)
        expected = cv2.warpAffine(image, geometry.crop_transform(region, SIZE), (SIZE, SIZE), flags=cv2.INTER_LINEAR)
        wrong = np.abs(crop(frame=image, matrix=_back(region))["image"] - expected)
        assert wrong.mean() <= 1 and wrong.max() <= 4

    @pytest.mark.parametrize("bad", [math.nan, math.inf, 1e20])
    def test_a_place_that_is_none_is_black(self, crop: Run, bad: float) -> None:
        found = crop(frame=_noise(48, 64), matrix=np.full((2, 3), bad, np.float32))
        assert not found["image"].any() and not found["within"].any()


class TestSmoothCrop:
    @pytest.mark.parametrize("name", ["upright", "turned", "enlarged", "beyond the corner"])
    def test_changes_nothing_where_the_frame_is_not_coarsely_sampled(self, crop: Run, smooth: Run, picture: Picture, name: str) -> None:
        image, matrix = picture("p001_studio"), _back(REGIONS[name])
        np.testing.assert_allclose(smooth(frame=image, matrix=matrix)["image"], crop(frame=image, matrix=matrix)["image"], atol=1e-2)

    @pytest.mark.parametrize("side", [400, 600, 900])
    def test_is_nearer_to_the_halved_picture_than_the_plain_crop(self, crop: Run, smooth: Run, picture: Picture, side: int) -> None:
        image = cv2.resize(picture("p001_studio"), (1024, 1024), interpolation=cv2.INTER_CUBIC)
        image = np.clip(image + np.random.default_rng(1).normal(0, 12, image.shape), 0, 255).astype(np.uint8)  # a camera's grain
        region = Region(512, 512, side, 8)
        expected = align.crop(image, geometry.crop_transform(region, SIZE), SIZE)
        plain, averaged = (np.abs(run(frame=image, matrix=_back(region))["image"] - expected).mean() for run in (crop, smooth))
        assert averaged < 3.5 and averaged < plain * 0.6, (averaged, plain)


class TestLetterbox:
    @pytest.fixture(scope="class", params=[False, True], ids=["float16", "bytes"])
    @staticmethod
    def letterbox(request: pytest.FixtureRequest, runtime: str) -> Run:
        def build(graph: Graph) -> None:
            frame = graph.input("frame", np.uint8, ("height", "width", 3))
            image, scale = sampling.letterbox(graph, sampling.pixels(graph, frame, gather_bytes=request.param), 320)
            graph.output("image", image, np.float32, (320, 320, 3))
            graph.output("scale", scale, np.float32, (2,))

        return loaded(build, runtime)

    @pytest.mark.parametrize("name", FRAMES)
    def test_is_the_frame_fitted_in(self, letterbox: Run, name: str) -> None:
        height, width = FRAMES[name]
        image = _noise(height, width)
        found = letterbox(frame=image)
        share = 320 / max(height, width)
        fitted = max(round(width * share), 1), max(round(height * share), 1)
        np.testing.assert_allclose(found["scale"], np.array([width, height]) / fitted, rtol=1e-6)
        expected = cv2.resize(image, fitted, interpolation=cv2.INTER_AREA if share < 1 else cv2.INTER_LINEAR)
        wrong = np.abs(found["image"][: fitted[1], : fitted[0]] - expected)
        assert wrong.mean() <= 1 and wrong.max() <= 6
        assert not found["image"][fitted[1] :].any() and not found["image"][:, fitted[0] :].any()

    @pytest.mark.parametrize("times", [1, 2, 3, 4])
    def test_is_an_exact_average_at_whole_ratios(self, letterbox: Run, times: int) -> None:
        image = np.random.default_rng(2).integers(0, 256, (180 * times, 320 * times, 3), np.uint8)  # every pixel for itself
        expected = image.reshape(180, times, 320, times, 3).mean((1, 3))
        np.testing.assert_allclose(letterbox(frame=image)["image"][:180], expected, atol=0.05)


class TestPlanes:
    @pytest.mark.parametrize("rgb", [False, True])
    def test_order_scale_mean_and_std(self, runtime: str, rgb: bool) -> None:
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        image = np.random.default_rng(3).integers(0, 256, (5, 7, 3)).astype(np.float32)
        found = unary(lambda _, x: sampling.planes(x, rgb=rgb, scale=1 / 255, mean=mean, std=std), [5, 7, 3], runtime)(image)
        normal = ((image[..., ::-1] if rgb else image) / 255 - mean) / std
        np.testing.assert_allclose(found, normal.transpose(2, 0, 1)[None], atol=1e-5)

    @pytest.mark.parametrize("rgb", [False, True])
    def test_interleaving_undoes_them(self, runtime: str, rgb: bool) -> None:
        image = np.random.default_rng(4).random((6, 4, 3)).astype(np.float32)
        both = unary(lambda _, x: sampling.interleaved(sampling.planes(x, rgb=rgb), rgb=rgb), [6, 4, 3], runtime)
        np.testing.assert_array_equal(both(image), image)


@pytest.fixture(scope="module")
def to_bytes(runtime: str) -> Run:
    def build(graph: Graph) -> None:
        graph.output("y", sampling.to_bytes(graph.input("x", np.float32, (8,))), np.uint8, (8,))

    return loaded(build, runtime)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_bytes_are_rounded_and_limited(to_bytes: Run, values: list[float]) -> None:
    expected = np.clip(np.rint(np.float32(values)), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(to_bytes(x=np.array(values, np.float32))["y"], expected)
