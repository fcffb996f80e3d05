"""What goes for every swap network: patches, borders, steps that finish a crop, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, spec
from realtime.errors import ModelError
from realtime.models.base import Crop
from realtime.models.swappers.aligned import AlignedSwapper, SwapIdentity
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.fake import FakeSwapper
from realtime.models.swappers.planar import PlanarNetwork
from realtime.models.swappers.ring import PATCHES
from realtime.models.swappers.sources import Embedding, Nothing
from realtime.types import Image
from tests.models.swappers import scene

GREEN = (0.1, 0.9, 0.2)
"""RGB."""


def green(size: int = 128, *finishes: object) -> AlignedSwapper:
    """Paints every face green."""
    output = np.broadcast_to(np.array(GREEN, np.float32).reshape(1, 3, 1, 1), (1, 3, size, size))
    contract = CONTRACTS["inswapper" if size == 128 else "simswap_512"]
    ports = [spec("target", 1, 3, size, size), spec("source", 1, 512)]
    session = FakeSession(ports, [spec("output", 1, 3, size, size)], lambda _: {"output": output})
    swapper = AlignedSwapper(PlanarNetwork(session, contract, Nothing()), finishes)  # type: ignore[arg-type]
    swapper.use(SwapIdentity("", np.zeros((1, 512), np.float32)))
    return swapper


def test_outside_the_crop_nothing_changes_and_inside_it_is_the_networks() -> None:
    image, points = scene.picture("p006_studio")
    out = scene.shown(image, green().swap(image, scene.face(points)))
    nose = points[1, :2].astype(int)
    assert np.abs(out[nose[1], nose[0]].astype(int) - np.array(GREEN[::-1]) * 255).max() <= 1
    np.testing.assert_array_equal(out[:30], image[:30])
    np.testing.assert_array_equal(out[:, :30], image[:, :30])


@pytest.mark.parametrize("size", [128, 512])
@pytest.mark.parametrize("scale", [0.15, 0.4, 1.7])
def test_small_and_large_faces(size: int, scale: float) -> None:
    points = scene.picture("p006_studio")[1]
    frame = np.full((int(900 * scale), int(900 * scale), 3), 60, np.uint8)
    patch = green(size).swap(frame, scene.face((points * scale).astype(np.float32)))
    out = scene.shown(frame, patch)
    x, y = (points[1, :2] * scale).astype(int)
    assert np.abs(out[y, x].astype(int) - np.array(GREEN[::-1]) * 255).max() <= 1
    assert patch is not None and (out != frame).any(2).sum() <= patch.alpha.size


@pytest.mark.parametrize("shift", [(-250.0, 0.0), (0.0, -230.0), (220.0, 200.0)])
def test_a_face_across_the_border_stays_inside_the_frame(shift: tuple[float, float]) -> None:
    image, points = scene.picture("p006_studio")
    patch = green().swap(image, scene.face((points + np.array([*shift, 0])).astype(np.float32)))
    assert patch is not None and patch.x >= 0 and patch.y >= 0 and patch.alpha.max() > 200
    assert patch.x + patch.alpha.shape[1] <= image.shape[1] and patch.y + patch.alpha.shape[0] <= image.shape[0]


def test_no_patch_for_a_face_out_of_sight_or_too_small() -> None:
    image, points = scene.picture("p006_studio")
    assert green().swap(image, scene.face((points + 2000).astype(np.float32))) is None
    assert green().swap(image, scene.face((points * 0.01).astype(np.float32))) is None


def test_patches_stay_valid_for_four_swaps() -> None:
    image, points = scene.picture("p006_studio")
    swapper = green()
    patches = [swapper.swap(image, scene.face(points)) for _ in range(PATCHES)]
    assert len({patch.alpha.ctypes.data for patch in patches if patch is not None}) == PATCHES == 5


class Halving:
    """Takes away the left half of the face, and shows it at twice the size."""

    name = "halving"
    resets = 0

    def finish(self, crop: Crop) -> None:
        self.seen = crop.before.copy(), crop.transform.copy()
        crop.mask[:, : crop.mask.shape[1] // 2] = 0
        double = lambda picture: np.repeat(np.repeat(picture, 2, 0), 2, 1)  # noqa: E731
        crop.before, crop.swapped, crop.mask = double(crop.before), double(crop.swapped), double(crop.mask)
        crop.transform = crop.transform * 2 + np.array([[0, 0, 0.5], [0, 0, 0.5]])

    def reset(self) -> None:
        self.resets += 1

    def fork(self) -> Halving:
        return Halving()


def test_steps_lower_the_mask_and_may_change_the_size() -> None:
    image, points = scene.picture("p006_studio")
    step = Halving()
    swapper = green(128, step)
    whole, half = (scene.shown(image, each.swap(image, scene.face(points))) for each in (green(), swapper))
    middle = int(points[1, 0])
    np.testing.assert_array_equal(half[:, : middle - 20], image[:, : middle - 20])
    right = [out[200:300, middle + 30 : middle + 60].astype(int) for out in (half, whole)]
    assert np.abs(right[0] - right[1]).max() <= 2
    before, transform = step.seen
    assert before.shape == (128, 128, 3) and transform.shape == (2, 3)
    swapper.reset()
    assert step.resets == 2  # `use` is the first


def test_mistakes_are_told() -> None:
    image, points = scene.picture("p006_studio")
    ports = [spec("target", 1, 3, 128, 128), spec("source", 1, 512)]
    network = PlanarNetwork(FakeSession(ports, [spec("output", 1, 3, 128, 128)]), CONTRACTS["inswapper"], Nothing())
    with pytest.raises(RuntimeError, match="use"):
        AlignedSwapper(network).swap(image, scene.face(points))
    with pytest.raises(TypeError, match="SwapIdentity"):
        AlignedSwapper(network).use(FakeSwapper().fit([]))
    with pytest.raises(ModelError, match=r"takes \(1, 3, 256, 256\) and \(1, 512\), this one"):
        PlanarNetwork(FakeSession(ports, [spec("output", 1, 3, 128, 128)]), CONTRACTS["ghost"], Nothing())
    with pytest.raises(ModelError, match="only float32 and float16"):
        wrong = [spec("target", 1, 3, 128, 128, dtype=np.uint8), spec("source", 1, 512)]
        PlanarNetwork(FakeSession(wrong, [spec("output", 1, 3, 128, 128)]), CONTRACTS["inswapper"], Nothing())


class Norms:
    """Embeddings of the photos' own making: the first as long as 1, the second as long as 3."""

    def raw(self, image: Image, points: np.ndarray) -> np.ndarray:
        first = image.shape == scene.picture("p001_studio")[0].shape and (image == scene.picture("p001_studio")[0]).all()
        return np.eye(512, dtype=np.float32)[0 if first else 1] * (1 if first else 3)


def test_several_photos_make_one_person() -> None:
    vector = Embedding(Norms()).prepare([scene.photo("p001_studio"), scene.photo("p006_studio")])
    np.testing.assert_allclose(vector[0, :2], np.array([1, 3]) / 10**0.5, rtol=1e-6)


class Nobody:
    """A mask that shows nothing; a `Finish`."""

    name = "nobody"

    def finish(self, crop: Crop) -> None:
        crop.mask.fill(0)

    def reset(self) -> None: ...


def test_a_mask_that_leaves_nothing_is_told_from_a_face_that_is_too_small() -> None:
    image, points = scene.picture("p006_studio")
    patch = green(128, Nobody()).swap(image, scene.face(points))
    assert patch is not None and not patch.alpha.any()
    assert green().swap(image, scene.face((points * 0.02).astype(np.float32))) is None
