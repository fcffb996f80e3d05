from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import cv2
import numpy as np
import onnx
import pytest

from realtime.backends.select import open_session
from realtime.errors import ModelError
from realtime.graphs.builder import FLOAT32_PREFIXES, sized
from realtime.graphs.colour import Mask
from realtime.graphs.follow import Swap, follow, follow_swap
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.store import ModelStore
from realtime.types import Array, Image, Region
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_112, crop
from tests.graphs import reference
from tests.graphs.runtimes import Run, load
from tests.twins import inswapper, mesh

Picture = Callable[[str], Image]
ARCFACE_128 = ARCFACE_112 + np.array([8, 0], np.float32)
REGION = Region(250, 245, 380, 7)
FRAMES = [(480, 640), (720, 1280), (1080, 1920), (2160, 3840)]


def _latent(seed: int = 0, length: int = inswapper.LATENT) -> Array:
    vector = np.random.default_rng(seed).standard_normal((1, length)).astype(np.float32)
    return vector / np.linalg.norm(vector) * 3


def _within(image: Image, height: int, width: int) -> tuple[Image, Region]:
    """The picture enlarged into the middle of a frame, and where its face is."""
    side = min(height, width)
    frame = np.full((height, width, 3), 40, np.uint8)
    x, y = (width - side) // 2, (height - side) // 2
    frame[y : y + side, x : x + side] = cv2.resize(image, (side, side), interpolation=cv2.INTER_CUBIC)
    grown = side / image.shape[0]
    return frame, Region(REGION.x * grown + x, REGION.y * grown + y, REGION.size * grown, REGION.angle)


class TestFollowAroundATwin:
    @pytest.fixture(scope="class")
    @staticmethod
    def run(runtime: str) -> Run:
        return load(follow(mesh.mesh_twin()), runtime)

    @pytest.mark.parametrize(("height", "width"), FRAMES)
    def test_equals_the_steps_at_any_size(self, run: Run, picture: Picture, height: int, width: int) -> None:
        frame, region = _within(picture("p001_studio"), height, width)
        transform = geometry.crop_transform(region, mesh.SIZE)
        planes = crop(frame, transform, mesh.SIZE)[..., ::-1].transpose(2, 0, 1)[None] / 255
        found_mesh, logit = mesh.mesh_of(planes)
        back = geometry.invert(transform)
        expected = np.column_stack([geometry.apply(back, found_mesh[:, :2] - 0.5), found_mesh[:, 2] * geometry.scale_of(back)])
        result = run(frame=frame, region=np.float32(region))
        np.testing.assert_allclose(result["landmarks"], expected, atol=0.05 * geometry.scale_of(back))
        np.testing.assert_allclose(result["presence"], 1 / (1 + np.exp(-logit)), atol=1e-3)
        after = geometry.region_from_landmarks(result["landmarks"])
        np.testing.assert_allclose(result["next_region"], after, atol=0.05)

    def test_a_region_that_is_none_shows_nobody(self, run: Run) -> None:
        result = run(frame=np.zeros((64, 64, 3), np.uint8), region=np.array([np.nan, 0, 100, 0], np.float32))
        assert np.isnan(result["landmarks"][:, 0]).all()


@pytest.mark.models
class TestFollow:
    @pytest.fixture(scope="class")
    @staticmethod
    def landmarker(models: ModelStore) -> MeshLandmarker:
        return MeshLandmarker(open_session(models.path("mesh"), "onnxruntime"))

    @pytest.fixture(scope="class")
    @staticmethod
    def run(models: ModelStore, runtime: str) -> Run:
        return load(follow(models.path("mesh")), runtime)

    @pytest.mark.parametrize("photo", ["p001_studio", "p002_studio", "p006_studio", "p009_selfie"])
    def test_equals_the_landmarker_on_photos(self, run: Run, landmarker: MeshLandmarker, picture: Picture, photo: str) -> None:
        image = picture(photo)
        region = REGION
        for _ in range(3):  # each on its own path: what is fed back must not drift apart
            expected = landmarker.landmarks(image, region)
            result = run(frame=image, region=np.float32(region))
            assert np.linalg.norm(result["landmarks"][:, :2] - expected.points[:, :2], axis=1).max() < 0.5  # pixels; the eyes are 100 apart
            np.testing.assert_allclose(result["landmarks"][:, 2], expected.points[:, 2], atol=1)
            assert result["presence"][0] == pytest.approx(expected.presence, abs=0.01)
            np.testing.assert_allclose(result["next_region"], geometry.region_from_landmarks(expected.points), atol=0.5)
            region = Region(*(float(value) for value in result["next_region"]))

    @pytest.mark.parametrize(("height", "width"), FRAMES)
    def test_equals_it_in_every_size_of_frame(
        self, run: Run, landmarker: MeshLandmarker, picture: Picture, height: int, width: int
    ) -> None:
        frame, region = _within(picture("p005_studio"), height, width)
        expected = landmarker.landmarks(frame, region)
        result = run(frame=frame, region=np.float32(region))
        wrong = np.linalg.norm(result["landmarks"][:, :2] - expected.points[:, :2], axis=1)
        assert wrong.mean() < 0.002 * region.size and wrong.max() < 0.006 * region.size  # a third of a crop pixel, one crop pixel

    def test_grain_shakes_the_mesh_of_a_large_face_little_more_than_with_halving(
        self, run: Run, landmarker: MeshLandmarker, picture: Picture
    ) -> None:
        """The region is five frame pixels a crop pixel; a crop that looks at four frame pixels of those 25 shakes 1.7 times as much."""
        frame, region = _within(picture("p005_studio"), 1296, 1296)
        rng = np.random.default_rng(0)
        frames = [np.clip(frame + rng.normal(0, 20, (1296, 1296, 1)), 0, 255).astype(np.uint8) for _ in range(6)]
        halved = np.array([landmarker.landmarks(image, region).points[:, :2] for image in frames])
        sampled = np.array([run(frame=image, region=np.float32(region))["landmarks"][:, :2] for image in frames])
        assert sampled.std(0).mean() < 1.3 * halved.std(0).mean()


def _swap(network: Any, **options: Any) -> Swap:
    options = {"match_colour": True} | options
    size = network.graph.input[0].type.tensor_type.shape.dim[2].dim_value
    return Swap(network, options.pop("template", ARCFACE_128 * (size / 128)), **options)


def _compare(result: dict[str, Array], expected: reference.Swapped, mean: float = 1.0, most: int = 8) -> None:
    wrong = np.abs(result["patch"].astype(int) - expected.patch)
    assert wrong.mean() <= mean and wrong.max() <= most
    assert np.abs(result["mask"].astype(int) - expected.mask).max() <= 1
    size = len(expected.mask)
    corners = np.array([[0, 0], [size, 0], [0, size], [size, size]], np.float32)
    np.testing.assert_allclose(
        geometry.apply(result["matrix"].astype(np.float64), corners), geometry.apply(expected.matrix, corners), atol=0.05
    )


class TestFollowSwap:
    OPTIONS: dict[str, dict[str, Any]] = {  # noqa: RUF012  (a table of cases)
        "plain": {},
        "untouched colours": {"match_colour": False},
        "normalised": {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225), "denormalise": True, "match_colour": False},
        "one way only": {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5), "match_colour": False},
        "bgr": {"order": "bgr", "match_colour": False},
        "box only": {"mask": Mask(border=0.2, ellipse=False)},
        "ellipse only": {"mask": Mask(border=0, feather=0.5)},
    }

    @pytest.mark.parametrize("name", OPTIONS)
    def test_equals_the_pipeline_around_a_known_network(self, runtime: str, picture: Picture, name: str) -> None:
        image, latent, swap = picture("p006_studio"), _latent(), _swap(inswapper.known_twin(), **self.OPTIONS[name])
        result = load(follow_swap(mesh.mesh_twin(), swap), runtime)(frame=image, region=np.float32(REGION), latent=latent)
        _compare(result, reference.swap(image, result["landmarks"], latent, swap, 128, inswapper.known))

    @pytest.mark.parametrize("size", [128, 256, 512])
    def test_every_size_of_patch_around_random_convolutions(self, runtime: str, picture: Picture, size: int) -> None:
        image, network = picture("p002_studio"), inswapper.random_twin(size, 64)
        twin = load(network, runtime)
        swap, latent = _swap(network), _latent(length=64)
        result = load(follow_swap(mesh.mesh_twin(), swap), runtime)(frame=image, region=np.float32(REGION), latent=latent)
        expected = reference.swap(image, result["landmarks"], latent, swap, size, lambda a, b: twin(target=a, source=b)["output"])
        _compare(result, expected)

    @pytest.fixture(scope="class")
    @staticmethod
    def known(runtime: str) -> Run:
        return load(follow_swap(mesh.mesh_twin(), _swap(inswapper.known_twin())), runtime)

    @pytest.mark.parametrize(("height", "width"), FRAMES)
    def test_every_size_of_frame(self, known: Run, picture: Picture, height: int, width: int) -> None:
        frame, region = _within(picture("p010_studio"), height, width)
        result = known(frame=frame, region=np.float32(region), latent=_latent(2))
        expected = reference.swap(frame, result["landmarks"], _latent(2), _swap(inswapper.known_twin()), 128, inswapper.known)
        _compare(result, expected, most=16)

    def test_a_face_half_out_of_the_frame_keeps_its_colours(self, known: Run, picture: Picture) -> None:
        image = picture("p001_studio")[:, 200:].copy()
        region = REGION._replace(x=REGION.x - 200)
        result = known(frame=image, region=np.float32(region), latent=_latent(1))
        swap = _swap(inswapper.known_twin())
        _compare(result, reference.swap(image, result["landmarks"], _latent(1), swap, 128, inswapper.known))

    def test_the_latent_matters(self, known: Run, picture: Picture) -> None:
        swap = replace(_swap(inswapper.random_twin()), match_colour=False)
        run = partial(load(follow_swap(mesh.mesh_twin(), swap), "onnxruntime"), frame=picture("p001_studio"), region=np.float32(REGION))
        assert np.abs(run(latent=_latent(1))["patch"].astype(int) - run(latent=_latent(2))["patch"]).mean() > 5

    def test_a_network_in_half_precision_is_fed_and_read_as_such(self, picture: Picture) -> None:
        image, latent = picture("p001_studio"), _latent(3)
        patches = []
        for element in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16):
            model = follow_swap(mesh.mesh_twin(), _swap(inswapper.random_twin(element=element), match_colour=False))
            patches.append(load(model, "onnxruntime")(frame=image, region=np.float32(REGION), latent=latent)["patch"].astype(int))
        assert np.abs(patches[0] - patches[1]).max() <= 3

    def test_gathering_bytes_changes_nothing(self, known: Run, picture: Picture, runtime: str) -> None:
        model = follow_swap(mesh.mesh_twin(), _swap(inswapper.known_twin()), gather_bytes=True)
        feeds = {"frame": picture("p001_studio"), "region": np.float32(REGION), "latent": _latent()}
        found, expected = load(model, runtime)(**feeds), known(**feeds)
        assert all(np.array_equal(found[name], value) for name, value in expected.items())


class TestTheModel:
    @pytest.fixture(scope="class")
    @staticmethod
    def model() -> Any:
        return follow_swap(mesh.mesh_twin(), _swap(inswapper.random_twin()))

    def test_names_and_shapes(self, model: Any) -> None:
        def ports(values: Any) -> dict[str, list[Any]]:
            return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}

        assert ports(model.graph.input) == {"frame": ["height", "width", 3], "region": [4], "latent": [1, 512]}
        assert ports(model.graph.output) == {
            "landmarks": [468, 3], "presence": [1], "next_region": [4], "patch": [128, 128, 3], "matrix": [2, 3], "mask": [128, 128],
        }  # fmt: skip

    def test_names_tell_what_must_stay_float32(self, model: Any) -> None:
        names = [node.name for node in model.graph.node]
        assert len(set(names)) == len(names)
        ours = [name for name in names if name.startswith(FLOAT32_PREFIXES)]
        assert len(ours) + sum(name.startswith(("mesh/", "swap/")) for name in names) == len(names)
        assert len([name for name in names if name.startswith("swap/")]) >= 8

    def test_fixed_sizes(self, model: Any, picture: Picture) -> None:
        fixed = sized(model, height=512, width=512)
        assert [d.dim_value for d in fixed.graph.input[0].type.tensor_type.shape.dim] == [512, 512, 3]
        assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "height"
        feeds = {"frame": picture("p001_studio"), "region": np.float32(REGION), "latent": _latent()}
        found, expected = load(fixed, "onnxruntime")(**feeds), load(model, "onnxruntime")(**feeds)
        assert all(np.array_equal(found[name], value) for name, value in expected.items())


class TestRefusals:
    def test_a_swapper_for_a_mesh(self) -> None:
        with pytest.raises(ModelError, match="468 x 3"):
            follow(inswapper.random_twin())

    def test_a_mesh_for_a_swapper(self) -> None:
        with pytest.raises(ModelError, match="one latent"):
            follow_swap(mesh.mesh_twin(), Swap(mesh.mesh_twin(), ARCFACE_128))

    def test_a_template_of_other_points(self) -> None:
        with pytest.raises(ModelError, match=r"\(5, 2\)"):
            follow_swap(mesh.mesh_twin(), Swap(inswapper.known_twin(), np.zeros((4, 2), np.float32)))
